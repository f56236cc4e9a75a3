"""P-NOT-DEMOTED: a broker that asks for a controlled shutdown goes on leading (KAFKA-14296)."""

from chaos.mutations.planted import Planted
from node.controller import heartbeats
from node.controller.decision import Situation
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
)

_as_it_should = heartbeats._enter_shutdown


def and_lead_on(situation: Situation, found: RegisterBrokerRecord) -> list[MetadataRecord]:
    records = _as_it_should(situation, found)
    return [each for each in records if isinstance(each, BrokerRegistrationChangeRecord)]


PLANTED = Planted(owner=heartbeats, decision="_enter_shutdown", wrong=and_lead_on)
