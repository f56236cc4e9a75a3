"""Leaders are elected by majorities: Q4, by what they write themselves."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.verdict import CheckResult

_SHOWN = ("node", "offset", "epoch", "leader")


@check("Q4-elected-by-a-majority", applies=everywhere, source="Raft thesis 3.4, KIP-856")
def elected_by_a_majority(evidence: Evidence) -> CheckResult:
    """Q4: a LeaderChange names a majority of its voters as those that granted their votes.

    All of them are voters, none is named twice, and the leader is one. The voters that it names are
    controllers of the cluster, and with a static quorum all of them.
    """
    records = evidence.tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange"))
    rows = changes.filter(changes["detail"].is_valid()).to_pylist()
    found = [(row, _wrong(row["leader"], json.loads(row["detail"]), evidence)) for row in rows]
    return conclude(
        looked_at=len(found),
        unit="LeaderChange records",
        violations=[_violation(row, wrong) for row, wrong in found if wrong],
        needs="disks read after the run",
        holds="each names the votes of a majority",
        algorithm="granting voters against voters, record by record",
    )


def _wrong(leader: int, detail: Mapping[str, Any], evidence: Evidence) -> str:
    """What is wrong with a ballot, as the end of a sentence; "" if nothing is."""
    voters = [one["voterId"] for one in detail["voters"]]
    granting = [one["voterId"] for one in detail["grantingVoters"]]
    told = f"the votes of {sorted(granting)} of the voters {sorted(voters)}"
    if not set(voters) <= set(evidence.voters):
        return f"{told}; the controllers are {list(evidence.voters)}"
    if len({*granting}) < len(granting) or not {*granting, leader} <= {*voters}:
        return f"{told}, and node {leader} leads: not all of them are voters, or one is named twice"
    if 2 * len(granting) <= len(voters):
        return f"{told}, which are no majority"
    return ""


def _violation(row: Mapping[str, Any], wrong: str) -> Violation:
    shown = {name: row[name] for name in _SHOWN}
    text = f"the LeaderChange of epoch {row['epoch']}, on node {row['node']}, names {wrong}"
    return Violation(text, [{"what": "LeaderChange record", **shown}])
