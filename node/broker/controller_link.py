"""A broker's requests to the active controller, over one connection of its own.

Each request ends in one call of `answered`: with the response, or with None if none will come,
because the connection broke or the controller was silent for too long. The caller decides whether
to ask again. Missing answers are reported when they begin and when they end: a controller that
closes the connection on a request does so each time, and meanwhile its broker is fenced.

AlterPartition is sent in a version that the controller serves: on each connection ApiVersions is
sent before the first (KIP-841, "Compatibility").
"""

from collections import deque
from collections.abc import Callable, Mapping

from node.effects import DisconnectPeer
from node.ids import MS, NEVER_NS, ChannelId, Endpoint
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.wire.alter_partition import ALTER_PARTITION, AlterPartitionRequest
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import BY_REQUEST, ControllerRequest, Response

CONTROLLER_CHANNEL = ChannelId(-2)  # the quorum numbers its own from 0; -1 is a controller's
_PAUSE_NS = 50 * MS  # before the next connection

OnResponse = Callable[[Response | None, int], None]  # with the time


@dataclass(slots=True, kw_only=True)
class _Sent:
    request: ControllerRequest | ApiVersionsRequest
    on_response: OnResponse
    until_ns: int = NEVER_NS


class ControllerLink:
    def __init__(self, request_timeout_ms: int, outbox: Outbox) -> None:
        self._timeout_ns = request_timeout_ms * MS
        self._outbox = outbox
        self._at: Endpoint | None = None  # the active controller, as far as is known
        self._waiting: deque[_Sent] = deque()
        self._out: dict[int, _Sent] = {}  # by correlation id
        self._next_correlation_id = 0
        self._paused_until_ns = 0
        # The newest version of each API that the connection serves; None: not known yet.
        self._newest: Mapping[int, int] | None = None
        self._is_asked = False  # ApiVersions was sent
        self._unanswered: set[str] = set()  # APIs reported as unanswered, until one is answered

    def send(self, request: ControllerRequest, on_response: OnResponse) -> None:
        """Sent as soon as there is an active controller."""
        self._waiting.append(_Sent(request=request, on_response=on_response))

    def poll(self, at: Endpoint | None, mono_ns: int) -> bool:
        """Send what waits; returns whether requests were given up."""
        sent = len(self._out)
        self._follow(at, mono_ns)
        has_given_up = len(self._out) < sent
        if at is not None and mono_ns >= self._paused_until_ns:
            self._send_waiting(at, mono_ns)
        return has_given_up

    def _follow(self, at: Endpoint | None, mono_ns: int) -> None:
        if at is not self._at and at != self._at:
            # Also if no answer is pending: a connection left open would carry the next request to
            # the former leader.
            if self._at is not None:
                self._hang_up(mono_ns)
            self._at = at
        if self._out and mono_ns >= self._patience_ns():
            self._tell(f"no answer came in {self._timeout_ns // MS} ms")
            self._hang_up(mono_ns)

    def _send_waiting(self, at: Endpoint, mono_ns: int) -> None:
        held: list[_Sent] = []
        while self._waiting:
            sent = self._waiting.popleft()
            if self._newest is None and isinstance(sent.request, AlterPartitionRequest):
                held.append(sent)
            else:
                self._send(sent, at, mono_ns)
        if held and not self._is_asked:
            self._is_asked = True
            self._send(_Sent(request=ApiVersionsRequest(), on_response=self._told), at, mono_ns)
        self._waiting.extend(held)

    def _told(self, response: Response | None, mono_ns: int) -> None:
        del mono_ns
        self._is_asked = False
        if isinstance(response, ApiVersionsResponse):
            self._newest = {api.api_key: api.max_version for api in response.apis}

    @property
    def is_wanted(self) -> bool:
        """Is anything to be sent, now or once there is an active controller?"""
        return bool(self._waiting)

    def deadline_ns(self) -> int:
        is_paused = self._waiting and self._at is not None and not self._is_asked
        paused_ns = self._paused_until_ns if is_paused else NEVER_NS
        return min(self._patience_ns(), paused_ns) if self._out else paused_ns

    def _patience_ns(self) -> int:
        """When the oldest pending request times out."""
        return min(sent.until_ns for sent in self._out.values())

    def on_response(self, correlation_id: int, response: Response, mono_ns: int) -> None:
        sent = self._out.pop(correlation_id, None)
        if sent is not None:  # otherwise of a connection that was dropped since
            self._tell_answered(_name(sent))
            sent.on_response(response, mono_ns)

    def on_lost(self, mono_ns: int) -> None:
        """The connection failed."""
        if self._out:
            self._tell("the connection cannot be made, or ended without an answer")
        self._give_up(mono_ns)

    def _give_up(self, mono_ns: int) -> None:
        self._paused_until_ns = mono_ns + _PAUSE_NS
        self._newest = None
        lost, self._out = self._out, {}
        for sent in lost.values():
            sent.on_response(None, mono_ns)

    def _hang_up(self, mono_ns: int) -> None:
        self._outbox.emit(DisconnectPeer(channel=CONTROLLER_CHANNEL))
        self._newest = None
        if self._out:
            self._give_up(mono_ns)

    def _tell(self, trouble: str) -> None:
        """Report what keeps the active controller from answering pending requests."""
        asked = {_name(each) for each in self._out.values()}
        if not asked <= self._unanswered:
            self._unanswered |= asked
            self._trace(trouble)

    def _tell_answered(self, name: str) -> None:
        """Report that the API is answered again."""
        if name in self._unanswered:
            self._unanswered.remove(name)
            if not self._unanswered:
                self._trace("")

    def _trace(self, trouble: str) -> None:
        at, asked = self._at, ",".join(sorted(self._unanswered))
        controller = "" if at is None else f"{at.host}:{at.port}"
        self._outbox.trace("b.asking", controller=controller, asked=asked, trouble=trouble)

    def _send(self, sent: _Sent, at: Endpoint, mono_ns: int) -> None:
        number = self._next_correlation_id
        self._next_correlation_id = (number + 1) % 2**31
        sent.until_ns = mono_ns + self._timeout_ns
        self._out[number] = sent
        self._outbox.emit(
            RequestTo(
                channel=CONTROLLER_CHANNEL,
                endpoint=at,
                correlation_id=number,
                request=sent.request,
                version=self._version(sent),
            )
        )

    def _version(self, sent: _Sent) -> int | None:
        if self._newest is None or not isinstance(sent.request, AlterPartitionRequest):
            return None
        api = ALTER_PARTITION
        return max(api.min_version, min(api.max_version, self._newest.get(api.key, 0)))


def _name(sent: _Sent) -> str:
    return BY_REQUEST[type(sent.request)].name
