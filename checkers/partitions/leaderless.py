"""Elections, returning brokers and reassignments, in the committed metadata log.

A partition without a leader gets an eligible broker, its last leader is remembered, and a broker
that can lead it again is always known; brokers
that may have lost records (E5, E6); reassignments; what nodes replay (M1).
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping

import pyarrow.compute as pc

from checkers.check import check, of_brokers, traced
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import NO_LEADER, Broker, Change, MetadataBatch, Partition, Timeline
from checkers.evidence.lives import Process
from checkers.evidence.promised import recovers
from checkers.evidence.restarts import restarts
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import NEED, both, names, state
from checkers.verdict import CheckResult, EventValue

_ALGORITHM = "replay of the committed metadata log"
# In log order: batches of other events may come between the one that makes a broker eligible and
# the election, if these are two writes of the controller.
_BATCHES = 3
_NO_ISR_UNIT = "partitions with an empty ISR"


@check(
    "eligible-are-elected",
    applies=of_brokers,
    source="ReplicationControlManager.generateLeaderAndIsrUpdates; KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def eligible_are_elected(evidence: Evidence) -> CheckResult:
    """A partition has no leader only while no broker that may lead it is active.

    Members of the ISR may lead; if it is empty, members of the ELR; if both are empty, the last
    known leader, without a recovery manager. It is elected by the batch that makes it active, or
    one of the next three about brokers and partitions, and at the log's end at the latest.
    (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread("partitions without a leader", NEED)
    has_manager = recovers(evidence.info)
    looked_at, violations = 0, list[Violation]()
    # Partitions without a leader, and for how many batches one could have been elected.
    waiting: dict[str, int] = {}
    last = found.batches[-1] if found.batches else None
    for batch, partitions in found.walk():
        for key in {change.partition.key for change in batch.changes}:
            if key not in partitions or partitions[key].leader != NO_LEADER:
                waiting.pop(key, None)
            else:
                looked_at += 1
                waiting.setdefault(key, 0)
        for key in sorted(waiting):
            one = partitions[key]
            is_known = batch.elr_on and not has_manager
            able = _able(one, batch.brokers, by_last_leader=is_known)
            waiting[key] = waiting[key] + 1 if able else 0
            if waiting[key] == _BATCHES + 1 or (able and batch is last):
                violations.append(_left(one, able, batch))
    return conclude(
        looked_at=looked_at,
        unit="partitions without a leader",
        violations=violations,
        needs=NEED,
        holds="no active broker might lead them",
        algorithm=f"{_ALGORITHM}, brokers where each batch ends",
        nothing="no partition was ever without a leader",
    )


def _able(one: Partition, brokers: Mapping[int, Broker], *, by_last_leader: bool) -> list[int]:
    """Brokers that may be elected: active, eligible, and with the replica's directory."""
    eligible = one.isr or one.elr
    if by_last_leader and not eligible and len(one.last_known_elr) == 1:
        eligible = one.last_known_elr
    known = [brokers[node] for node in eligible if node in brokers]
    return [broker.node for broker in known if broker.active and one.is_online(broker)]


def _left(one: Partition, able: list[int], batch: MetadataBatch) -> Violation:
    text = f"{one.key} has no leader in epoch {one.leader_epoch}, though of its ISR "
    text += f"[{names(one.isr)}] and ELR [{names(one.elr)}] node {able[0]} is active, and may lead"
    at: dict[str, EventValue] = {"what": f"after the batch at offset {batch.base}"}
    return Violation(text, [at | state(one)])


def _without_manager(info: RunInfo) -> bool:
    """Applies where there are brokers, and no unclean recovery manager was asked for."""
    return of_brokers(info) and not recovers(info)


@check(
    "last-known-leader-led",
    applies=_without_manager,
    source="KIP-966, part one: useLastKnownLeaderInBalancedRecovery",
    rests_on=(Kind.METADATA_LOGS,),
)
def last_known_leader_led(evidence: Evidence) -> CheckResult:
    """The last known leader that is recorded for a partition is the broker that led it last.

    It may be none if the partition already had no leader when its ISR emptied. With the recovery
    manager of KIP-966's part two the last known ELR is a set, which E10 looks at. (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread("last known leaders", NEED)
    named = list(_named(found))
    return conclude(
        looked_at=len(named),
        unit="last known leaders",
        violations=[
            _never_led(change, leader)
            for change, leader in named
            if change.partition.last_known_elr not in ((leader,), (NO_LEADER,))
        ],
        needs=NEED,
        holds="each had led last",
        algorithm=_ALGORITHM,
        nothing="no last known leader was recorded",
    )


def _named(found: Timeline) -> Iterator[tuple[Change, int]]:
    """Changes that record a last known leader, each with the node that led last before. One in a
    snapshot was recorded before it, and is left out."""
    led: dict[str, int] = {}
    for batch in found.batches:
        for change in batch.changes:
            before, after, key = change.before, change.after, change.partition.key
            if after is None:
                led.pop(key, None)
                continue
            was = before.last_known_elr if before is not None else ()
            if before is not None and after.last_known_elr and after.last_known_elr != was:
                yield change, led.get(key, NO_LEADER)
            if after.leader != NO_LEADER:
                led[key] = after.leader
            elif batch.from_snapshot and len(after.last_known_elr) == 1:
                led[key] = after.last_known_elr[0]


def _never_led(change: Change, leader: int) -> Violation:
    one = change.partition
    text = f"{one.key}: [{names(one.last_known_elr)}] is recorded as the last leader, "
    text += "but no node had led" if leader == NO_LEADER else f"but that was node {leader}"
    return Violation(text, both(change))


@check(
    "can-be-led-again",
    applies=of_brokers,
    source="KIP-966: eligible leader replicas, last known leader",
    rests_on=(Kind.METADATA_LOGS,),
)
def can_be_led_again(evidence: Evidence) -> CheckResult:
    """While ELR is on, no batch leaves a partition without ISR, ELR and last known leader at once:
    no broker that returns could lead it, whatever its disk holds.

    The last known leader may be the last known ELR, with a recovery manager; a node that is no
    replica does not count. A partition that becomes so is accused once. Without ELR the last member
    of an ISR stays in it. (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread(_NO_ISR_UNIT, NEED)
    looked_at, violations = 0, list[Violation]()
    stranded: set[str] = set()
    for batch, partitions in found.walk():
        for change in batch.changes:
            key = change.partition.key
            one = partitions.get(key)
            if not batch.elr_on or one is None or one.isr:
                stranded.discard(key)
                continue
            looked_at += 1
            if {*one.elr, *one.last_known_elr} & {*one.replicas}:
                stranded.discard(key)
            elif key not in stranded:
                stranded.add(key)
                violations.append(_stranded(change, batch))
    return conclude(
        looked_at=looked_at,
        unit=_NO_ISR_UNIT,
        violations=violations,
        needs=NEED,
        holds="each had an eligible or a last known leader",
        algorithm=f"{_ALGORITHM}, partitions where each batch ends",
        nothing="no ISR was ever empty while ELR was on",
    )


def _stranded(change: Change, batch: MetadataBatch) -> Violation:
    text = f"{change.partition.key} has neither ISR, ELR nor a last known leader after the batch "
    text += f"at offset {batch.base}: no broker may be elected when it returns"
    return Violation(text, both(change))


# Brokers that register after they may have lost records: E5 and E6.


@check(
    "E5-unclean-registration-drops",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def unclean_registration_drops(evidence: Evidence) -> CheckResult:
    """E5: A broker that registers after an unclean shutdown is in no ISR and no ELR until it is
    added again.

    A shutdown is unclean if the broker was killed or lost power, by the fault log; or if the batch
    of its registration removes it from an ELR, and then it has to remove it everywhere. Judged
    while ELR is on. (KIP-966)
    """
    return _registrations(evidence, lossy=False)


@check(
    "E6-lost-bytes-are-not-clean",
    applies=of_brokers,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def lost_bytes_are_not_clean(evidence: Evidence) -> CheckResult:
    """E6: A node that lost bytes never registers as cleanly shut down.

    A node that had stopped in good order before its power failed may: it lost nothing that it
    answers for, or has broken another promise. The next registration removes it from every ISR and
    ELR, as after an unclean shutdown; by the fault log. Judged while ELR is on. (KIP-966)
    """
    return _registrations(evidence, lossy=True)


def _registrations(evidence: Evidence, *, lossy: bool) -> CheckResult:
    found = evidence.timeline
    unit = "registrations after " + ("lost bytes" if lossy else "an unclean shutdown")
    if found is None:
        return unread(unit, NEED)
    ends = {id(one.registration): one for one in evidence.once(restarts)}
    looked_at, violations = 0, []
    for batch, partitions in found.walk():
        for registration in batch.registrations if batch.elr_on else ():
            if batch.from_snapshot or registration.before is None:
                continue
            node, end = registration.node, ends.get(id(registration))
            unclean = end is not None and end.fault.unclean and (end.fault.may_lose or not lossy)
            if not unclean and (lossy or not _dropped(batch, node)):
                continue
            looked_at += 1
            kept = [one for one in partitions.values() if node in (*one.isr, *one.elr)]
            if kept:
                text = f"node {node} registered at offset {registration.offset} after "
                text += f"{end.fault.kind if end else 'an unclean shutdown'}, and is still "
                text += f"eligible to lead {kept[0].key}"
                at: dict[str, EventValue] = {
                    "what": "registered",
                    "node": node,
                    "offset": registration.offset,
                    "epoch": registration.after.epoch,
                }
                fault = (
                    [end.fault.shown("ended the process before", end.fault.t_start)] if end else []
                )
                rows = [{"what": "after that batch", **state(one)} for one in kept[:8]]
                violations.append(Violation(text, [*fault, at, *rows]))
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=violations,
        needs=NEED,
        holds="each broker was in no ISR and no ELR",
        algorithm="registrations in the metadata log, matched with the fault log by their number",
        nothing=f"there were no {unit}",
    )


def _dropped(batch: MetadataBatch, node: int) -> bool:
    """Whether a change of this batch removed the node from an ELR: no clean registration does."""
    pairs = ((change.before, change.after) for change in batch.changes)
    return any(one and two and node in one.elr and node not in two.elr for one, two in pairs)


# Reassignments in the committed metadata log complete, and only when they may.


_UNIT = "reassignments that completed"


@check(
    "reassigned-when-in-sync",
    applies=of_brokers,
    source="KIP-455, KIP-966, KAFKA-15665",
    rests_on=(Kind.METADATA_LOGS,),
)
def reassigned_when_in_sync(evidence: Evidence) -> CheckResult:
    """A reassignment completes only when all remaining replicas are in the ISR.

    Also if it completes in the record that begins it. They are then at least min ISR, which is
    never more than the number of replicas. A cancelled reassignment keeps the former replicas, in
    the ISR or not. (KIP-455, KIP-966, KAFKA-15665)
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
    begun = {change.partition.key for _, change in found.changes() if _is_moved(change)}
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


def _is_moved(change: Change) -> bool:
    return bool(change.partition.adding or change.partition.removing or change.reassigned)


def _goes_on(partition: Partition) -> Violation:
    text = f"the reassignment of {partition.key} to [{names(partition.replicas)}] goes on, though "
    text += f"the ISR is [{names(partition.isr)}]"
    return Violation(text, [{"what": "at the end", **state(partition)}])


def _done(found: Timeline) -> Iterator[Change]:
    """Changes by which a partition has other replicas than before, and no reassignment goes on: one
    that was under way, or one that is done in the record that begins it. A cancelled one brings the
    replicas back that there were before it."""
    for _, change in found.changes():
        before, after = change.before, change.after
        if before is None or after is None or after.adding or after.removing:
            continue
        if set(after.replicas) != set(before.replicas) - set(before.adding):
            yield change


def _too_early(change: Change) -> Iterator[Violation]:
    after = change.partition
    missing = tuple(node for node in after.replicas if node not in after.isr)
    if missing:
        text = f"{after.key} was reassigned to [{names(after.replicas)}], but [{names(missing)}] "
        yield Violation(f"{text}are not in the ISR [{names(after.isr)}]", both(change))


# What nodes replayed about brokers, topics and partitions, against the committed log: M1.


_REPLAYED_UNIT = "replayed records"
_TOLD = frozenset(
    (
        "RegisterBroker",
        "UnregisterBroker",
        "FenceBroker",
        "UnfenceBroker",
        "BrokerRegistrationChange",
        "Topic",
        "Partition",
        "PartitionChange",
        "ClearElr",
        "RemoveTopic",
    )
)


def _told(info: RunInfo) -> bool:
    """Applies where there are brokers, and nodes trace what they replay."""
    return of_brokers(info) and traced(info)


@check(
    "M1-replayed-as-committed",
    applies=_told,
    source="KIP-966 MetadataLogMatching",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def replayed_as_committed(evidence: Evidence) -> CheckResult:
    """M1: A node replays exactly the committed records about brokers and partitions, in order.

    By c.record and q.loaded of each process: at each offset the log has such a record, and none is
    left out between two of them except by a snapshot. (KIP-966 MetadataLogMatching)
    """
    found = evidence.timeline
    if found is None:
        return unread(_REPLAYED_UNIT, NEED)
    committed = committed_kinds(evidence, found)
    looked_at, violations = 0, list[Violation]()
    for life in evidence.lives:
        looked_at += len(life.rows("c.record"))
        for process in life.processes:
            violations += _wrong(process, committed, found)
    return conclude(
        looked_at=looked_at,
        unit=_REPLAYED_UNIT,
        violations=violations,
        needs=NEED,
        holds="each is in the committed log, and none was left out",
        algorithm="offset -> kind of record, against the committed metadata log",
        nothing="no record about brokers was replayed" if evidence.lives else "",
    )


def committed_kinds(evidence: Evidence, found: Timeline) -> dict[int, str]:
    """The kinds of the log's records, by offset; a snapshot's records have no offsets of their
    own."""
    records = evidence.tables["log_records"]
    kinds: dict[int, str] = {}
    in_snapshot = False
    for row in records.filter(pc.equal(records["node"], found.log.node)).to_pylist():
        if row["type"] in ("SnapshotHeader", "SnapshotFooter"):
            in_snapshot = row["type"] == "SnapshotHeader"
        elif not in_snapshot and row["type"] in _TOLD and row["offset"] < found.log.end:
            kinds[row["offset"]] = row["type"]
    return kinds


def _wrong(process: Process, committed: Mapping[int, str], found: Timeline) -> Iterator[Violation]:
    """Each process begins to replay at a snapshot or at the log's start. Below `start` only a
    snapshot has the records, and above the end it is unknown what is committed."""
    offsets = sorted(offset for offset in committed if offset >= found.start)
    expected: int | None = None
    for event in process.events("c.record", "q.loaded"):
        if event.event == "q.loaded" or not found.start <= event.offset < found.log.end:
            expected = None
            continue
        kind = event.more.get("record")
        at: dict[str, EventValue] = {
            "what": "replayed",
            "node": event.node,
            "offset": event.offset,
            "record": str(kind),
        }
        text = f"node {event.node} replayed a {kind} at offset {event.offset}"
        if committed.get(event.offset) != kind:
            holds = committed.get(event.offset, "no such record")
            yield Violation(f"{text}, where the committed log has {holds}", [at])
        elif expected is not None and event.offset != expected:
            yield Violation(f"{text}, but the next one was at offset {expected}", [at])
        following = bisect_right(offsets, event.offset)
        expected = offsets[following] if following < len(offsets) else None
