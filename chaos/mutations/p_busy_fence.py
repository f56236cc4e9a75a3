"""P-BUSY-FENCE: a heartbeat that a busy controller handles late does not count: its sender is
fenced (KAFKA-15019)."""

from chaos.mutations.planted import Planted
from node.controller.image import Image
from node.controller.sessions import BrokerSessions

_heard = BrokerSessions.heard


def unless_it_is_late(
    self: BrokerSessions, image: Image, broker: int, metadata_offset: int, now_ns: int
) -> None:
    if broker not in self._sessions or self.is_live(broker, now_ns):
        _heard(self, image, broker, metadata_offset, now_ns)


PLANTED = Planted(owner=BrokerSessions, decision="heard", wrong=unless_it_is_late)
