"""Reassignments in the committed metadata log: that they complete only when they may, and that they
do."""

from collections.abc import Iterator

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Partition, Timeline
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import NEED, both, names, state
from checkers.verdict import CheckResult

_UNIT = "reassignments that completed"


@check(
    "reassigned-when-in-sync",
    applies=of_brokers,
    source="KIP-455, KIP-966, KAFKA-15665",
    rests_on=(Kind.METADATA_LOGS,),
)
def reassigned_when_in_sync(evidence: Evidence) -> CheckResult:
    """A reassignment completes only when all remaining replicas are in the ISR.

    They are then at least min ISR, which is never more than the number of replicas. A cancelled
    reassignment keeps the former replicas, in the ISR or not. (KIP-455, KIP-966, KAFKA-15665)
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
        holds="all remaining replicas were in sync",
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
    """P18: Once the cluster is healed, with all replicas in the ISR, no reassignment goes on.

    It ends with the change by which the last new replica joins. `recovers-when-healed` judges
    whether the cluster heals. (KIP-966 liveness)
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
        nothing="no partition was reassigned" if is_whole else "the cluster did not heal",
    )


def _goes_on(partition: Partition) -> Violation:
    text = f"the reassignment of {partition.key} to [{names(partition.replicas)}] goes on, though "
    text += f"the ISR is [{names(partition.isr)}]"
    return Violation(text, [{"what": "at the end", **state(partition)}])


def _done(found: Timeline) -> Iterator[Change]:
    """Changes by which a replica to be removed is removed; in a cancelled reassignment, one to be
    added."""
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
        text = f"{after.key} was reassigned to [{names(after.replicas)}], but [{names(missing)}] "
        yield Violation(f"{text}are not in the ISR [{names(after.isr)}]", both(change))
