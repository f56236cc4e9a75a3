"""The committed metadata log, as it is on the voters' disks after the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from checkers.evidence.metadata_logs import StoredBatch, StoredLogs


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLog:
    """The log of the node that has it, up to where a majority of the voters agrees with it."""

    node: int
    end: int
    batches: Sequence[StoredBatch]  # those below `end`


def committed_log(voters: Sequence[int], logs: StoredLogs) -> CommittedLog | None:
    """None if no majority of the voters' logs can be read.

    The newest log, by the epoch of its last batch and then its length, holds all that is committed
    (Raft, Leader Completeness); what of it no majority holds may be uncommitted.
    """
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
