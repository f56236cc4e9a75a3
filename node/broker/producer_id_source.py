"""Ids for idempotent producers, from blocks that the controller allocates (KIP-730)."""

from node.broker.controller_link import ControllerLink
from node.broker.lifecycle import Lifecycle
from node.broker.producers import NO_PRODUCER_EPOCH
from node.errors import ErrorCode
from node.ids import MS, ConnectionId, NodeId
from node.outbox import Parking, Waiting
from node.storage.producers import NO_PRODUCER
from node.wire.apis import Response
from node.wire.produce import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_TOO_LATE = InitProducerIdResponse(error=ErrorCode.REQUEST_TIMED_OUT)
_PATIENCE_NS = 30_000 * MS  # request.timeout.ms


class ProducerIdSource:
    def __init__(
        self, me: NodeId, lifecycle: Lifecycle, link: ControllerLink, parking: Parking
    ) -> None:
        self._me = me
        self._lifecycle = lifecycle
        self._link = link
        self._waiting = Waiting[int](parking)  # until when
        self._next = self._end = 0  # what is left of the block
        self._is_requested = False

    def take(
        self, connection: ConnectionId, request: InitProducerIdRequest, mono_ns: int
    ) -> InitProducerIdResponse | None:
        """None: answered when the controller has allocated a block, or at the timeout. There are no
        transactions here, and a client with that answer does not ask again.
        """
        if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return InitProducerIdResponse(error=ErrorCode.INVALID_REQUEST)
        if request.transactional_id is not None:
            is_id = request.transactional_id != ""
            error = ErrorCode.UNSUPPORTED_VERSION if is_id else ErrorCode.INVALID_REQUEST
            return InitProducerIdResponse(error=error)
        if self._next < self._end:
            return self._taken()
        if self._waiting.park(connection, mono_ns + _PATIENCE_NS) and not self._is_requested:
            self._is_requested = True
            block = AllocateProducerIdsRequest(broker=self._me, epoch=self._lifecycle.epoch)
            self._link.send(block, self._given)
        return None

    def poll(self, mono_ns: int) -> None:
        """Answer the requests that have timed out."""
        if not self._waiting.requests:
            return
        for connection, until_ns in self._waiting.all():
            if mono_ns >= until_ns:
                self._waiting.respond(connection, _TOO_LATE)

    def deadline_ns(self) -> int:
        return self._waiting.earliest_ns(lambda until_ns: until_ns)

    def _taken(self) -> InitProducerIdResponse:
        self._next += 1
        return InitProducerIdResponse(producer_id=self._next - 1, producer_epoch=0)

    def _given(self, response: Response | None, mono_ns: int) -> None:  # noqa: ARG002 (Answered)
        self._is_requested = False
        if isinstance(response, AllocateProducerIdsResponse) and not response.error:
            self._next, self._end = response.first, response.first + response.count
        for connection, _ in self._waiting.all():
            is_left = self._next < self._end
            self._waiting.respond(connection, self._taken() if is_left else _TOO_LATE)
