"""Changes of a partition: its ISR, its ELR, its leader (Kafka's `PartitionChangeBuilder`).

One function, `change`, turns a partition and a proposal into one record, or none if nothing
changes. In this order: a reassignment is completed if it can be, the ELR follows the ISR (KIP-966,
"ELR update"), a leader is elected if the current one may not lead, and the last leader is
remembered as long as there is none.

*Election.* A leader that may lead stays. Otherwise the first in replica order that is active and in
the ISR or, if the ISR is empty, in the ELR: it then forms the ISR. If both are empty: the last
leader; or any active replica, if unclean elections are allowed. Both of these are unclean: the
leader alone is the ISR, it is RECOVERING (KIP-704), and there is no ELR. With a recovery manager
neither is elected here, but the replica that it found (`unclean_recovery`), in the same way.

*Without the feature* the ELR is left empty, and the last member of an ISR stays in it.

Partition changes when a broker comes or goes (`generateLeaderAndIsrUpdates`).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import Enum, auto
from uuid import UUID

from node.controller import decision
from node.controller.decision import DecisionContext
from node.controller.image import Partition, PartitionKey
from node.controller.image.topics import RECOVERING
from node.lazy_dataclass import dataclass
from node.records.metadata import DIRECTORIES, PartitionChangeRecord, RegisterBrokerRecord
from node.records.schemas import NO_LEADER, NO_LEADER_CHANGE

_SHRINKS_IN_EPOCH = 12  # level of metadata.version, 3.6-IV0: else brokers get lost (KAFKA-15021)
Ids = tuple[int, ...]


class Election(Enum):
    ONLINE = auto()
    PREFERRED = auto()  # the first replica before others
    UNCLEAN = auto()  # any active replica rather than none


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules that a change follows."""

    level: int  # of metadata.version
    elr: bool  # are eligible leader replicas enabled?
    min_isr: int  # the effective one
    may_lead: Callable[[int], bool]
    election: Election = Election.ONLINE
    unclean: Ids = ()  # shut down uncleanly: their logs may lack records
    is_recovered: bool = False  # by an unclean recovery manager, if no replica may lead
    winner: int | None = None  # found by it, or named by an operator


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elected:
    leader: int
    is_unclean: bool = False


def change(
    key: PartitionKey, before: Partition, proposed: Partition, rules: Rules
) -> PartitionChangeRecord | None:
    """From `before` to the `proposed` ISR, replicas, reassignment and recovery state."""
    after = _follow_isr(before, _complete_reassignment(proposed, rules.min_isr), rules)
    elected = _elect(before, after, rules)
    record = PartitionChangeRecord(topic_id=key[0], partition_id=key[1])
    if elected.leader != before.leader:
        record = replace(record, leader=elected.leader)
        after = _led(after, elected, rules.min_isr)
    elif not set(before.replicas) <= set(after.replicas):
        record = replace(
            record, leader=before.leader
        )  # removing a replica begins a new leader epoch
    if not rules.elr:
        after = replace(after, isr=after.isr or before.isr, elr=())
    if rules.level < _SHRINKS_IN_EPOCH and not set(before.isr) <= set(after.isr):
        record = replace(record, leader=elected.leader)
    assert elected.leader == NO_LEADER or elected.leader in after.isr, f"{elected} of {after}"
    after = _remember_leader(before, after, record.leader, rules)
    record = _with_differences(record, before, after, rules.level)
    return None if record == PartitionChangeRecord(topic_id=key[0], partition_id=key[1]) else record


def without(ids: Sequence[int], *others: int) -> Ids:
    return tuple(each for each in ids if each not in others)


def _complete_reassignment(proposed: Partition, min_isr: int) -> Partition:
    """All targets are in the ISR, and as many as the minimum (KIP-966, other behaviors 4)."""
    targets = without(proposed.replicas, *proposed.removing)
    isr = without(proposed.isr, *proposed.removing)
    if not proposed.is_reassigning or not targets or not set(targets) <= set(isr):
        return proposed
    if len(isr) < min(min_isr, len(targets)):
        return proposed
    kept = proposed.moved(targets, proposed.directory)
    elr = without(proposed.elr, *proposed.removing)
    return replace(kept, isr=isr, removing=(), adding=(), elr=elr)


def _follow_isr(before: Partition, proposed: Partition, rules: Rules) -> Partition:
    """KIP-966, "ELR update": a replica that leaves an ISR that is then below the minimum has
    everything below the high watermark, which does not advance meanwhile."""
    if not rules.elr:
        return proposed
    if len(proposed.isr) >= rules.min_isr:
        return replace(proposed, elr=())
    members = {*before.elr, *before.isr} - {*proposed.isr, *rules.unclean}
    return replace(proposed, elr=tuple(sorted(members & set(proposed.replicas))))


# --- election ---


def _elect(before: Partition, after: Partition, rules: Rules) -> _Elected:
    def is_valid(broker: int) -> bool:
        known = broker in after.isr or (not after.isr and broker in after.elr)
        return known and rules.may_lead(broker)

    if rules.winner is not None:
        return _Elected(leader=rules.winner, is_unclean=not is_valid(rules.winner))
    first = after.replicas[:1] if rules.election is Election.PREFERRED else ()
    for broker in (*first, before.leader, *after.replicas):
        if is_valid(broker):
            return _Elected(leader=broker)
    last = _last_leader(before)
    is_lost = rules.elr and not after.isr and not after.elr
    if is_lost and not rules.is_recovered and last != NO_LEADER and rules.may_lead(last):
        return _Elected(leader=last, is_unclean=True)
    if rules.election is Election.UNCLEAN:
        for broker in after.replicas:
            if rules.may_lead(broker):
                return _Elected(leader=broker, is_unclean=True)
    return _Elected(leader=NO_LEADER)


def _led(after: Partition, elected: _Elected, min_isr: int) -> Partition:
    """Led by the elected replica; a minimum that was lowered meanwhile may be reached so."""
    leader = elected.leader
    if elected.is_unclean:
        return replace(after, isr=(leader,), elr=(), recovery=RECOVERING)
    if leader in after.elr:
        others = without(after.elr, leader) if min_isr > 1 else ()
        return replace(after, isr=(leader,), elr=others)
    return after


def _last_leader(before: Partition) -> int:
    """Of a partition without a leader: as a recovery manager recorded it, else as shipped."""
    if before.last_known_leader != NO_LEADER:
        return before.last_known_leader
    return before.last_known_elr[0] if len(before.last_known_elr) == 1 else NO_LEADER


def _remember_leader(before: Partition, after: Partition, led: int, rules: Rules) -> Partition:
    """As shipped, without a recovery manager: only the last leader, from when there is none until
    there is another. If the partition lost its leader before the ELR was enabled, the replica that
    stayed in the ISR led last, and is remembered when it leaves. What a recovery manager recorded
    is replaced when it is off."""
    if not rules.elr:
        return replace(after, last_known_elr=(), last_known_leader=NO_LEADER)
    if rules.is_recovered:
        return _remember_all(before, after, led, rules.min_isr)
    is_deserted = not (after.isr or after.elr or before.has_leader or before.last_known_elr)
    if is_deserted and len(before.isr) == 1:
        return replace(after, last_known_elr=before.isr)
    if led == NO_LEADER and before.has_leader:
        return replace(after, last_known_elr=(before.leader,))
    if led >= 0:
        return replace(after, last_known_elr=(), last_known_leader=NO_LEADER)
    return after


def _remember_all(before: Partition, after: Partition, led: int, min_isr: int) -> Partition:
    """With a recovery manager (KIP-966, "Other behaviors" 6 and 7): a replica that can no longer
    be trusted to have everything is last known as eligible until the ISR has the minimum; and the
    last leader is known until there is another."""
    known: set[int] = set()
    if len(after.isr) < min_isr:
        known = {*before.last_known_elr, *before.elr, *before.isr} - {*after.isr, *after.elr}
    last = before.last_known_leader
    if led == NO_LEADER and before.has_leader:
        last = before.leader
    elif led >= 0:
        last = NO_LEADER
    kept = tuple(sorted(known & set(after.replicas)))
    return replace(after, last_known_elr=kept, last_known_leader=last)


# --- the record ---


def _with_differences(
    record: PartitionChangeRecord, before: Partition, after: Partition, level: int
) -> PartitionChangeRecord:
    """Sets each field that differs; `record` has the leader already."""
    on_others = (after.replicas, after.directories) != (before.replicas, before.directories)
    return replace(
        record,
        isr=_new(before.isr, after.isr),
        replicas=_new(before.replicas, after.replicas),
        removing_replicas=_new(before.removing, after.removing),
        adding_replicas=_new(before.adding, after.adding),
        leader_recovery_state=-1 if before.recovery == after.recovery else after.recovery,
        directories=after.directories if on_others and level >= DIRECTORIES else None,
        eligible_leader_replicas=_new(before.elr, after.elr),
        last_known_elr=_new(before.last_known_elr, after.last_known_elr),
        last_known_leader=(
            NO_LEADER_CHANGE
            if before.last_known_leader == after.last_known_leader
            else after.last_known_leader
        ),
    )


def _new(before: Ids, after: Ids) -> Ids | None:
    return None if before == after else after


_NO_NODE = -1
Among = Callable[[Partition], bool]


def _all(_: Partition) -> bool:
    return True


def rules_for(
    context: DecisionContext,
    key: PartitionKey,
    partition: Partition,
    *,
    active: Callable[[int], bool] | None = None,
    election: Election | None = None,
    unclean: tuple[int, ...] = (),
    winner: int | None = None,
) -> Rules:
    """`active` replaces the image's active replicas; `election` replaces the topic's rule;
    `winner` is to lead, whatever the rule."""
    image = context.image
    topic = image.topics.find(key[0])
    assert topic is not None, f"{key} is of no topic"
    is_recovered = decision.recovers(image, context.settings)
    if election is None:
        is_unclean = decision.elects_uncleanly(image, topic, context.settings.unclean)
        election = Election.UNCLEAN if is_unclean and not is_recovered else Election.ONLINE
    count = len(partition.replicas)
    return Rules(
        level=image.metadata_version,
        elr=image.has_elr,
        min_isr=decision.min_isr(image, topic, count, context.settings.min_isr),
        may_lead=decision.acceptable(image, partition, active or image.brokers.is_active),
        election=election,
        unclean=unclean,
        is_recovered=is_recovered,
        winner=winner,
    )


def when_removed(
    context: DecisionContext, broker: int, among: Among = _all
) -> list[PartitionChangeRecord]:
    """It is fenced, or in controlled shutdown: it leaves every ISR, perhaps for the ELR."""
    return _updates(
        context, removed=broker, touches=lambda found: broker in found.isr and among(found)
    )


def when_back(
    context: DecisionContext, last: RegisterBrokerRecord, directories: Collection[UUID]
) -> list[PartitionChangeRecord]:
    """It shut down cleanly, and returns with these directories. It vouches for their content. The
    state of a replica is unknown if it is assigned to another directory, or, if one is missing, if
    it was not yet assigned to any (Kafka goes by the broker alone)."""
    broker = last.broker_id
    is_one_missing = not set(last.log_dirs) <= set(directories)

    def is_missed(found: Partition) -> bool:
        if broker not in found.replicas:
            return False
        own = found.directory(broker)
        if own in (decision.MIGRATING, decision.UNASSIGNED):
            return is_one_missing
        return own not in directories

    in_doubt = when_in_doubt(context, broker, among=is_missed)
    return [*in_doubt, *when_removed(context, broker, among=lambda it: not is_missed(it))]


def when_in_doubt(
    context: DecisionContext, broker: int, among: Among = _all
) -> list[PartitionChangeRecord]:
    """Its replicas' state is unknown: it shut down uncleanly, or is unregistered. Remove it from
    every ISR and ELR (KIP-966, "Controller behaviors" 4)."""
    return _updates(
        context,
        removed=broker,
        unclean=(broker,),
        touches=lambda found: (broker in found.isr or broker in found.elr) and among(found),
    )


def when_added(context: DecisionContext, broker: int) -> list[PartitionChangeRecord]:
    """It is unfenced: it may lead leaderless partitions."""
    return _updates(context, added=broker, touches=lambda found: not found.has_leader)


def _updates(
    context: DecisionContext,
    *,
    touches: Callable[[Partition], bool],
    removed: int = _NO_NODE,
    added: int = _NO_NODE,
    unclean: tuple[int, ...] = (),
) -> list[PartitionChangeRecord]:
    """The image does not yet include the broker's change."""

    def active(broker: int) -> bool:
        is_active = broker == added or context.image.brokers.is_active(broker)
        return broker != removed and is_active

    records: list[PartitionChangeRecord] = []
    for key, found in context.image.topics.partitions():
        if touches(found):
            rules = rules_for(context, key, found, active=active, unclean=unclean)
            proposed = replace(found, isr=without(found.isr, removed))
            record = change(key, found, proposed, rules)
            records += [] if record is None else [record]
    return records
