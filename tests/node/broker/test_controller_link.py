"""What a broker asks goes to who leads now, and each question ends in one answer."""

from node.broker.controller_link import ControllerLink
from node.effects import DisconnectPeer
from node.endpoint import Endpoint
from node.ids import MS, NodeId
from node.outbox import Outbox, RequestTo
from node.wire.broker_lifecycle import BrokerHeartbeatRequest, BrokerHeartbeatResponse

FIRST = Endpoint(name="INT", host="node-2", port=9102)
SECOND = Endpoint(name="INT", host="node-3", port=9103)
TIMEOUT_MS = 1000
HEARTBEAT = BrokerHeartbeatRequest(
    broker=NodeId(1), epoch=1, metadata_offset=0, want_fence=False, want_shutdown=False
)
ANSWER = BrokerHeartbeatResponse()


class Asking:
    """One link, and what its questions were answered."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self.link = ControllerLink(TIMEOUT_MS, self._outbox)
        self.heard: list[object] = []

    def ask(self) -> None:
        self.link.send(HEARTBEAT, lambda response, _: self.heard.append(response))

    def poll(self, at: Endpoint | None, ms: int) -> list[object]:
        """What is sent by then: `None` for a connection that is dropped, else to whom."""
        self.link.poll(at, ms * MS)
        outputs = self._outbox.drain()
        assert all(isinstance(each, RequestTo | DisconnectPeer) for each in outputs)
        return [each.endpoint if isinstance(each, RequestTo) else None for each in outputs]


def test_a_question_waits_until_somebody_leads() -> None:
    asking = Asking()
    asking.ask()
    assert asking.poll(None, 0) == []
    assert asking.poll(FIRST, 1) == [FIRST]


def test_who_led_before_is_left_though_no_answer_is_waited_for() -> None:
    """Its connection may stay open as long as it lives: over that it would be asked for ever."""
    asking = Asking()
    asking.ask()
    assert asking.poll(FIRST, 0) == [FIRST]
    asking.link.on_response(0, ANSWER, 1 * MS)
    asking.ask()
    assert asking.poll(SECOND, 2) == [None, SECOND]
    assert asking.heard == [ANSWER]


def test_what_was_asked_of_who_led_before_is_not_answered() -> None:
    asking = Asking()
    asking.ask()
    asking.poll(FIRST, 0)
    assert asking.poll(SECOND, 2) == [None]
    assert asking.heard == [None]
    asking.link.on_response(0, ANSWER, 3 * MS)  # of the connection that was dropped
    assert asking.heard == [None]


def test_who_is_silent_for_too_long_is_asked_anew_over_another_connection() -> None:
    asking = Asking()
    asking.ask()
    asking.poll(FIRST, 0)
    assert asking.poll(FIRST, TIMEOUT_MS - 1) == []
    assert asking.poll(FIRST, TIMEOUT_MS) == [None]
    assert asking.heard == [None]
    asking.ask()
    assert asking.poll(FIRST, TIMEOUT_MS + 1) == []  # for a moment
    assert asking.poll(FIRST, TIMEOUT_MS + 100) == [FIRST]
