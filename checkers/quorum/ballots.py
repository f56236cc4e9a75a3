"""Leaders are elected by majorities: Q4, by their own LeaderChange records."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult

_SHOWN = ("node", "offset", "epoch", "leader")


@check("Q4-elected-by-a-majority", applies=everywhere, source="Raft thesis 3.4, KIP-856")
def elected_by_a_majority(evidence: Evidence) -> CheckResult:
    """Q4: A LeaderChange names a majority of its voters as those that granted their votes.

    None is named twice, and each is a voter. The voters that it names are those in force at its
    offset in its own log, and all controllers for a static quorum: by their disks, if both record
    (version 1) and log have them. The leader is one of them, or was until the last change, which
    need not have been committed (Raft thesis 4.2.2).
    """
    records = evidence.tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange"))
    rows = changes.filter(changes["detail"].is_valid()).to_pylist()
    histories = {node: evidence.voters_on(node) for node in {row["node"] for row in rows}}
    found = []
    for row in rows:
        voters, at = histories[row["node"]], row["offset"] - 1
        if at >= voters.known - 1:
            leader, detail = ReplicaKey(row["leader"]), json.loads(row["detail"])
            wrong = _wrong(leader, detail, voters.at(at), voters.before(at))
            found.append((row, wrong))
    return conclude(
        looked_at=len(found),
        unit="LeaderChange records",
        violations=[_violation(row, wrong) for row, wrong in found if wrong],
        needs="disks read after the run",
        holds="each names the votes of a majority",
        algorithm="granting voters against voters, record by record",
        nothing=evidence.below_snapshots,
    )


def _wrong(
    leader: ReplicaKey, detail: Mapping[str, Any], in_force: VoterSet, before: VoterSet
) -> str:
    """What is wrong with a ballot, as the end of a sentence; "" if nothing is."""
    voters, granting = _told(detail["voters"]), _told(detail["grantingVoters"])
    told = f"the votes of {_listed(granting)} of the voters {_listed(voters)}"
    if not (_vote(voters, in_force) and _vote(in_force.keys, VoterSet(frozenset(voters)))):
        return f"{told}; those in force there are {_listed(in_force.keys)}"
    is_one_of_them = in_force.includes(leader) or before.includes(leader)
    if _is_one_twice(granting, in_force) or not (_vote(granting, in_force) and is_one_of_them):
        what = "not all of them are voters, or one is named twice"
        return f"{told}, but node {leader.node} leads: {what}"
    if len(granting) < in_force.majority:
        return f"{told}, which are no majority"
    return ""


def _told(voters: Iterable[Mapping[str, Any]]) -> list[ReplicaKey]:
    return [ReplicaKey(one["voterId"], one.get("voterDirectoryId", NO_DIRECTORY)) for one in voters]


def _vote(keys: Iterable[ReplicaKey], voters: VoterSet) -> bool:
    return all(map(voters.includes, keys))


def _is_one_twice(granting: Collection[ReplicaKey], in_force: VoterSet) -> bool:
    """Also a node that has fewer voters, if it is unknown which disks are meant."""
    more = Counter(key.node for key in granting) - Counter(key.node for key in in_force.keys)
    return bool(more) or len({*granting}) < len(granting)


def _listed(keys: Iterable[ReplicaKey]) -> str:
    return f"[{', '.join(map(_name, sorted(keys)))}]"


def _name(key: ReplicaKey) -> str:
    return str(key.node) if key.directory == NO_DIRECTORY else f"{key.node}:{key.directory}"


def _violation(row: Mapping[str, Any], wrong: str) -> Violation:
    shown = {name: row[name] for name in _SHOWN}
    text = f"the LeaderChange of epoch {row['epoch']}, on node {row['node']}, names {wrong}"
    return Violation(text, [{"what": "LeaderChange record", **shown}])
