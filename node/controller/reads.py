"""Reads that are answered from the committed image."""

from typing import assert_never

from node.config import Own
from node.controller import resource_configs
from node.controller.image import Image
from node.controller.partitions import reassignments
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, Now, Ticket, uuid_text
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Parking, Waiting
from node.raft.client import RaftClient
from node.wire.apis import ReadRequest, Response
from node.wire.configs import DescribeConfigsRequest, DescribeConfigsResponse
from node.wire.reassignments import ListReassignmentsRequest
from node.wire.refusals import refused


def response_to(image: Image, request: ReadRequest, own: Own) -> Response:
    match request:
        case DescribeConfigsRequest(resources=resources):
            results = resource_configs.describe_all(image, resources, own)
            return DescribeConfigsResponse(results=results)
        case ListReassignmentsRequest():
            return reassignments.ongoing(image, request)
        case _:
            assert_never(request)


# Reads wait until a majority confirmed, after they arrived, that this node still leads.
#
# Then the committed image answers (Raft thesis 6.4, `node.raft.replicas`).


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRead:
    """A client that waits for the confirmation that we still lead."""

    ticket: Ticket
    arrived_ns: int
    request: ReadRequest


class ConfirmedReads:
    def __init__(self, raft: RaftClient, own: Own, parking: Parking, outbox: Outbox) -> None:
        self._raft = raft
        self._own = own
        self._outbox = outbox
        self._waiting = Waiting[PendingRead](parking)

    def park(self, connection: ConnectionId, request: ReadRequest, now: Now) -> None:
        ticket = self._raft.take_ticket()
        read = PendingRead(ticket=ticket, arrived_ns=now.mono_ns, request=request)
        self._waiting.park(connection, read)

    def respond(self, image: Image, epoch: Epoch) -> None:
        """Answer the confirmed reads from the committed image: it has every write acknowledged
        before the read arrived."""
        if not self._waiting.requests:
            return
        confirmed = self._raft.confirmed()
        newest: PendingRead | None = None
        for connection, read in self._waiting.all():
            if read.ticket > confirmed:
                break
            self._waiting.respond(connection, response_to(image, read.request, self._own))
            newest = read
        if newest is not None:
            self._trace(newest, epoch)

    def refuse_all(self, message: str) -> None:
        """It leads no more."""
        for connection, read in self._waiting.all():
            self._waiting.respond(
                connection, refused(read.request, ErrorCode.NOT_CONTROLLER, message)
            )

    def _trace(self, newest: PendingRead, epoch: Epoch) -> None:
        """One line for all answered together: the confirmation of the newest covers all."""
        heard: list[dict[str, int | str]] = [
            {"id": key.id, "dir": uuid_text(key.directory), "since": followed_ns}
            for key, followed_ns in sorted(self._raft.followed_ns().items())
        ]
        self._outbox.trace(
            "c.read", epoch=epoch, ticket=newest.ticket, arrived=newest.arrived_ns, heard=heard
        )
