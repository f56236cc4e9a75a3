"""P-EPOCH-BUMP: a process that registers again after a lost answer gets a new broker epoch
(KAFKA-16952)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller import broker_registration
from node.controller.decision import Decision, Situation
from node.records.metadata import RegisterBrokerRecord
from node.wire.broker_lifecycle import BrokerRegistrationRequest, BrokerRegistrationResponse

_as_it_should = broker_registration.register_broker


def always_anew(situation: Situation, request: BrokerRegistrationRequest) -> Decision:
    decision = _as_it_should(situation, request)
    epoch = situation.next_offset
    records = [
        replace(each, broker_epoch=epoch) if isinstance(each, RegisterBrokerRecord) else each
        for each in decision.records
    ]
    return replace(decision, records=records, response=BrokerRegistrationResponse(epoch=epoch))


PLANTED = Planted(owner=broker_registration, decision="register_broker", wrong=always_anew)
