"""The committed metadata log, as it is on the voters' disks after the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from checkers.evidence.traced_logs import StoredBatch, StoredLogs
from checkers.evidence.voter_history import LostLogs, ReplicaKey, VoterHistory, VoterSet


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLog:
    """The log of one node, up to the offset at which a majority of the voters agrees with it; of
    the nodes that hold all of that, the one whose log begins first."""

    node: int
    end: int
    batches: Sequence[StoredBatch]  # those below `end`


def committed_log(
    node: int | None,
    voters: VoterHistory,
    logs: StoredLogs,
    disks: Mapping[int, ReplicaKey],
    lost: LostLogs,
) -> CommittedLog | None:
    """From the newest log, which is on that node; None if no majority of its voters can be read.

    The newest log holds all that is committed (Raft, Leader Completeness); what no majority holds
    of it may be uncommitted. Records before a change of the voters may have been committed by the
    voters before it. A voter that lost its disk held what it held when the disk was wiped.
    """
    if node is None:
        return None
    agreed = {disks[one]: _agrees_up_to(logs[node], log) for one, log in logs.items()}
    gone = {one: _agrees_up_to(logs[node], log) for one, log in lost.items() if log}
    newest = voters.newest
    if newest.count(agreed) + len(newest.keys & gone.keys()) < newest.majority:
        return None
    until = [*voters.offsets[1:], logs[node][-1].last + 1]
    end = max(
        min(_held_by_majority(each, agreed, gone), limit)
        for each, limit in zip(voters.sets, until, strict=True)
    )
    alike = [one for one in logs if agreed[disks[one]] >= end]
    deepest = min(alike, key=lambda one: (logs[one][0].base, one != node, one), default=node)
    batches = [batch for batch in logs[deepest] if batch.last < end]
    return CommittedLog(node=deepest, end=end, batches=batches)


def _held_by_majority(
    voters: VoterSet, agreed: Mapping[ReplicaKey, int], gone: Mapping[ReplicaKey, int]
) -> int:
    """The offset up to which a majority of the voters agrees; 0 if too few can be read."""
    ends = [end for key, end in agreed.items() if voters.includes(key)]
    ends += [end for key, end in gone.items() if key in voters.keys]
    ends.sort(reverse=True)
    return ends[voters.majority - 1] if len(ends) >= voters.majority else 0


def _agrees_up_to(one: Sequence[StoredBatch], other: Sequence[StoredBatch]) -> int:
    """The offset behind the last batch that both have, counted from where both have begun."""
    start = max(one[0].base, other[0].base)
    pairs = zip(
        (batch for batch in one if batch.base >= start),
        (batch for batch in other if batch.base >= start),
        strict=False,
    )
    same = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return same[-1].last + 1 if same else start
