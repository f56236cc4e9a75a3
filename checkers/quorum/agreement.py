"""All nodes have the same metadata log: M1."""

from collections.abc import Sequence
from itertools import combinations, zip_longest

from checkers.check import check, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult, EventValue


@check(
    "M1-metadata-logs-agree",
    applies=several_nodes,
    source="KIP-966 MetadataLogMatching",
    rests_on=(Kind.METADATA_LOGS,),
)
def metadata_logs_agree(evidence: Evidence) -> CheckResult:
    """M1: what any node saw of the metadata log is one sequence: all logs agree as far as they can.

    Two logs that both hold batches of an epoch are both copies of what its leader wrote, so they
    agree on everything up to where the shorter one ends in the highest such epoch. Behind that a
    log may hold what nobody committed. From the disks, of controllers and brokers alike. (KIP-966
    MetadataLogMatching)
    """
    logs = evidence.metadata_logs
    looked_at, violations = 0, []
    for one, two in combinations(sorted(logs), 2):
        end = _common_end(logs[one], logs[two])
        start = max(logs[one][0].base, logs[two][0].base)
        mine, other = (_between(logs[node], start, end) for node in (one, two))
        looked_at += min(len(mine), len(other))
        differ = next((pair for pair in zip_longest(mine, other) if pair[0] != pair[1]), None)
        if differ is not None:
            violations.append(_differ(one, two, *differ))
    return conclude(
        looked_at=looked_at,
        unit="batches of pairs of disks",
        violations=violations,
        needs="the metadata logs of two disks that have an epoch in common",
        holds="all nodes have the same",
        algorithm="pairs of logs, up to the shorter end in their highest common epoch",
    )


def _common_end(one: Sequence[StoredBatch], other: Sequence[StoredBatch]) -> int:
    """How far the leader of the highest epoch that both logs hold vouches for both; 0: no epoch."""
    common = {batch.epoch for batch in one} & {batch.epoch for batch in other}
    if not common:
        return 0
    return min(max(b.last for b in log if b.epoch == max(common)) + 1 for log in (one, other))


def _between(log: Sequence[StoredBatch], start: int, end: int) -> list[StoredBatch]:
    return [batch for batch in log if batch.base >= start and batch.last < end]


def _differ(one: int, two: int, mine: StoredBatch | None, other: StoredBatch | None) -> Violation:
    pair = ((one, mine), (two, other))
    offset = min(batch.base for _, batch in pair if batch is not None)
    shown: list[dict[str, EventValue]] = [
        {"what": "on the disk", "node": node, **batch._asdict()}
        if batch is not None
        else {"what": "has no batch there", "node": node}
        for node, batch in pair
    ]
    text = f"the metadata logs of nodes {one} and {two} differ at offset {offset}, and hold "
    return Violation(f"{text}batches of the same leader behind it", shown)
