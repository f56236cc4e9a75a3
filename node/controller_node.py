"""A node that is a controller: its role on top of the quorum.

It serves requests for the quorum and the active controller, each on the permitted listeners;
registers itself; and hands over its leadership before it stops.
"""

import random
from collections.abc import Mapping, Sequence
from functools import partial

from node import wire
from node.config import NodeConfig
from node.controller.controller import Controller
from node.controller.image import Image, endpoints_of
from node.controller.registration import (
    Active,
    Registrar,
    active_controller,
    own_registration,
)
from node.controller.unclean_recovery import is_of_recovery
from node.core import Core, Life
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint, LogId, NodeId, Now, Offset
from node.node import Framing, Node
from node.outbox import Outbox, Parking
from node.raft.client import RaftClient
from node.raft.descriptions import Gauge
from node.raft.raft import QuorumRequest, Raft
from node.records.metadata import CONTROLLER_REGISTRATIONS, MetadataRecord
from node.wire import API_RANGES
from node.wire.alter_partition import AlterPartitionRequest, AssignDirectoriesRequest
from node.wire.api import ApiRange
from node.wire.api_versions import ApiVersionsRequest, UpdateFeaturesRequest
from node.wire.apis import DataRequest, Request, Response
from node.wire.configs import AlterConfigsRequest, DescribeConfigsRequest, ReplaceConfigsRequest
from node.wire.envelope import EnvelopeRequest, EnvelopeResponse
from node.wire.offsets import ReplicaLogsResponse
from node.wire.produce import AllocateProducerIdsRequest
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    ElectLeadersRequest,
    ListReassignmentsRequest,
)
from node.wire.refusals import refused
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    UnregisterBrokerRequest,
)
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from node.wire.topic_metadata import DescribeClusterRequest

_SHUTDOWN_MS = 1000  # for voters to acknowledge a resignation


class ControllerRole:
    """A `ProcessRole`. `bootstrap`: the first records that a leader writes into an empty log."""

    def __init__(
        self,
        raft: Raft,
        outbox: Outbox,
        parking: Parking,
        *,
        config: NodeConfig,
        life: Life,
        bootstrap: Sequence[MetadataRecord],
    ) -> None:
        self.is_ended = False
        self._raft = raft
        self._me = life.key.id
        self._inner = config.advertised[0].name
        self._stop_by_ns = NEVER_NS
        self._registrar = Registrar(
            own_registration(self._me, life.incarnation, config.advertised),
            config.timeouts.request_ms,
            outbox,
        )
        self._client = RaftClient(raft)
        raft.tell_registered(self)
        self.controller = Controller(
            self._client,
            config,
            life.cluster_id,
            outbox,
            parking,
            bootstrap,
            self._registrar,
            random.Random(life.incarnation.int),
        )

    # --- start and stop ---

    def load(self) -> None:
        self.controller.load()

    def start(self, now: Now) -> None:
        self.controller.start(now)

    def begin_shutdown(self, now: Now) -> None:
        self._stop_by_ns = now.mono_ns
        if self._raft.resign_for_shutdown(now):
            self._stop_by_ns = now.mono_ns + _SHUTDOWN_MS * MS

    # --- timers ---

    def poll(self, now: Now) -> None:
        controller = self.controller
        controller.poll(now)
        registrar = self._registrar
        if registrar.is_wanted(controller.image, is_voter=self._raft.quorum.is_voter):
            registrar.poll(self._active_controller(), now.mono_ns)
        elif registrar.is_talking:
            registrar.poll(None, now.mono_ns)
        if self._stop_by_ns != NEVER_NS:
            is_late = now.mono_ns >= self._stop_by_ns
            self.is_ended = is_late or self._raft.is_ready_to_stop()

    def on_timeout(self, now: Now) -> None:
        self.controller.on_timeout(now)

    def deadline_ns(self) -> int:
        return min(self.controller.deadline_ns(), self._registrar.deadline_ns(), self._stop_by_ns)

    def leader_at(self) -> Endpoint | None:
        """Where the active controller is, as far as known; it may be this node."""
        return self._client.leader_at()

    def _active_controller(self) -> Active | None:
        """Another node, if reachable; None once this one is to stop."""
        if self._stop_by_ns != NEVER_NS:
            return None
        quorum = self._raft.quorum
        return active_controller(quorum.leader, self._me, quorum.epoch, quorum.leader_at())

    # --- responses and flushes ---

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        if isinstance(response, ReplicaLogsResponse):
            self.controller.on_log_infos(channel, correlation_id, response, mono_ns)
        elif isinstance(response, ControllerRegistrationResponse):
            self._registrar.on_response(correlation_id, response, mono_ns)

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        if is_of_recovery(channel):
            self.controller.on_broker_lost(channel, mono_ns)
        else:
            self._registrar.on_lost(mono_ns)

    def on_flushed(self, log: LogId) -> None:
        raise AssertionError(f"{log} was flushed, and is no log of this node")

    # --- reported state ---

    @property
    def image(self) -> Image:
        return self.controller.image

    @property
    def applied(self) -> Offset:
        return self.controller.applied

    def feature_levels(self) -> dict[str, int]:
        return self.controller.image.feature_levels()

    def gauges(self) -> Mapping[str, Gauge]:
        return self.controller.gauges()

    # --- registrations (`node.raft.replicas.Registered`) ---

    def knows(self, node: NodeId) -> bool:
        image = self.controller.image
        return node in image.controllers or image.brokers.find(node) is not None

    def is_broker_alone(self, node: NodeId) -> bool:
        image = self.controller.image
        can_say = image.metadata_version >= CONTROLLER_REGISTRATIONS
        return can_say and node not in image.controllers and self.knows(node)

    def controller_at(self, node: NodeId) -> tuple[Endpoint, ...]:
        record = self.controller.image.controllers.get(node)
        return () if record is None else endpoints_of(record)

    # --- requests ---

    def handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        if isinstance(request, QuorumRequest):
            return self._raft.on_request(connection, listener, request, now)
        match request:
            case DescribeConfigsRequest() | ListReassignmentsRequest():
                return self.controller.read(connection, request, now)
            case DescribeClusterRequest():
                return self._raft.describe_cluster(
                    request, listener, self.controller.image.controller_endpoints()
                )
            case EnvelopeRequest():
                # An envelope on the wrong listener, unreadable, or not forwardable.
                return EnvelopeResponse(error=self._why_not_enveloped(listener))
            case (
                ControllerRegistrationRequest()
                | BrokerRegistrationRequest()
                | BrokerHeartbeatRequest()
                | AlterPartitionRequest()
                | AllocateProducerIdsRequest()
                | AssignDirectoriesRequest()
            ):
                if listener != self._inner:  # restricted to nodes, as in `node.raft.common`
                    return refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
                return self.controller.write(connection, request, now)
            case (
                AlterConfigsRequest()
                | ReplaceConfigsRequest()
                | CreateTopicsRequest()
                | CreatePartitionsRequest()
                | DeleteTopicsRequest()
                | AlterReassignmentsRequest()
                | ElectLeadersRequest()
                | UpdateFeaturesRequest()
                | UnregisterBrokerRequest()
            ):
                return self.controller.write(connection, request, now)
            case ApiVersionsRequest():
                raise AssertionError("every role answers it alike (`Core`)")
            case _:
                raise _only_brokers_serve(request)

    def refusal_reason(self, listener: str) -> str:  # noqa: ARG002 - they are all alike
        return ""

    def apis(self, listener: str) -> tuple[ApiRange, ...]:  # noqa: ARG002 - they are all alike
        return API_RANGES

    def takes_envelopes(self, listener: str) -> bool:
        """Only nodes forward clients' requests, over the inner listener."""
        return listener == self._inner

    def _why_not_enveloped(self, listener: str) -> ErrorCode:
        if self.takes_envelopes(listener):
            return ErrorCode.UNSUPPORTED_VERSION
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _only_brokers_serve(request: DataRequest) -> AssertionError:
    """All that is left: mypy refuses the call if a request of controllers has no case."""
    return AssertionError(f"only brokers serve {request}")


ControllerNode = Node[ControllerRole]


def controller_core(
    config: NodeConfig, life: Life, bootstrap: Sequence[MetadataRecord]
) -> Core[ControllerRole]:
    """`bootstrap`: the first records that a leader writes into an empty log."""
    role = partial(ControllerRole, config=config, life=life, bootstrap=bootstrap)
    return Core(config, life, config.advertised, role)


def controller_node(
    config: NodeConfig,
    life: Life,
    bootstrap: Sequence[MetadataRecord],
    framing: Framing = wire,
) -> ControllerNode:
    """The same on frames."""
    core = controller_core(config, life, bootstrap)
    return Node(core, framing, f"raft-client-{life.key.id}")
