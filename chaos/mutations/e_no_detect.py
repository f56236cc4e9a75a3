"""E-NO-DETECT: a broker that registers after an unclean shutdown counts as one that kept
everything, and stays in the ELR (KAFKA-18635)."""

from chaos.mutations.planted import Planted
from node.controller import broker_registration
from node.controller.decision import Situation
from node.controller.isr_updates import when_removed
from node.records.metadata import MetadataRecord, RegisterBrokerRecord
from node.wire.broker_lifecycle import BrokerRegistrationRequest


def always_clean(
    situation: Situation, _: RegisterBrokerRecord | None, request: BrokerRegistrationRequest
) -> list[MetadataRecord]:
    return [*when_removed(situation, request.broker)]


PLANTED = Planted(owner=broker_registration, decision="_end_of_last_life", wrong=always_clean)
