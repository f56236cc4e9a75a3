"""Replicas that join an ISR, and the proof that they are caught up: P4 and P5."""

from collections.abc import Iterable, Mapping

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change
from checkers.evidence.lives import gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import shown
from checkers.partitions.traced_replicas import (
    METADATA,
    Joining,
    PartitionId,
    histories,
    told,
    traced_partitions,
)
from checkers.verdict import CheckResult

_UNIT = "replicas that were to join an ISR"

# --- P4 ---


@check(
    "P4-joined-by-this-life",
    applies=told,
    source="KIP-903, KAFKA-14617; KIP-966 Unclean Exclusion",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def joined_by_this_life(evidence: Evidence) -> CheckResult:
    """P4: A broker joins an ISR in the broker epoch in which it proved to be caught up.

    The broker epoch of the Fetch that made its leader propose it is the registered one where the
    metadata log has it join: another life of the broker may have lost those records. (KIP-903)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    joins, changes = evidence.once(traced_partitions).joins, _by_epoch(histories(found))
    looked_at, violations = 0, []
    for joining in _last_proposed(joins):
        change = changes.get((joining.partition, joining.partition_epoch + 1))
        if change is None or not _is_granted(joining, change):
            continue
        looked_at += 1
        broker = change.brokers.get(joining.event.replica)
        if broker is not None and broker.epoch != joining.broker_epoch:
            text = f"{_where(joining, change)} joined the ISR by a Fetch of its broker epoch "
            text += f"{joining.broker_epoch}, but was registered in {broker.epoch}"
            rows = [witness(joining.event, "proposed"), shown(change, "committed")]
            violations.append(Violation(text, rows))
    return conclude(
        looked_at=looked_at,
        unit=_UNIT,
        violations=violations,
        needs=METADATA,
        holds="each joined in the broker epoch in which it had caught up",
        algorithm="p.join against the registrations of the metadata log, by partition epoch",
        gaps=gaps(evidence.lives),
        nothing="no replica joined an ISR" if evidence.lives else "",
    )


def _last_proposed(joins: Iterable[Joining]) -> Iterable[Joining]:
    """One for each change that may come of it: a refused proposal leaves the partition epoch as it
    is, and a later one takes its place."""
    last = {
        (one.partition, one.event.epoch, one.partition_epoch, one.event.replica): one
        for one in joins
    }
    return last.values()


def _by_epoch(history: Mapping[PartitionId, list[Change]]) -> dict[tuple[PartitionId, int], Change]:
    return {
        (at, change.after.partition_epoch): change
        for at, changes in history.items()
        for change in changes
        if change.after is not None
    }


def _is_granted(joining: Joining, change: Change) -> bool:
    """Whether the change of that partition epoch carries out this proposal."""
    before, after, node = change.before, change.after, joining.event.replica
    if before is None or after is None or after.leader_epoch != joining.event.epoch:
        return False
    return node in after.isr and node not in before.isr


def _where(joining: Joining, change: Change) -> str:
    return f"{change.partition.key}: node {joining.event.replica}"


# --- P5 ---


@check(
    "P5-joined-with-all",
    applies=told,
    source="KIP-966, HS Kip320",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def joined_with_all(evidence: Evidence) -> CheckResult:
    """P5: A replica that is proposed for an ISR has all records below the high watermark, and all
    with which its leader began.

    By the end of its log as its leader knew it; the leader began with the records in its own log.
    (KIP-966, HS Kip320)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    history = histories(found)
    joins = [one for one in evidence.once(traced_partitions).joins if one.partition in history]
    short = [one for one in joins if one.event.offset < max(one.event.hwm, one.epoch_start)]
    violations = []
    for joining in short:
        text = f"{_where(joining, history[joining.partition][0])} is proposed for the ISR with "
        text += f"all below {joining.event.offset}; the high watermark is {joining.event.hwm}, and "
        text += f"epoch {joining.event.epoch} began at {joining.epoch_start}"
        violations.append(Violation(text, [witness(joining.event, "proposed")]))
    return conclude(
        looked_at=len(joins),
        unit=_UNIT,
        violations=violations,
        needs=METADATA,
        holds="each had all committed records, and those with which its leader began",
        algorithm="p.join against the high watermark, and the log's end in p.role",
        gaps=gaps(evidence.lives),
        nothing="no replica was proposed for an ISR" if evidence.lives else "",
    )
