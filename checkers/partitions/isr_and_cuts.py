"""The ISR that a leader uses, and the records that followers truncate: P6 and P16."""

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.held import Breach, sorted_out
from checkers.partitions.leaders import names
from checkers.partitions.traced_replicas import (
    METADATA,
    PartitionId,
    epoch_of_cut,
    histories,
    isr_of,
    partition_of,
    told,
    traced_partitions,
)
from checkers.verdict import CheckResult

# --- P6 ---


@check(
    "P6-isr-as-committed",
    applies=told,
    source="KIP-966, KIP-497; HS AsyncIsr",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def isr_as_committed(evidence: Evidence) -> CheckResult:
    """P6: The ISR that a leader uses as committed is the one in the metadata log.

    In the partition epoch that it names. An ISR that it only proposed may be refused. (KIP-966,
    KIP-497)
    """
    found, unit = evidence.timeline, "ISRs that leaders traced"
    if found is None:
        return unread(unit, METADATA)
    committed = {
        (at, one.partition_epoch): one
        for at, changes in histories(found).items()
        for one in (change.after for change in changes)
        if one is not None
    }
    looked_at, violations = 0, []
    for event in evidence.once(traced_partitions).isrs:
        isr = isr_of(event)
        one = committed.get((partition_of(event), isr.partition_epoch))
        if one is None:
            continue  # beyond the end of the log that was read, or below a snapshot
        looked_at += 1
        if isr.committed != set(one.isr):
            text = f"{one.key}: node {event.node}, leader of epoch {event.epoch}, used the ISR "
            text += f"[{names(sorted(isr.committed))}], but in partition epoch "
            text += f"{one.partition_epoch} the metadata log has [{names(one.isr)}]"
            violations.append(Violation(text, [witness(event, "went by")]))
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=violations,
        needs=METADATA,
        holds="each is committed as it was traced",
        algorithm="p.isr against the metadata log, by partition epoch",
        gaps=gaps(evidence.lives),
        nothing="no broker led" if evidence.lives else "",
    )


# --- P16 ---


@check(
    "P16-no-committed-record-cut",
    applies=told,
    source="KIP-101, KIP-279; HS KafkaTruncateToHighWatermark",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.TRACES),
)
def no_committed_record_cut(evidence: Evidence) -> CheckResult:
    """P16: A follower truncates no record that the leader of its epoch had committed.

    By the epoch of the first truncated record, and the highest high watermark that was published in
    it: up to there that log was its leader's. Nor does a follower truncate anything below its own
    high watermark. After an unclean election that was asked for, or more losses than the ISR can
    bear, it is allowed. (KIP-101, KIP-279; KAFKA-14704)
    """
    found, unit = evidence.timeline, "truncations of followers' logs"
    if found is None:
        return unread(unit, METADATA)
    history, replicas = histories(found), evidence.once(traced_partitions)
    highest: dict[tuple[PartitionId, int], NodeEvent] = {}
    for move in replicas.moves:
        at = (move.partition, move.event.epoch)
        if at not in highest or highest[at].hwm < move.event.hwm:
            highest[at] = move.event
    breaches = []
    for cut in replicas.cuts:
        published = highest.get((partition_of(cut), epoch_of_cut(cut)))
        changes = history.get(partition_of(cut))
        if changes and published is not None and cut.log_end < published.hwm:
            breaches.append(_cut_off(changes[0].partition.key, cut, published))
        elif changes and cut.log_end < cut.hwm:
            breaches.append(_below_its_own(changes[0].partition.key, cut))
    sorted_breaches = sorted_out(evidence, breaches)
    return conclude(
        looked_at=len(replicas.cuts),
        unit=unit,
        violations=sorted_breaches.accused,
        needs=METADATA,
        holds="each kept the committed records",
        algorithm="p.truncate against the highest p.hwm of the truncated epoch, and its own",
        allowed=sorted_breaches.allowed,
        gaps=(*gaps(evidence.lives), *sorted_breaches.untold),
        nothing="no follower truncated its log" if evidence.lives else "",
    )


def _cut_off(key: str, cut: NodeEvent, published: NodeEvent) -> Breach:
    text = f"{key}: node {cut.node} truncated its log to {cut.log_end}, losing a record of epoch "
    text += f"{published.epoch}, whose leader had committed all below {published.hwm}"
    shown = [witness(published, "committed"), witness(cut, "cut off")]
    return Breach(key, 0, Violation(text, shown))


def _below_its_own(key: str, cut: NodeEvent) -> Breach:
    text = f"{key}: node {cut.node} truncated its log to {cut.log_end}, below its high watermark "
    text += f"of {cut.hwm}: a leader had answered that all below it is committed"
    return Breach(key, 0, Violation(text, [witness(cut, "cut off")]))
