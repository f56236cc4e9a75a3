"""The node's core on flat messages: what `node.node` is without frames.

Each incoming connection is served as Kafka serves it: one request at a time. The shell hands over
the next one when the last is answered (`node.parking`).
"""

import random
from collections.abc import Sequence
from uuid import UUID

from node.config import NodeConfig
from node.controller.controller import Controller
from node.controller.registration import (
    REGISTRY_CHANNEL,
    Active,
    Registrar,
    active_controller,
    own_registration,
)
from node.effects import CloseConnection, DisconnectPeer, ElectionState, Stop
from node.errors import ErrorCode
from node.ids import (
    METADATA_LOG,
    MS,
    NEVER_NS,
    ChannelId,
    ConnectionId,
    LogId,
    Now,
    Offset,
    ReplicaKey,
)
from node.outbox import Answer, Outbox, Output
from node.parking import Parking
from node.raft.client import RaftClient
from node.raft.quorum_gauges import Gauge
from node.raft.raft import QuorumRequest, Raft
from node.raft.voter_history import VoterHistory
from node.records.metadata import MetadataRecord
from node.storage.view import LogView
from node.wire.alter_partition import AlterPartitionRequest
from node.wire.api import ApiRange
from node.wire.api_versions import (
    SUPPORTED_FEATURES,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from node.wire.apis import DATA_REQUESTS, Request, Response
from node.wire.assign_directories import AssignDirectoriesRequest
from node.wire.broker_lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    UnregisterBrokerRequest,
)
from node.wire.configs import AlterConfigsRequest, DescribeConfigsRequest
from node.wire.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from node.wire.create_partitions import CreatePartitionsRequest
from node.wire.create_topics import CreateTopicsRequest
from node.wire.delete_topics import DeleteTopicsRequest
from node.wire.describe_cluster import DescribeClusterRequest
from node.wire.elect_leaders import ElectLeadersRequest
from node.wire.envelope import EnvelopeRequest, EnvelopeResponse
from node.wire.producer_ids import AllocateProducerIdsRequest
from node.wire.reassignments import AlterReassignmentsRequest, ListReassignmentsRequest
from node.wire.refusals import refused
from node.wire.update_features import UpdateFeaturesRequest

_SHUTDOWN_MS = 1000  # to tell the voters of a resignation
_FAILED = 1  # what the process exits with


class Core:
    def __init__(
        self,
        *,
        config: NodeConfig,
        cluster_id: str,
        key: ReplicaKey,
        directory: UUID,
        voters: VoterHistory,
        election: ElectionState,
        log: LogView,
        rng: random.Random,
        bootstrap: Sequence[MetadataRecord],
        incarnation: UUID,
        apis: tuple[ApiRange, ...],
    ) -> None:
        self._apis = apis
        self._outbox = Outbox()
        self._parking = Parking(self._outbox, config.limits.connections)
        self._stop_by_ns = NEVER_NS
        self._is_stopped = False
        self._deadline_ns: int | None = None  # as of the last step; None: nobody asked yet
        self.raft = Raft(
            cluster_id=cluster_id,
            key=key,
            directory=directory,
            voters=voters,
            timeouts=config.timeouts,
            snapshots=config.snapshots,
            advertised=config.advertised,
            servers=config.bootstrap_servers,
            election=election,
            view=log,
            rng=rng,
            outbox=self._outbox,
            parking=self._parking,
        )
        self._key = key
        self._inner = config.advertised[0].name
        self._registrar = Registrar(
            own_registration(key.id, incarnation, config.advertised),
            config.timeouts.request_ms,
            self._outbox,
        )
        client = RaftClient(self.raft)
        self.controller = Controller(
            client,
            config,
            cluster_id,
            self._outbox,
            self._parking,
            bootstrap,
            self._registrar,
            random.Random(incarnation.int),
        )

    # --- events: each returns what is to be done, in order ---

    def start(self, now: Now) -> list[Output]:
        self.raft.elapse(now.mono_ns)
        self.controller.load()
        self.raft.start(now)
        self.controller.start(now)
        return self._finish(now)

    def on_request(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> list[Output]:
        self.raft.log.begin_step()
        response = self._handle(connection, listener, request, now)
        if response is not None:
            self._outbox.emit(Answer(connection=connection, response=response))
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
        if channel != REGISTRY_CHANNEL:
            self.raft.on_response(channel, correlation_id, response, now)
        elif isinstance(response, ControllerRegistrationResponse):
            self._registrar.on_response(correlation_id, response, now.mono_ns)
        return self._finish(now)

    def on_peer_disconnected(self, channel: ChannelId, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        if channel != REGISTRY_CHANNEL:
            self.raft.on_disconnected(channel, now)
        else:
            self._registrar.on_lost(now.mono_ns)
        return self._finish(now)

    def on_peer_garbled(self, channel: ChannelId, reason: str, now: Now) -> list[Output]:
        """What was answered over it is no message, or nobody asked for it."""
        self.raft.log.begin_step()
        if channel != REGISTRY_CHANNEL:
            self.raft.on_garbled(channel, reason, now)
        else:
            self._outbox.emit(DisconnectPeer(channel=channel))
            self._registrar.on_lost(now.mono_ns)
        return self._finish(now)

    def on_flushed(self, log: LogId, end: Offset, now: Now) -> list[Output]:
        assert log == METADATA_LOG, f"{log} was flushed, and is no log of this node"
        self.raft.log.begin_step()
        self.raft.on_flushed(end)
        return self._finish(now)

    def on_timeout(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self.raft.elapse(now.mono_ns)
        self.controller.on_timeout(now)
        return self._finish(now)

    def on_shutdown(self, now: Now) -> list[Output]:
        self.raft.log.begin_step()
        self._stop_by_ns = now.mono_ns
        if self.raft.resign_for_shutdown(now):
            self._stop_by_ns = now.mono_ns + _SHUTDOWN_MS * MS
        return self._finish(now)

    def gauges(self, mono_ns: int) -> dict[str, Gauge]:
        """What metrics tell of this moment."""
        return {**self.raft.gauges(mono_ns), **self.controller.gauges()}

    def next_deadline_ns(self) -> int:
        """Asked for more often than there are steps, and changed by steps only."""
        if self._deadline_ns is None:
            self._deadline_ns = min(
                self.raft.deadline_ns(),
                self.controller.deadline_ns(),
                self._registrar.deadline_ns(),
                self._stop_by_ns,
            )
        return self._deadline_ns

    # --- the end of every step ---

    def _finish(self, now: Now) -> list[Output]:
        """Do what is due."""
        self._deadline_ns = None
        self.raft.poll(now)
        self.controller.poll(now)
        is_wanted = self._registrar.is_wanted(self.controller.image)
        self._registrar.poll(self._active_controller() if is_wanted else None, now.mono_ns)
        outputs = self._outbox.drain()
        fault = self.raft.log.voters.fault
        if fault is not None:
            self._stop(outputs, _FAILED, str(fault))
        elif now.mono_ns >= self._stop_by_ns or self._may_stop():
            self._stop(outputs, 0, "shutdown")
        return outputs

    def _active_controller(self) -> Active | None:
        """Another node, to be reached; None once this one is to stop."""
        quorum = self.raft.quorum
        if self._stop_by_ns != NEVER_NS:
            return None
        leader = quorum.leader
        return active_controller(leader, self._key.id, quorum.epoch, quorum.leader_at())

    def _may_stop(self) -> bool:
        return self._stop_by_ns != NEVER_NS and self.raft.is_ready_to_stop()

    def _stop(self, outputs: list[Output], code: int, reason: str) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            outputs.append(Stop(code=code, reason=reason))

    # --- requests ---

    def _handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        assert not isinstance(request, DATA_REQUESTS), "only brokers serve it"
        match request:
            case ApiVersionsRequest(supported=supported):
                error = ErrorCode.NONE if supported else ErrorCode.UNSUPPORTED_VERSION
                return self._api_versions(error)
            case DescribeConfigsRequest() | ListReassignmentsRequest():
                return self.controller.read(connection, request, now)
            case DescribeClusterRequest():
                return self.raft.describe_cluster(
                    request, listener, self.controller.image.controller_endpoints()
                )
            case EnvelopeRequest():
                # It came by the wrong way, or with what is not served, or may not come so.
                return EnvelopeResponse(error=self._why_not_enveloped(listener))
            case (
                ControllerRegistrationRequest()
                | BrokerRegistrationRequest()
                | BrokerHeartbeatRequest()
                | AlterPartitionRequest()
                | AllocateProducerIdsRequest()
                | AssignDirectoriesRequest()
            ):
                if listener != self._inner:  # as of all that only nodes say (`raft.peers_only`)
                    return refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
                return self.controller.write(connection, request, now)
            case (
                AlterConfigsRequest()
                | CreateTopicsRequest()
                | CreatePartitionsRequest()
                | DeleteTopicsRequest()
                | AlterReassignmentsRequest()
                | ElectLeadersRequest()
                | UpdateFeaturesRequest()
                | UnregisterBrokerRequest()
            ):
                return self.controller.write(connection, request, now)
            case _:
                return self._handle_quorum(connection, listener, request, now)

    def takes_envelopes(self, listener: str) -> bool:
        """Only nodes hand on what others ask, and they come by the inner listener."""
        return listener == self._inner

    def _why_not_enveloped(self, listener: str) -> ErrorCode:
        if self.takes_envelopes(listener):
            return ErrorCode.UNSUPPORTED_VERSION
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    def _api_versions(self, error: ErrorCode) -> ApiVersionsResponse:
        """With the features that are finalized by all that is committed here."""
        levels = self.controller.image.feature_levels()
        if version := self.raft.log.voters.kraft_version:
            levels["kraft.version"] = version
        return ApiVersionsResponse(
            error=error,
            apis=self._apis,
            supported=SUPPORTED_FEATURES,
            finalized=tuple(sorted(levels.items())),
            features_at=self.controller.applied - 1,
        )

    def _handle_quorum(
        self, connection: ConnectionId, listener: str, request: QuorumRequest, now: Now
    ) -> Response | None:
        return self.raft.on_request(connection, listener, request, now)
