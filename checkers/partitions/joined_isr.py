"""Replicas and the ISR: joining it (P4, P5), the ISR that leaders use and truncations of followers
(P6, P16), and clean shutdowns (E6)."""

from collections.abc import Iterable, Mapping
from typing import Any

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Change
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.partitions.leaders import names, shown
from checkers.partitions.replica_agreement import Breach, sorted_out
from checkers.partitions.traced_replicas import (
    METADATA,
    Joining,
    PartitionId,
    epoch_of_cut,
    histories,
    isr_of,
    partition_of,
    traced_partitions,
    traces_replicas,
)
from checkers.verdict import CheckResult

# The ISR that a leader uses, and the records that followers truncate: P6 and P16.


# --- P6 ---


@check(
    "P6-isr-as-committed",
    applies=traces_replicas,
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
    applies=traces_replicas,
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
        gaps=(*gaps(evidence.lives), *sorted_breaches.undecided),
        nothing="no follower truncated its log" if evidence.lives else "",
    )


def _cut_off(key: str, cut: NodeEvent, published: NodeEvent) -> Breach:
    text = f"{key}: node {cut.node} truncated its log to {cut.log_end}, losing a record of epoch "
    text += f"{published.epoch}; its leader had committed all below {published.hwm}"
    shown = [witness(published, "committed"), witness(cut, "cut off")]
    return Breach(key, 0, Violation(text, shown))


def _below_its_own(key: str, cut: NodeEvent) -> Breach:
    text = f"{key}: node {cut.node} truncated its log to {cut.log_end}, below its high watermark "
    text += f"of {cut.hwm}: a leader had answered that all below it is committed"
    return Breach(key, 0, Violation(text, [witness(cut, "cut off")]))


_UNIT = "replicas that were to join an ISR"

# --- P4 ---


@check(
    "P4-joined-by-this-life",
    applies=traces_replicas,
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
    applies=traces_replicas,
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


# Brokers that leave a clean-shutdown file, and brokers that name one when they return (b.life): E6.


_NONE = -1  # the last life left no clean-shutdown file
_VOUCHING = "vouching"


@check(
    "E6-clean-as-vouched",
    applies=traces_replicas,
    source="KIP-966, Detection of an unclean shutdown",
    rests_on=(Kind.FAULTS, Kind.TRACES),
)
def clean_as_claimed(evidence: Evidence) -> CheckResult:
    """E6: A broker registers as cleanly shut down only with the broker epoch in the clean-shutdown
    file of its last process, and always if that file is there.

    On the same disk, and once the logs were flushed. A disk that loses synced bytes may bring back
    a removed file. The file of a process that stopped in good order is named, unless more was done
    to the node meanwhile than a stop. (KIP-966)
    """
    forgetful = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    looked_at, violations = 0, []
    for life in evidence.lives:
        if life.node in forgetful:
            continue
        vouched, before, stopped = _NONE, None, None
        for process in life.processes:
            lines = process.events("b.life")
            if lines and _previous(lines[0]) != _NONE:
                looked_at += 1
                if _previous(lines[0]) != vouched:
                    violations.append(_unfounded(lines[0], before))
            elif lines and before is not None and vouched != _NONE and stopped is not None:
                looked_at += 1
                if _was_only_stopped(evidence, life.node, before.t, lines[0].t):
                    violations.append(_forgotten(lines[0], before))
            last = lines[-1] if lines else None
            vouched = last.epoch if last is not None and last.state == _VOUCHING else _NONE
            before, stopped = last, next(iter(process.events("n.stop")), None)
    return conclude(
        looked_at=looked_at,
        unit="registrations after a clean shutdown",
        violations=violations,
        needs=NEED,
        holds="each named the broker epoch of a life that had flushed its logs, if there was one",
        algorithm="b.life of processes of one disk, one after another",
        gaps=gaps(evidence.lives),
        nothing="no broker registered as cleanly shut down" if evidence.lives else "",
    )


def _previous(line: NodeEvent) -> int:
    more: dict[str, Any] = dict(line.more)
    return int(more["previous"])


def _was_only_stopped(evidence: Evidence, node: int, begin: int, end: int) -> bool:
    faults = [f for f in evidence.faults if node in f.nodes and f.overlaps(begin, end)]
    return all(
        f.ends_process and f.halts and not (f.unclean or f.may_lose or f.damages_bytes or f.wipes)
        for f in faults
    )


def _forgotten(line: NodeEvent, before: NodeEvent) -> Violation:
    text = f"node {line.node} names no clean shutdown, but its last process, on the same disk, had "
    text += f"written a clean-shutdown file of broker epoch {before.epoch}"
    return Violation(text, [witness(before, "vouched"), witness(line, "found no such file")])


def _unfounded(line: NodeEvent, before: NodeEvent | None) -> Violation:
    text = f"node {line.node} names broker epoch {_previous(line)} as that of a clean shutdown, "
    text += "but its last process had not written a clean-shutdown file of that epoch"
    rows = [] if before is None else [witness(before, "said last, before")]
    return Violation(text, [*rows, witness(line, "found such a file")])
