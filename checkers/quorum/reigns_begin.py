"""An epoch that has records had a leader: its first record in any log is the leader's
LeaderChange."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.planned import Kind
from checkers.quorum.epochs import leader_changes
from checkers.verdict import CheckResult


@check(
    "epochs-begin-with-a-leader-change",
    applies=everywhere,
    source="KIP-595: LeaderChangeMessage; Raft thesis 6.4, the no-op of a new leader",
    rests_on=(Kind.METADATA_LOGS,),
)
def epochs_begin_with_a_leader_change(evidence: Evidence) -> CheckResult:
    """In each log, the first record of an epoch is a LeaderChange of that epoch.

    Needs: log_batches, log_records.

    Only the leader of an epoch writes in it, and begins with a LeaderChange: without one, the
    records were written by a node that was not elected. The first epoch of a log without its head
    is not judged, nor an epoch after a damaged batch.
    """
    told = {(row["node"], row["offset"], row["epoch"]) for row in evidence.once(leader_changes)}
    looked_at = 0
    violations: list[Violation] = []
    for node, batches in sorted(evidence.metadata_logs.items()):
        for first in _first_batches(batches):
            looked_at += 1
            if (node, first.base, first.epoch) not in told:
                violations.append(_unled(node, first))
    return conclude(
        looked_at=looked_at,
        unit="epochs in logs",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins with its LeaderChange",
        algorithm="first batch of each epoch in each log, against LeaderChange records",
        nothing=evidence.below_snapshots,
    )


def _first_batches(batches: Sequence[StoredBatch]) -> Iterator[StoredBatch]:
    if batches and batches[0].base == 0:
        yield batches[0]
    for before, after in pairwise(batches):
        if after.epoch > before.epoch and after.base == before.last + 1:
            yield after


def _unled(node: int, first: StoredBatch) -> Violation:
    text = f"the log of node {node} has records of epoch {first.epoch} from offset {first.base} "
    text += "on, but no LeaderChange of that epoch: it had no leader"
    shown = {"what": "first batch of the epoch", "node": node, **first._asdict()}
    return Violation(text, [shown])
