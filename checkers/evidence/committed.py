"""The committed metadata log, as it is on the voters' disks after the run: M1 of the invariants."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile, zip_longest

from checkers.conclusion import Violation, conclude
from checkers.history.sealed_run import Run
from checkers.quorum.log_matching import StoredBatch, stored
from checkers.verdict import CheckResult, EventValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLog:
    """The log of the node that has it, up to where a majority of the voters agrees with it."""

    node: int
    end: int
    batches: Sequence[StoredBatch]  # those below `end`


def voters_of(run: Run) -> tuple[int, ...]:
    """The controllers; without roles, all nodes."""
    controllers = [int(node) for node, role in run.info.roles.items() if "controller" in role]
    return tuple(sorted(controllers)) or tuple(range(1, run.info.nodes + 1))


def committed_log(run: Run) -> CommittedLog | None:
    """None if no majority of the voters' logs can be read.

    The newest log, by the epoch of its last batch and then its length, holds all that is committed
    (Raft, Leader Completeness); what of it no majority holds may be uncommitted.
    """
    voters, logs = voters_of(run), stored(run)
    found = {node: logs[node] for node in voters if logs.get(node)}
    majority = len(voters) // 2 + 1
    if len(found) < majority:
        return None
    node = max(found, key=lambda one: (found[one][-1].epoch, found[one][-1].last, -one))
    newest = found[node]
    ends = sorted((_agrees_up_to(newest, found[voter]) for voter in found), reverse=True)
    end = ends[majority - 1]
    return CommittedLog(node=node, end=end, batches=[batch for batch in newest if batch.last < end])


def _agrees_up_to(one: Sequence[StoredBatch], other: Sequence[StoredBatch]) -> int:
    """The offset behind the last batch that both have, from where both have begun."""
    start = max(one[0].base, other[0].base)
    pairs = zip(
        (batch for batch in one if batch.base >= start),
        (batch for batch in other if batch.base >= start),
        strict=False,
    )
    same = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return same[-1].last + 1 if same else start


def metadata_logs_agree(run: Run) -> CheckResult | None:
    """M1: what any node saw of the metadata log is one sequence: all logs agree as far as they can.

    Two logs that both hold batches of an epoch are both copies of what its leader wrote, so they
    agree on everything up to where the shorter one ends in the highest such epoch. Behind that a
    log may hold what nobody committed. From the disks, of controllers and brokers alike. (KIP-966
    MetadataLogMatching)
    """
    logs = stored(run)
    if len(run.tables["disks"]) < 2:
        return None
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
        "M1-metadata-logs-agree",
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
