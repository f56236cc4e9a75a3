"""Reassignments in the committed metadata log: when they are done, and that they are."""

from collections.abc import Iterator

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Partition, Timeline
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import NEED, both, names, state
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


@check(
    "P18-reassignments-end",
    applies=of_brokers,
    source="KIP-966 liveness",
    rests_on=(Kind.METADATA_LOGS,),
)
def reassignments_end(evidence: Evidence) -> CheckResult:
    """P18: once all is whole again, with all replicas in the ISR, no reassignment goes on.

    It is over by the change that has the last target join. Whether all becomes whole again
    `recovers-when-healed` judges. (KIP-966 liveness)
    """
    found, info = evidence.timeline, evidence.info
    if found is None:
        return unread("reassignments", NEED)
    is_whole = info.finished and not info.stuck
    begun = {change.partition.key for _, change in found.changes() if change.partition.adding}
    begun |= {change.partition.key for _, change in found.changes() if change.partition.removing}
    left = [each for _, each in sorted(found.partitions.items()) if each.adding or each.removing]
    return conclude(
        looked_at=len(begun) if is_whole else 0,
        unit="partitions that were reassigned",
        violations=[_goes_on(each) for each in left] if is_whole else [],
        needs=NEED,
        holds="no reassignment goes on",
        algorithm="the end of the committed metadata log",
        nothing="nothing was reassigned" if is_whole else "the cluster was never whole again",
    )


def _goes_on(partition: Partition) -> Violation:
    text = f"the reassignment of {partition.key} to [{names(partition.replicas)}] goes on, and the "
    text += f"ISR is [{names(partition.isr)}]"
    return Violation(text, [{"what": "at the end", **state(partition)}])


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
