"""Partition changes when a broker comes or goes (`generateLeaderAndIsrUpdates`)."""

from collections.abc import Callable, Collection
from dataclasses import replace
from uuid import UUID

from node.controller import decision
from node.controller.decision import DecisionContext
from node.controller.image import Partition, PartitionKey
from node.controller.partition_changes import Election, Rules, change, without
from node.records.metadata import PartitionChangeRecord, RegisterBrokerRecord

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
