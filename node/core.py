"""A node on flat messages: what `node.node` is without frames.

There is one order of a step, whatever the node's role in its process (Kafka's `process.roles`). An
event comes to the quorum, or to the role on top of it; then both do what is due, the quorum first.
What is a controller's own, or a broker's, its role decides (`ProcessRole`).

Each incoming connection is served as Kafka serves it: one request at a time. The shell hands over
the next one when the last is answered (`node.outbox`).
"""

import random
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from node.config import NodeConfig
from node.effects import CloseConnection, DisconnectPeer, ElectionState, Stop
from node.errors import ErrorCode
from node.ids import METADATA_LOG, ChannelId, ConnectionId, Endpoint, LogId, Now, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Output, Parking, ResponseTo
from node.raft.descriptions import Gauge
from node.raft.raft import Raft
from node.raft.voter_history import VoterHistory
from node.storage.view import LogView
from node.wire.api import ApiRange
from node.wire.api_versions import (
    SUPPORTED_FEATURES,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from node.wire.apis import Request, Response

_FAILED = 1  # what the process exits with


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """With what a life of a node begins: who it is, what its disk holds, and its chance."""

    cluster_id: str
    key: ReplicaKey
    directory: UUID  # of the disk that it has, whether the quorum asks for that or not
    voters: VoterHistory  # by what is not in the log
    election: ElectionState
    log: LogView
    rng: random.Random
    incarnation: UUID


class ProcessRole(Protocol):
    """What a node does on top of the quorum. What it wants done it puts into the outbox."""

    @property
    def is_ended(self) -> bool:
        """Is nothing left to do before the process ends in good order? As of the last `poll`."""

    def load(self) -> None:
        """Before `Raft.start`."""

    def start(self, now: Now) -> None:
        """After `Raft.start`."""

    def handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        """None: it waits, and is answered later."""

    def refusal_reason(self, listener: str) -> str:
        """Why it hangs up on everybody there, whatever they send; "": it does not."""

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        """Over a channel of its own."""

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        """A channel of its own failed, or brought nonsense."""

    def on_flushed(self, log: LogId) -> None:
        """One of its own, not the quorum's."""

    def on_timeout(self, now: Now) -> None:
        """All input that was ready is served."""

    def begin_shutdown(self, now: Now) -> None:
        """In good order."""

    def poll(self, now: Now) -> None:
        """Do what is due. Called after `Raft.poll`."""

    def deadline_ns(self) -> int:
        """When `poll` or `on_timeout` has something to do, at the latest."""

    def apis(self, listener: str) -> tuple[ApiRange, ...]:
        """What is served there."""

    def takes_envelopes(self, listener: str) -> bool:
        """Is what comes there in an Envelope served as if it had come by itself?"""

    def feature_levels(self) -> dict[str, int]:
        """Those that are finalized by all that is committed here; that of the quorum is not among
        them."""

    @property
    def applied(self) -> Offset:
        """What is committed below this was replayed."""

    def gauges(self) -> Mapping[str, Gauge]:
        """Its own, of this moment."""


R = TypeVar("R", bound=ProcessRole)


class Core(Generic[R]):
    """`advertised`: where others reach this member of the quorum; `role` makes what is on top."""

    def __init__(
        self,
        config: NodeConfig,
        life: Life,
        advertised: tuple[Endpoint, ...],
        role: Callable[[Raft, Outbox, Parking], R],
    ) -> None:
        self._outbox = Outbox()
        self._parking = Parking(self._outbox, config.limits.connections)
        self._is_stopped = False
        self._deadline_ns: int | None = None  # as of the last step; None: nobody asked yet
        self.raft = Raft(
            cluster_id=life.cluster_id,
            key=life.key,
            directory=life.directory,
            voters=life.voters,
            timeouts=config.timeouts,
            snapshots=config.snapshots,
            advertised=advertised,
            servers=config.bootstrap_servers,
            election=life.election,
            view=life.log,
            rng=life.rng,
            outbox=self._outbox,
            parking=self._parking,
        )
        self.role = role(self.raft, self._outbox, self._parking)

    # --- events: each returns what is to be done, in order ---

    def start(self, now: Now) -> list[Output]:
        self.raft.elapse(now.mono_ns)
        self.role.load()
        self.raft.start(now)
        self.role.start(now)
        return self._finish(now)

    def on_request(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> list[Output]:
        self.raft.log.begin_step()
        silent = self.role.refusal_reason(listener)
        if silent:
            self._outbox.emit(CloseConnection(connection=connection, reason=silent))
            return self._finish(now)
        if isinstance(request, ApiVersionsRequest):
            response: Response | None = self._api_versions(request, listener)
        else:
            response = self.role.handle(connection, listener, request, now)
        if response is not None:
            self._outbox.emit(ResponseTo(connection, response))
        return self._finish(now)

    def on_garbled(self, connection: ConnectionId, reason: str, now: Now) -> list[Output]:
        """What came over it is no request."""
        self.raft.log.begin_step()
        self._outbox.emit(CloseConnection(connection=connection, reason=reason))
        return self._finish(now)

    def on_connection_closed(self, connection: ConnectionId, now: Now) -> list[Output]:
        """By whom it was opened, or by us."""
        self.raft.log.begin_step()
        self._parking.forget(connection)
        self.raft.reads.on_closed(connection)
        return self._finish(now)

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, now: Now
    ) -> list[Output]:
        self.raft.log.begin_step()
        if channel >= 0:  # the quorum numbers its own from 0
            self.raft.on_response(channel, correlation_id, response, now)
        else:
            self.role.on_response(channel, correlation_id, response, now.mono_ns)
        return self._finish(now)

    def on_peer_disconnected(self, channel: ChannelId, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if channel >= 0:
            self.raft.on_disconnected(channel, now)
        else:
            self.role.on_lost(channel, now.mono_ns)
        return self._finish(now)

    def on_peer_garbled(self, channel: ChannelId, reason: str, now: Now) -> list[Output]:
        """What was answered over it is no message, or nobody asked for it."""
        self.raft.log.begin_step()
        if channel >= 0:
            self.raft.on_garbled(channel, reason, now)
        else:
            self._outbox.emit(DisconnectPeer(channel=channel))
            self.role.on_lost(channel, now.mono_ns)
        return self._finish(now)

    def on_flushed(self, log: LogId, end: Offset, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if log == METADATA_LOG:
            self.raft.on_flushed(end)
        else:
            self.role.on_flushed(log)
        return self._finish(now)

    def on_timeout(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self.raft.elapse(now.mono_ns)
        self.role.on_timeout(now)
        return self._finish(now)

    def on_shutdown(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self.role.begin_shutdown(now)
        return self._finish(now)

    # --- what is asked of it between steps ---

    def gauges(self, mono_ns: int) -> dict[str, Gauge]:
        """What metrics tell of this moment."""
        return {**self.raft.gauges(mono_ns), **self.role.gauges()}

    def next_deadline_ns(self) -> int:
        """Asked for more often than there are steps, and changed by steps only."""
        if self._deadline_ns is None:
            self._deadline_ns = min(self.raft.deadline_ns(), self.role.deadline_ns())
        return self._deadline_ns

    # --- the end of every step ---

    def _finish(self, now: Now) -> list[Output]:
        """Do what is due."""
        self._deadline_ns = None
        self.raft.poll(now)
        self.role.poll(now)
        outputs = self._outbox.drain()
        fault = self.raft.log.voters.fault
        if fault is not None:
            self._stop(outputs, _FAILED, str(fault))
        elif self.role.is_ended:
            self._stop(outputs, 0, "shutdown")
        return outputs

    def _stop(self, outputs: list[Output], code: int, reason: str) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            outputs.append(Stop(code=code, reason=reason))

    def _api_versions(self, request: ApiVersionsRequest, listener: str) -> ApiVersionsResponse:
        levels = self.role.feature_levels()
        if version := self.raft.log.voters.kraft_version:
            levels["kraft.version"] = version
        return ApiVersionsResponse(
            error=ErrorCode.NONE if request.supported else ErrorCode.UNSUPPORTED_VERSION,
            apis=self.role.apis(listener),
            supported=SUPPORTED_FEATURES,
            finalized=tuple(sorted(levels.items())),
            features_at=self.role.applied - 1,
        )
