"""Partitions without a leader, in the committed metadata log: an eligible broker is elected, and
the last leader is remembered."""

from collections.abc import Iterator, Mapping

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER, Broker, Change, MetadataBatch, Partition, Timeline
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import NEED, both, names, state
from checkers.verdict import CheckResult, EventValue

_ALGORITHM = "replay of the committed metadata log"
# In log order: batches of other events may come between the one that makes a broker eligible and
# the election, if a controller writes the two apart.
_BATCHES = 3


@check(
    "eligible-are-elected",
    applies=of_brokers,
    source="ReplicationControlManager.generateLeaderAndIsrUpdates; KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def eligible_are_elected(evidence: Evidence) -> CheckResult:
    """A partition has no leader only while no broker that may lead it is active.

    Members of the ISR may lead; if it is empty, members of the ELR; if both are empty, the last
    known leader. It is elected by the batch that makes it active, or one of the next three about
    brokers and partitions, and at the log's end at the latest. (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread("partitions without a leader", NEED)
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
            able = _able(one, batch.brokers, elr_on=batch.elr_on)
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


def _able(one: Partition, brokers: Mapping[int, Broker], *, elr_on: bool) -> list[int]:
    """Brokers that may be elected: active, eligible, and with the replica's directory."""
    eligible = one.isr or one.elr
    if elr_on and not eligible and len(one.last_known_elr) == 1:
        eligible = one.last_known_elr
    known = [brokers[node] for node in eligible if node in brokers]
    return [broker.node for broker in known if broker.active and one.is_online(broker)]


def _left(one: Partition, able: list[int], batch: MetadataBatch) -> Violation:
    text = f"{one.key} has no leader in epoch {one.leader_epoch}, though of its ISR "
    text += f"[{names(one.isr)}] and ELR [{names(one.elr)}] node {able[0]} is active, and may lead"
    at: dict[str, EventValue] = {"what": f"after the batch at offset {batch.base}"}
    return Violation(text, [at | state(one)])


@check(
    "last-known-leader-led",
    applies=of_brokers,
    source="KIP-966, part one: useLastKnownLeaderInBalancedRecovery",
    rests_on=(Kind.METADATA_LOGS,),
)
def last_known_leader_led(evidence: Evidence) -> CheckResult:
    """The last known leader that is recorded for a partition is the broker that led it last.

    It may be none if the partition already had no leader when its ISR emptied. No program judged
    here has the recovery manager of KIP-966's part two, by which the last known ELR would be a set.
    (KIP-966)
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
