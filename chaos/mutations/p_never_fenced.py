"""P-NEVER-FENCED: a new active controller starts the sessions of known brokers only with their
first heartbeats: a broker that is silent by then is never fenced (KAFKA-18138)."""

from chaos.mutations.planted import Planted
from node.controller.image import Image
from node.controller.sessions import BrokerSessions, _Session

_heard = BrokerSessions.heard


def begin(self: BrokerSessions, image: Image, session_ms: int, now_ns: int) -> None:
    del image, now_ns
    self._timeout_ns = session_ms * 1_000_000
    self._sessions = {}


def follow(self: BrokerSessions, image: Image, now_ns: int) -> None:
    del now_ns
    unfenced = {each.broker_id for each in image.brokers.all() if not each.fenced}
    for broker in self._sessions.keys() - unfenced:
        del self._sessions[broker]


def heard(
    self: BrokerSessions, image: Image, broker: int, metadata_offset: int, now_ns: int
) -> None:
    found = image.brokers.find(broker)
    if found is not None and not found.fenced:
        self._sessions.setdefault(broker, _Session(now_ns))
    _heard(self, image, broker, metadata_offset, now_ns)


PLANTED = Planted(
    owner=BrokerSessions,
    decision="__init__",
    wrong=begin,
    other=Planted(
        owner=BrokerSessions,
        decision="follow",
        wrong=follow,
        other=Planted(owner=BrokerSessions, decision="heard", wrong=heard),
    ),
)
