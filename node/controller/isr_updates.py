"""What a broker's coming and going does to partitions (`generateLeaderAndIsrUpdates`)."""

from collections.abc import Callable, Collection
from dataclasses import replace
from uuid import UUID

from node.controller import replica_rules
from node.controller.decision import Situation
from node.controller.image import Partition, PartitionKey
from node.controller.partition_changes import Election, Rules, change, without
from node.records.metadata import PartitionChangeRecord, RegisterBrokerRecord

_NOBODY = -1
Among = Callable[[Partition], bool]


def _all(_: Partition) -> bool:
    return True


def rules_for(
    situation: Situation,
    key: PartitionKey,
    partition: Partition,
    *,
    active: Callable[[int], bool] | None = None,
    election: Election | None = None,
    unclean: tuple[int, ...] = (),
) -> Rules:
    """`active` where it is not the image that says who is; `election` where the topic does not."""
    image = situation.image
    topic = image.topics.find(key[0])
    assert topic is not None, f"{key} is of no topic"
    if election is None:
        is_unclean = replica_rules.elects_uncleanly(image, topic, situation.settings.unclean)
        election = Election.UNCLEAN if is_unclean else Election.ONLINE
    count = len(partition.replicas)
    return Rules(
        level=image.metadata_version,
        elr=image.has_elr,
        min_isr=replica_rules.min_isr(image, topic, count, situation.settings.min_isr),
        may_lead=replica_rules.acceptable(image, partition, active or image.brokers.is_active),
        election=election,
        unclean=unclean,
    )


def when_removed(
    situation: Situation, broker: int, among: Among = _all
) -> list[PartitionChangeRecord]:
    """It is fenced, or about to shut down: out of every ISR, and into the ELR where that is so."""
    return _updates(
        situation, removed=broker, touches=lambda found: broker in found.isr and among(found)
    )


def when_back(
    situation: Situation, last: RegisterBrokerRecord, directories: Collection[UUID]
) -> list[PartitionChangeRecord]:
    """It shut down cleanly, and comes with these directories. It vouches for what is in them: of a
    replica that is assigned to another one nobody knows what it has, nor, if one is missing, of a
    replica of which it had not yet said where it is (Kafka goes by the broker alone)."""
    broker = last.broker_id
    is_one_missing = not set(last.log_dirs) <= set(directories)

    def is_missed(found: Partition) -> bool:
        if broker not in found.replicas:
            return False
        own = found.directory(broker)
        if own in (replica_rules.MIGRATING, replica_rules.UNASSIGNED):
            return is_one_missing
        return own not in directories

    in_doubt = when_in_doubt(situation, broker, among=is_missed)
    return [*in_doubt, *when_removed(situation, broker, among=lambda it: not is_missed(it))]


def when_in_doubt(
    situation: Situation, broker: int, among: Among = _all
) -> list[PartitionChangeRecord]:
    """Nobody knows what it has: it shut down uncleanly, or there is none. Out of every ISR and ELR
    (KIP-966, "Controller behaviors" 4)."""
    return _updates(
        situation,
        removed=broker,
        unclean=(broker,),
        touches=lambda found: (broker in found.isr or broker in found.elr) and among(found),
    )


def when_added(situation: Situation, broker: int) -> list[PartitionChangeRecord]:
    """It is not fenced any more: it may lead what nobody leads."""
    return _updates(situation, added=broker, touches=lambda found: not found.has_leader)


def _updates(
    situation: Situation,
    *,
    touches: Callable[[Partition], bool],
    removed: int = _NOBODY,
    added: int = _NOBODY,
    unclean: tuple[int, ...] = (),
) -> list[PartitionChangeRecord]:
    """The image does not know yet that a broker comes or goes."""

    def active(broker: int) -> bool:
        is_active = broker == added or situation.image.brokers.is_active(broker)
        return broker != removed and is_active

    records: list[PartitionChangeRecord] = []
    for key, found in situation.image.topics.partitions():
        if touches(found):
            rules = rules_for(situation, key, found, active=active, unclean=unclean)
            proposed = replace(found, isr=without(found.isr, removed))
            record = change(key, found, proposed, rules)
            records += [] if record is None else [record]
    return records
