"""Where the parts of a node put what they want done; emptied once a step, in order."""

from node.effects import Effect, Trace, TraceValue
from node.endpoint import Endpoint
from node.ids import ChannelId, ConnectionId
from node.lazy_dataclass import dataclass
from node.wire.apis import OutgoingRequest, Response


@dataclass(frozen=True, slots=True)
class ResponseTo:
    """To the request that is being handled on an incoming connection."""

    connection: ConnectionId
    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTo:
    """To whoever serves at `endpoint`, over the one connection of a channel; in the newest version,
    where none was agreed on."""

    channel: ChannelId
    endpoint: Endpoint
    correlation_id: int
    request: OutgoingRequest
    version: int | None = None


Output = Effect | ResponseTo | RequestTo


class Outbox:
    def __init__(self) -> None:
        self._outputs: list[Output] = []

    def emit(self, output: Output) -> None:
        self._outputs.append(output)

    def trace(self, event: str, **fields: TraceValue) -> None:
        self._outputs.append(Trace(event, fields))

    def drain(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs
