"""Sets of voters on disks, and operators' requests to change them: V1, V5 and V7."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterHistory, VoterSet
from checkers.history.tables import NO_DIRECTORY, VOTER_CHANGES
from checkers.verdict import CheckResult, EventValue

_Row = Mapping[str, Any]
_ADD, _REMOVE = VOTER_CHANGES
AUTO_JOIN = "controller.quorum.auto.join.enable"  # a setting of Apache Kafka's controllers


@check(
    "V1-one-voter-at-a-time",
    applies=several_nodes,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS,),
)
def one_voter_at_a_time(evidence: Evidence) -> CheckResult:
    """V1: Along a log, each set of voters differs from the one before by one voter at most.

    From the control records on each disk; a voter is a node with its disk. Except where the disks
    of voters first become known. (KIP-856, "Voter Changes")
    """
    looked_at, violations = 0, []
    for node in sorted(evidence.metadata_logs):
        history = evidence.voters_on(node)
        changes = list(zip(history.offsets[1:], pairwise(history.sets), strict=True))
        looked_at += len(changes)
        violations += [
            _jump(node, offset, before, after)
            for offset, (before, after) in changes
            if _is_known(before) and len(before.keys ^ after.keys) > 1
        ]
    return conclude(
        looked_at=looked_at,
        unit="changes of voters on disks",
        violations=violations,
        needs="disks read after the run",
        holds="each was of one voter",
        algorithm="consecutive sets of each log",
        nothing="no node's voters changed" if evidence.metadata_logs else "",
    )


def _is_known(voters: VoterSet) -> bool:
    return all(key.directory != NO_DIRECTORY for key in voters.keys)


def _jump(node: int, offset: int, before: VoterSet, after: VoterSet) -> Violation:
    gone, come = _list(before.keys - after.keys), _list(after.keys - before.keys)
    text = f"the log of node {node} has at {offset} removed {gone or 'none'} and added "
    shown: dict[str, EventValue] = {"what": "the set changes", "node": node, "offset": offset}
    return Violation(f"{text}{come or 'none'} at once", [shown])


def _list(keys: frozenset[ReplicaKey]) -> str:
    return ", ".join(f"{key.node}:{key.directory}" for key in sorted(keys))


@check(
    "V5-acknowledged-changes-stay",
    applies=everywhere,
    source="KIP-856",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def acknowledged_changes_stay(evidence: Evidence) -> CheckResult:
    """V5: An acknowledged change of the voters is in the committed log.

    Each that succeeded, as often as it did, from ops and the control records of the newest log that
    a majority holds. Below a snapshot: the voters in it are those that acknowledged changes leave,
    with or without unanswered ones. (KIP-856, "AddVoter" and "RemoveVoter", Handling)
    """
    asked = _changes_asked(evidence.tables["ops"])
    done = [row for row in asked if row["outcome"] == "ok"]
    log = evidence.committed_log
    violations = []
    if log is not None and evidence.voters.known > 0:
        violations = _contradicted(evidence.voters, log.end, asked)
    elif log is not None:
        violations = [_lost(row) for row in _beyond(_changes(evidence.voters, log.end), done)]
    return conclude(
        looked_at=len(done),
        unit="acknowledged changes of voters",
        violations=violations,
        needs="disks read after the run",
        holds="each is in the committed log",
        algorithm="changes along the newest log, counted",
        gaps=["not all of the committed log can be read"] if log is None and done else [],
        nothing="no client asked for one",
    )


@check(
    "voters-as-asked-for",
    applies=everywhere,
    source="KIP-853, KIP-856: voters change by AddRaftVoter and RemoveRaftVoter",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.FAULTS),
)
def voters_as_asked_for(evidence: Evidence) -> CheckResult:
    """Each addition or removal of a voter was asked for, as often as it happens.

    The changes along the newest log against the operations of operators that may have been done:
    all but those that surely were not. Controllers that join by themselves (KIP-853,
    controller.quorum.auto.join.enable) ask as well: each for its own disks to be added, and for
    lost ones to be removed.
    """
    rows = _changes_asked(evidence.tables["ops"])
    asked = Counter((row["f"], row["key"]) for row in rows if row["outcome"] != "fail")
    by_themselves = _asked_by_themselves(evidence)
    log = evidence.committed_log
    found = _changes(evidence.voters, log.end) if log is not None else Counter[tuple[str, str]]()
    violations = [
        Violation(
            f"the committed log has {counted(times, f)} of {key}, but operators asked for "
            f"{asked[f, key]}",
            [{"what": f, "replica": key}],
        )
        for (f, key), times in sorted(found.items())
        if times > asked[f, key] and (f, key) not in by_themselves
    ]
    return conclude(
        looked_at=found.total(),
        unit="committed changes of voters",
        violations=violations,
        needs="disks read after the run",
        holds="an operator had asked for each" + ", or its own node" * bool(by_themselves),
        algorithm="changes along the newest log, counted, against operations",
        nothing="no node's voters changed" if evidence.metadata_logs else "",
    )


def _asked_by_themselves(evidence: Evidence) -> frozenset[tuple[str, str]]:
    """What controllers may ask for by themselves, as often as it is needed."""
    if evidence.info.settings.get(AUTO_JOIN) != "true":
        return frozenset()
    lost = {_key(disk.replica) for disk in evidence.lost_disks}
    there = {_key(replica) for replica in evidence.disks.values()}
    return frozenset({(_REMOVE, key) for key in lost} | {(_ADD, key) for key in lost | there})


def _changes_asked(ops: pa.Table) -> list[_Row]:
    """In the order in which they were asked for, whatever their fate."""
    asked = ops.filter(pc.is_in(ops["f"], pa.array(VOTER_CHANGES)))
    rows: list[_Row] = asked.to_pylist()
    return rows


def _beyond(found: Counter[tuple[str, str]], rows: Iterable[_Row]) -> Iterator[_Row]:
    """Those that there are more of than was found."""
    left = found.copy()
    for row in rows:
        left[row["f"], row["key"]] -= 1
        if left[row["f"], row["key"]] < 0:
            yield row


def _contradicted(voters: VoterHistory, end: int, asked: Sequence[_Row]) -> list[Violation]:
    """Acknowledged changes below a snapshot that the snapshot contradicts.

    A replica is added and removed in turn. So it is a voter if it was one at first plus the
    additions less the removals: at least those that were acknowledged, and at most with all
    unanswered ones.
    """
    done = [row for row in asked if row["outcome"] == "ok"]
    hidden = list(_beyond(_changes(voters, end), done))
    known = Counter((row["f"], row["key"]) for row in hidden)
    perhaps = Counter((row["f"], row["key"]) for row in asked if row["outcome"] == "info")
    there = {_key(replica) for replica in voters.at(voters.known).keys}
    first = voters.at(0)
    found = []
    for replica in dict.fromkeys(row["key"] for row in hidden):
        more = known[_ADD, replica] - known[_REMOVE, replica]
        least = more - perhaps[_REMOVE, replica]
        most = more + perhaps[_ADD, replica] + first.includes(replica_of(replica))
        if not least <= (replica in there) <= most:
            found.append(_lost(next(row for row in hidden if row["key"] == replica)))
    return found


def replica_of(key: str) -> ReplicaKey:
    node, _, directory = key.partition(":")
    return ReplicaKey(int(node), directory)


def _changes(voters: VoterHistory, end: int) -> Counter[tuple[str, str]]:
    """How often each replica was added and removed below an offset, if that can be read."""
    found: Counter[tuple[str, str]] = Counter()
    for offset, (before, after) in zip(voters.offsets[1:], pairwise(voters.sets), strict=True):
        if max(voters.known, 1) <= offset < end and _is_known(before):
            found.update((_ADD, _key(key)) for key in after.keys - before.keys)
            found.update((_REMOVE, _key(key)) for key in before.keys - after.keys)
    return found


def _key(replica: ReplicaKey) -> str:
    return f"{replica.node}:{replica.directory}"


def _lost(row: _Row) -> Violation:
    text = f"{row['f']} of {row['key']} was acknowledged, but is not in the committed log"
    shown = {name: row[name] for name in ("f", "key", "outcome", "node", "process")}
    return Violation(text, [{"what": "acknowledged", "t_ns": row["t1"], **shown}])


@check("V7-one-node-a-directory", applies=everywhere, source="KIP-856")
def one_node_a_directory(evidence: Evidence) -> CheckResult:
    """V7: No two nodes have the same directory id.

    From traces, also of processes that lost their disk since, and from the disks at the end.
    (KIP-856, "Log Directory Storage UUID")
    """
    owners: dict[str, int] = {}
    violations = []
    for node, directory in _directories(evidence):
        owner = owners.setdefault(directory, node)
        if owner != node:
            text = f"node {owner} and node {node} both have the directory id {directory}"
            violations.append(Violation(text, [{"what": "the second", "node": node}]))
    return conclude(
        looked_at=len(owners),
        unit="directory ids",
        violations=violations,
        needs="disks read after the run",
        holds="each belonged to one node alone",
        algorithm="directory -> node",
        nothing=f"{counted(evidence.info.nodes, 'node')} named none",
    )


def _directories(evidence: Evidence) -> Iterator[tuple[int, str]]:
    yield from ((life.node, life.directory) for life in evidence.lives)
    for key in evidence.disks.values():
        if key.directory != NO_DIRECTORY:
            yield key.node, key.directory
