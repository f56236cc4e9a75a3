"""P-STAY-FENCED: a fenced broker with replicas is never unfenced."""

from chaos.mutations.planted import Planted
from node.controller import heartbeats
from node.controller.decision import Situation
from node.records.metadata import MetadataRecord, RegisterBrokerRecord
from node.wire.broker_lifecycle import BrokerHeartbeatRequest

_next_state = heartbeats._next_state


def unless_it_has_replicas(
    situation: Situation,
    found: RegisterBrokerRecord,
    request: BrokerHeartbeatRequest,
    is_caught_up: bool,
) -> tuple[list[MetadataRecord], bool, bool]:
    states = situation.image.topics.partitions()
    has_replicas = any(request.broker in state.replicas for _, state in states)
    if found.fenced and has_replicas and not request.want_shutdown:
        return [], True, False
    return _next_state(situation, found, request, is_caught_up)


PLANTED = Planted(owner=heartbeats, decision="_next_state", wrong=unless_it_has_replicas)
