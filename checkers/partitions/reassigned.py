"""Reassignments in the committed metadata log: when they are done."""

from collections.abc import Iterator

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Timeline
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import NEED, both, names
from checkers.verdict import CheckResult

_UNIT = "reassignments that were done"


@check(
    "reassigned-when-in-sync",
    applies=of_brokers,
    source="KIP-455, KIP-966, KAFKA-15665",
    rests_on=(Kind.METADATA_LOGS,),
)
def reassigned_when_in_sync(evidence: Evidence) -> CheckResult:
    """A reassignment is done only when all replicas that are left are in the ISR.

    They are then no fewer than min ISR, of which there are never more than replicas. One that is
    cancelled keeps those of before, in the ISR or not. (KIP-455, KIP-966, KAFKA-15665)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, NEED)
    done = list(_done(found))
    return conclude(
        looked_at=len(done),
        unit=_UNIT,
        violations=[violation for change in done for violation in _too_early(change)],
        needs=NEED,
        holds="all of the replicas that were left were in sync",
        algorithm="replay of the committed metadata log",
        nothing=f"there were no {_UNIT}",
    )


def _done(found: Timeline) -> Iterator[Change]:
    """Changes by which somebody who was to be removed is; cancelled, those who were added are."""
    for _, change in found.changes():
        before, after = change.before, change.partition
        if before is not None and change.ends_reassignment:
            first = set(before.replicas) - set(before.adding)
            if set(after.replicas) != first:
                yield change


def _too_early(change: Change) -> Iterator[Violation]:
    after = change.partition
    missing = tuple(node for node in after.replicas if node not in after.isr)
    if missing:
        text = f"{after.key} was reassigned to [{names(after.replicas)}], and [{names(missing)}] "
        yield Violation(f"{text}are not in the ISR [{names(after.isr)}]", both(change))
