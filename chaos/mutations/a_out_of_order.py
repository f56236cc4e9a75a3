"""A-OUT-OF-ORDER: a broker that begins to lead knows nothing of idempotent producers, and lets none
go on that does not begin anew (what KIP-360 is about; KAFKA-5793)."""

from chaos.mutations.planted import Planted
from node.broker.held_replicas import Held, HeldReplicas
from node.broker.producers import NO_PRODUCER, Producers
from node.errors import ErrorCode
from node.records.batch import BatchHeader

_as_it_should = Producers.refusal


def of_this_reign(_: HeldReplicas, held: Held) -> Producers:
    """What the log has of them is not looked at."""
    if held.producers is None:
        held.producers = Producers(())
    return held.producers


def from_the_beginning(self: Producers, header: BatchHeader) -> ErrorCode:
    is_unknown = header.producer_id != NO_PRODUCER and header.producer_id not in self._known
    if is_unknown and header.base_sequence != 0:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return _as_it_should(self, header)


PLANTED = Planted(
    owner=HeldReplicas,
    decision="producers",
    wrong=of_this_reign,
    other=Planted(owner=Producers, decision="refusal", wrong=from_the_beginning),
)
