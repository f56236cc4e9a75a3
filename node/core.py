"""A node on flat messages: `node.node` without frames.

A step has one order, whatever the node's role in its process (Kafka's `process.roles`). An event
goes to the quorum, or to the role on top of it; then both do what is due, the quorum first. The
controller's or broker's own part is in its role (`ProcessRole`).

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

_FAILED = 1  # exit code of the process


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How a life of a node begins: its identity, its disk's content, its random generator."""

    cluster_id: str
    key: ReplicaKey
    directory: UUID  # the id of its disk, whether or not the quorum uses it
    voters: VoterHistory  # the voters before any record of the log
    election: ElectionState
    log: LogView
    rng: random.Random
    incarnation: UUID


class ProcessRole(Protocol):
    """A node's role on top of the quorum. Its output goes into the outbox."""

    @property
    def is_ended(self) -> bool:
        """Is the shutdown complete? As of the last `poll`."""

    def load(self) -> None:
        """Before `Raft.start`."""

    def start(self, now: Now) -> None:
        """After `Raft.start`."""

    def handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        """None: the request is parked, and answered later."""

    def refusal_reason(self, listener: str) -> str:
        """Why it closes every connection there, whatever is sent; "": it does not."""

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        """A response over one of its own channels."""

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        """One of its own channels failed, or brought garbage."""

    def on_flushed(self, log: LogId) -> None:
        """A log of its own, not the quorum's."""

    def on_timeout(self, now: Now) -> None:
        """All input that was ready is served."""

    def begin_shutdown(self, now: Now) -> None:
        """Begin a controlled shutdown."""

    def poll(self, now: Now) -> None:
        """Do what is due. Called after `Raft.poll`."""

    def deadline_ns(self) -> int:
        """When `poll` or `on_timeout` has something to do, at the latest."""

    def apis(self, listener: str) -> tuple[ApiRange, ...]:
        """The APIs served there."""

    def takes_envelopes(self, listener: str) -> bool:
        """Are requests in Envelopes on that listener served as if sent directly?"""

    def feature_levels(self) -> dict[str, int]:
        """The features finalized in the committed image; without the quorum's own."""

    @property
    def applied(self) -> Offset:
        """All committed records below this offset were replayed."""

    def gauges(self) -> Mapping[str, Gauge]:
        """Its own metrics, as of this moment."""


R = TypeVar("R", bound=ProcessRole)


class Core(Generic[R]):
    """`advertised`: where others reach this member of the quorum; `role` makes the role on top."""

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
        self._deadline_ns: int | None = None  # as of the last step; None: to be computed
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

    # --- events: each returns its outputs, in order ---

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
        """The bytes received are not a request."""
        self.raft.log.begin_step()
        self._outbox.emit(CloseConnection(connection=connection, reason=reason))
        return self._finish(now)

    def on_connection_closed(self, connection: ConnectionId, now: Now) -> list[Output]:
        """By the client, or by us."""
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
        """The bytes received are not a message, or a response without a request."""
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

    # --- queries between steps ---

    def gauges(self, mono_ns: int) -> dict[str, Gauge]:
        """Metrics as of this moment."""
        return {**self.raft.gauges(mono_ns), **self.role.gauges()}

    def next_deadline_ns(self) -> int:
        """Read more often than there are steps; only a step changes it."""
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
