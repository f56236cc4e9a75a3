"""P-HWM-STUCK: a shrunk ISR does not move the high watermark, though its remaining members have
everything (KAFKA-13091)."""

from chaos.mutations.planted import Planted
from node.broker.isr import Proposal
from node.broker.replica import Replica
from node.controller.image.partition import Partition
from node.wire.alter_partition import PartitionResult

_update, _on_response = Replica.update, Replica.on_response


def update(self: Replica, state: Partition, min_isr: int, now_ns: int) -> None:
    led, known = self.leading is not None, self.high_watermark
    _update(self, state, min_isr, now_ns)
    if led and self.leading is not None:
        self.high_watermark = known


def on_response(self: Replica, proposal: Proposal, result: PartitionResult, now_ns: int) -> bool:
    known = self.high_watermark
    is_asked_again = _on_response(self, proposal, result, now_ns)
    if self.leading is not None:
        self.high_watermark = known
    return is_asked_again


PLANTED = Planted(
    owner=Replica,
    decision="update",
    wrong=update,
    other=Planted(owner=Replica, decision="on_response", wrong=on_response),
)
