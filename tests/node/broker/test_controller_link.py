"""What a broker asks goes to who leads now, and each question ends in one answer."""

from uuid import UUID

import pytest

from node.broker.controller_link import ControllerLink
from node.effects import DisconnectPeer, Trace
from node.errors import ErrorCode
from node.ids import MS, Endpoint, NodeId
from node.outbox import Outbox, RequestTo
from node.wire import decode_request, encode_request
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
    IsrMember,
)
from node.wire.api import ApiRange
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.registration import BrokerHeartbeatRequest, BrokerHeartbeatResponse

FIRST = Endpoint(name="INT", host="node-2", port=9102)
SECOND = Endpoint(name="INT", host="node-3", port=9103)
TIMEOUT_MS = 1000
HEARTBEAT = BrokerHeartbeatRequest(
    broker=NodeId(1), epoch=1, metadata_offset=0, want_fence=False, want_shutdown=False
)
ANSWER = BrokerHeartbeatResponse()
PROPOSAL = AlterPartitionRequest(
    broker=NodeId(1),
    epoch=1,
    partitions=(
        AlteredPartition(
            topic=UUID(int=9),
            index=0,
            leader_epoch=1,
            partition_epoch=1,
            isr=(IsrMember(broker=NodeId(1)),),
        ),
    ),
)


ASSIGNED = AssignDirectoriesRequest(broker=NodeId(1), epoch=1, replicas=())
ASSIGNED_ANSWER = AssignDirectoriesResponse()


class Asking:
    """One link, and what its questions were answered."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self.link = ControllerLink(TIMEOUT_MS, self._outbox)
        self.heard: list[object] = []
        self.told: list[object] = []  # to operators

    def ask(self) -> None:
        self.link.send(HEARTBEAT, lambda response, _: self.heard.append(response))

    def propose(self) -> None:
        self.link.send(PROPOSAL, lambda response, _: self.heard.append(response))

    def sent(self, at: Endpoint, ms: int) -> list[RequestTo]:
        self.link.poll(at, ms * MS)
        return [each for each in self._outbox.drain() if isinstance(each, RequestTo)]

    def poll(self, at: Endpoint | None, ms: int) -> list[object]:
        """What is sent by then: `None` for a connection that is dropped, else to whom."""
        self.link.poll(at, ms * MS)
        outputs = self._outbox.drain()
        self.told += [each.fields for each in outputs if isinstance(each, Trace)]
        done = [each for each in outputs if not isinstance(each, Trace)]
        assert all(isinstance(each, RequestTo | DisconnectPeer) for each in done)
        return [each.endpoint if isinstance(each, RequestTo) else None for each in done]


def told(version: int) -> ApiVersionsResponse:
    served = ApiRange(api_key=56, min_version=0, max_version=version)
    return ApiVersionsResponse(error=ErrorCode.NONE, apis=(served,))


@pytest.mark.parametrize(("served", "sent"), [(2, 2), (3, 3), (4, 3), (1, 2)])
def test_an_isr_is_proposed_in_a_version_that_the_controller_serves(served: int, sent: int) -> None:
    asking = Asking()
    asking.propose()
    asking.ask()
    heartbeat, versions = asking.sent(FIRST, 0)
    assert heartbeat.request == HEARTBEAT
    assert isinstance(versions.request, ApiVersionsRequest)
    assert asking.link.deadline_ns() == TIMEOUT_MS * MS, "it waits for that, and does not spin"
    asking.propose()
    assert asking.sent(FIRST, 1) == []
    asking.link.on_response(1, told(served), 2 * MS)
    proposals = asking.sent(FIRST, 2)
    assert [(each.request, each.version) for each in proposals] == 2 * [(PROPOSAL, sent)]
    header, frame = encode_request(PROPOSAL, correlation_id=1, client_id="", version=sent)
    assert decode_request(frame) == (header, PROPOSAL)


def test_another_controller_is_asked_anew_what_it_serves() -> None:
    asking = Asking()
    asking.propose()
    asking.sent(FIRST, 0)
    asking.link.on_response(0, told(2), 1 * MS)
    asking.sent(FIRST, 1)
    asking.propose()
    assert asking.poll(SECOND, 2) == [None], "a pause, for an answer is lost"
    assert asking.heard == [None]
    (versions,) = asking.sent(SECOND, 60)
    assert isinstance(versions.request, ApiVersionsRequest)
    asking.link.on_lost(61 * MS)
    assert asking.heard == [None], "what was not sent is not lost"
    (versions,) = asking.sent(SECOND, 120)
    asking.link.on_response(versions.correlation_id, told(3), 121 * MS)
    (proposal,) = asking.sent(SECOND, 121)
    assert proposal.version == 3


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
    trouble = f"no answer came in {TIMEOUT_MS} ms"
    told = {"controller": "node-2:9102", "asked": "BrokerHeartbeat", "trouble": trouble}
    assert asking.told == [told]


def test_a_controller_that_hangs_up_on_what_it_is_asked_is_told_of_once() -> None:
    """As on a request that is too large for it: the same is asked again, and others between."""
    asking = Asking()
    number = iter(range(100))

    def sent(ms: int) -> int:
        assert asking.poll(FIRST, ms) == [FIRST]
        return next(number)

    for ms in (0, 200, 400):
        asking.link.send(ASSIGNED, lambda response, _: asking.heard.append(response))
        sent(ms)
        asking.link.on_lost((ms + 1) * MS)
        asking.ask()
        asking.link.on_response(sent(ms + 100), ANSWER, (ms + 101) * MS)
    asking.poll(FIRST, 600)
    trouble = "the connection cannot be made, or ended without an answer"
    told = {"controller": "node-2:9102", "asked": "AssignReplicasToDirs", "trouble": trouble}
    assert asking.told == [told]
    asking.link.send(ASSIGNED, lambda response, _: asking.heard.append(response))
    asking.link.on_response(sent(700), ASSIGNED_ANSWER, 701 * MS)
    asking.poll(FIRST, 701)
    assert asking.told == [told, {**told, "asked": "", "trouble": ""}]


def test_that_another_controller_leads_is_no_trouble() -> None:
    asking = Asking()
    asking.ask()
    asking.poll(FIRST, 0)
    assert asking.poll(SECOND, 2) == [None]
    assert asking.heard == [None]
    assert asking.told == []
