"""A-OUT-OF-ORDER: a new leader knows no idempotent producers, and refuses those that continue their
sequence (KIP-360; KAFKA-5793)."""

from chaos.mutations.planted import Planted
from node.broker.held_replicas import Held, HeldReplicas
from node.broker.producers import Producers
from node.errors import ErrorCode
from node.records.batch import BatchHeader
from node.storage.producers import NO_PRODUCER, KnownProducers

_as_it_knows, _as_it_should = HeldReplicas.producers, Producers.refusal


def of_this_reign(self: HeldReplicas, held: Held) -> Producers:
    """Their earlier batches in the log are ignored."""
    if held.log not in self._producers:
        begin = 0 if held.replica.leading is None else held.replica.leading.epoch_start
        reign = KnownProducers()
        for id_, known in _as_it_knows(self, held).logged:
            for each in known.batches:
                if each.base >= begin:
                    reign.restored(id_, known.epoch, each.time_ms, each)
        self._producers[held.log] = Producers(reign)
    return self._producers[held.log]


def from_the_beginning(self: Producers, header: BatchHeader) -> ErrorCode:
    is_unknown = header.producer_id != NO_PRODUCER and self.find(header.producer_id) is None
    if is_unknown and header.base_sequence != 0:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return _as_it_should(self, header)


PLANTED = Planted(
    owner=HeldReplicas,
    decision="producers",
    wrong=of_this_reign,
    other=Planted(owner=Producers, decision="refusal", wrong=from_the_beginning),
)
