"""E-NO-ELECT: a broker that registers after an unclean shutdown is removed from ISR and ELR, and
where it led no leader is elected (KAFKA-18106)."""

from chaos.mutations.planted import Planted
from node.controller import broker_registration
from node.controller.decision import Situation
from node.controller.partition_changes import without
from node.records.metadata import PartitionChangeRecord


def struck_off(situation: Situation, broker: int) -> list[PartitionChangeRecord]:
    return [
        PartitionChangeRecord(
            topic_id=topic,
            partition_id=index,
            isr=without(found.isr, broker),
            eligible_leader_replicas=without(found.elr, broker),
        )
        for (topic, index), found in situation.image.topics.partitions()
        if broker in (*found.isr, *found.elr)
    ]


PLANTED = Planted(owner=broker_registration, decision="when_in_doubt", wrong=struck_off)
