"""The core of a broker: what `node.core` is for a controller.

It observes the quorum, whose log it replays, and is a broker on top of it.
"""

import random
from uuid import UUID

from node.broker.broker import Broker
from node.broker.held_replicas import ReplicaLogs
from node.config import BrokerRole, NodeConfig
from node.effects import CloseConnection, DisconnectPeer, ElectionState, Stop
from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import METADATA_LOG, NO_NODE, ChannelId, ConnectionId, LogId, Now, Offset, ReplicaKey
from node.outbox import Answer, Outbox, Output
from node.parking import Parking
from node.raft.client import RaftClient
from node.raft.quorum_gauges import Gauge
from node.raft.raft import Raft
from node.raft.voter_history import VoterHistory
from node.storage.view import LogView
from node.wire.api_versions import (
    SUPPORTED_FEATURES,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from node.wire.apis import BROKER_API_RANGES, BROKER_REQUESTS, Request, Response

_FAILED = 1  # what the process exits with


class BrokerCore:
    def __init__(
        self,
        *,
        config: NodeConfig,
        role: BrokerRole,
        cluster_id: str,
        key: ReplicaKey,
        voters: VoterHistory,
        election: ElectionState,
        log: LogView,
        rng: random.Random,
        incarnation: UUID,
        directory: UUID,
        previous_epoch: int,
        replicas: ReplicaLogs,
    ) -> None:
        self._outbox = Outbox()
        self._parking = Parking(self._outbox, config.limits.connections)
        self._is_stopped = False
        own = config.advertised[0]
        self.raft = Raft(
            cluster_id=cluster_id,
            key=key,
            directory=directory,
            voters=voters,
            timeouts=config.timeouts,
            snapshots=config.snapshots,
            # It goes by the name of the controllers' listener; who observes is asked nothing there.
            advertised=(Endpoint(name=role.controller_listener, host=own.host, port=own.port),),
            servers=config.bootstrap_servers,
            election=election,
            view=log,
            rng=rng,
            outbox=self._outbox,
            parking=self._parking,
        )
        self.broker = Broker(
            RaftClient(self.raft),
            config,
            role,
            cluster_id=cluster_id,
            directory=directory,
            incarnation=incarnation,
            previous_epoch=previous_epoch,
            logs=replicas,
            outbox=self._outbox,
            parking=self._parking,
        )

    # --- events: each returns what is to be done, in order ---

    def start(self, now: Now) -> list[Output]:
        self.raft.elapse(now.mono_ns)
        self.broker.load()
        self.raft.start(now)
        self.broker.start(now)
        return self._finish(now)

    def on_request(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> list[Output]:
        self.raft.log.begin_step()
        if isinstance(request, ApiVersionsRequest):
            error = ErrorCode.NONE if request.supported else ErrorCode.UNSUPPORTED_VERSION
            response: Response | None = self._api_versions(error)
        else:
            assert isinstance(request, BROKER_REQUESTS), f"{request} is not in the table of brokers"
            response = self.broker.handle(connection, listener, request, now)
        if response is not None:
            self._outbox.emit(Answer(connection=connection, response=response))
        return self._finish(now)

    def on_garbled(self, connection: ConnectionId, reason: str, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self._outbox.emit(CloseConnection(connection=connection, reason=reason))
        return self._finish(now)

    def on_connection_closed(self, connection: ConnectionId, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self._parking.forget(connection)
        return self._finish(now)

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, now: Now
    ) -> list[Output]:
        self.raft.log.begin_step()
        if _is_brokers(channel):
            self.broker.on_response(channel, correlation_id, response, now.mono_ns)
        else:
            self.raft.on_response(channel, correlation_id, response, now)
        return self._finish(now)

    def on_peer_disconnected(self, channel: ChannelId, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if _is_brokers(channel):
            self.broker.on_lost(channel, now.mono_ns)
        else:
            self.raft.on_disconnected(channel, now)
        return self._finish(now)

    def on_peer_garbled(self, channel: ChannelId, reason: str, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if _is_brokers(channel):
            self._outbox.emit(DisconnectPeer(channel=channel))
            self.broker.on_lost(channel, now.mono_ns)
        else:
            self.raft.on_garbled(channel, reason, now)
        return self._finish(now)

    def on_flushed(self, log: LogId, end: Offset, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if log == METADATA_LOG:
            self.raft.on_flushed(end)
        else:
            self.broker.on_flushed(log)
        return self._finish(now)

    def on_timeout(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self.raft.elapse(now.mono_ns)
        return self._finish(now)

    def on_shutdown(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self.broker.begin_shutdown(now.mono_ns)
        return self._finish(now)

    def gauges(self, mono_ns: int) -> dict[str, Gauge]:
        """What metrics tell of this moment."""
        return self.raft.gauges(mono_ns)

    def next_deadline_ns(self) -> int:
        return min(self.raft.deadline_ns(), self.broker.deadline_ns())

    def takes_envelopes(self, listener: str) -> bool:  # noqa: ARG002 (MessageCore)
        return False

    # --- the end of every step ---

    def _finish(self, now: Now) -> list[Output]:
        self.raft.poll(now)
        self.broker.poll(self._active_controller(), now)
        outputs = self._outbox.drain()
        fault = self.raft.log.voters.fault
        if fault is not None:
            self._stop(outputs, _FAILED, str(fault))
        elif self.broker.is_ended:
            self._stop(outputs, 0, "shutdown")
        return outputs

    def _active_controller(self) -> Endpoint | None:
        quorum = self.raft.quorum
        return None if quorum.leader == NO_NODE else quorum.leader_at()

    def _stop(self, outputs: list[Output], code: int, reason: str) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            outputs.append(Stop(code=code, reason=reason))

    def _api_versions(self, error: ErrorCode) -> ApiVersionsResponse:
        """With the features that are finalized by all that is committed here."""
        follower = self.broker.follower
        return ApiVersionsResponse(
            error=error,
            apis=BROKER_API_RANGES,
            supported=SUPPORTED_FEATURES,
            finalized=tuple(sorted(follower.image.feature_levels().items())),
            features_at=follower.applied - 1,
        )


def _is_brokers(channel: ChannelId) -> bool:
    """The quorum numbers its own from 0."""
    return channel < 0
