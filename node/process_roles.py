"""What a node is in its process (Kafka's `process.roles`): controller, broker, or both.

A controller serves requests for the quorum and the active controller, each on the permitted
listeners; registers itself; and hands over its leadership before it stops.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from node import wire
from node.broker.broker import Broker
from node.broker.image_follower import ImageFollower, MetadataFollower
from node.broker.replicas.logs import ReplicaLogs
from node.config import BrokerRole, NodeConfig
from node.controller.controller import Controller
from node.controller.image import Image, endpoints_of
from node.controller.partitions.unclean_recovery import is_of_recovery
from node.controller.registration import (
    REGISTRY_CHANNEL,
    Active,
    Registrar,
    active_controller,
    own_registration,
)
from node.core import Core, Life, ProcessRole
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint, LogId, NodeId, Now, Offset
from node.node import Framing, Node
from node.outbox import Outbox, Parking
from node.raft.client import RaftClient
from node.raft.descriptions import Gauge
from node.raft.raft import QuorumRequest, Raft
from node.records.metadata import CONTROLLER_REGISTRATIONS, MetadataRecord
from node.wire import API_RANGES, broker_frames
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


# A node that is a broker, and one that is also a controller (Kafka's `process.roles` with both).
#
# A combined node has one quorum, and one image of its log: the controller replays it, and the
# broker reads it there, so it sees only committed state. They share nothing else. Each has its own
# listeners and API table, and the broker's requests to the active controller go over a connection
# to that controller's listener, even in the same process.
#
# The broker shuts down first, then the controller, as in Kafka: while the broker waits for its
# controlled shutdown, and flushes its logs, this node keeps voting and leading, for it may be the
# active controller that grants the shutdown.


# A node that is a broker: it observes the quorum and replays its log (`node.broker`).


BrokerNode = Node[Broker]
MakeBroker = Callable[[MetadataFollower, Outbox, Parking], Broker]


def broker_node(
    config: NodeConfig,
    role: BrokerRole,
    life: Life,
    *,
    replicas: ReplicaLogs,
    framing: Framing = broker_frames,
) -> BrokerNode:
    """`replicas`: the logs on its disks."""
    make = brokers(config, role, life, replicas)

    def broker(raft: Raft, outbox: Outbox, parking: Parking) -> Broker:
        follower = ImageFollower(RaftClient(raft), config.snapshots, outbox)
        return make(follower, outbox, parking)

    own = role.advertised[0]
    # Named like the controllers' listener, on which an observer serves no requests.
    observer = Endpoint(name=role.controller_listener, host=own.host, port=own.port)
    core = Core(config, life, (observer,), broker)
    return Node(core, framing, f"broker-{life.key.id}")


def brokers(config: NodeConfig, role: BrokerRole, life: Life, replicas: ReplicaLogs) -> MakeBroker:
    """The broker of this life, with the follower of the metadata log that it reads."""

    def make(follower: MetadataFollower, outbox: Outbox, parking: Parking) -> Broker:
        return Broker(
            follower,
            config,
            role,
            cluster_id=life.cluster_id,
            incarnation=life.incarnation,
            logs=replicas,
            outbox=outbox,
            parking=parking,
        )

    return make


class CombinedRole:
    """A `ProcessRole` made of two; the broker follows the controller, which it loads, starts and
    polls. `of_broker`: the listeners of the broker."""

    def __init__(
        self, controlling: ControllerRole, broker: Broker, of_broker: frozenset[str]
    ) -> None:
        self.broker = broker
        self._controlling = controlling
        self._of_broker = of_broker
        self._is_broker_over = False  # the broker ended, and the controller's shutdown began

    @property
    def controller(self) -> Controller:
        return self._controlling.controller

    # --- start and stop ---

    def load(self) -> None:
        self.broker.load()

    def start(self, now: Now) -> None:
        self.broker.start(now)

    def begin_shutdown(self, now: Now) -> None:
        self.broker.begin_shutdown(now)

    @property
    def is_ended(self) -> bool:
        return self._controlling.is_ended

    # --- timers ---

    def poll(self, now: Now) -> None:
        if not self.broker.is_ended:
            self.broker.poll(now)
        if self.broker.is_ended:
            self._go_on_without_broker(now)

    def _go_on_without_broker(self, now: Now) -> None:
        if not self._is_broker_over:
            self._is_broker_over = True
            self._controlling.begin_shutdown(now)
        self._controlling.poll(now)

    def on_timeout(self, now: Now) -> None:
        self._controlling.on_timeout(now)
        if not self._is_broker_over:
            self.broker.on_timeout(now)

    def deadline_ns(self) -> int:
        part: ProcessRole = self._controlling if self._is_broker_over else self.broker
        return part.deadline_ns()

    # --- responses and flushes ---

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        self._that_uses(channel).on_response(channel, correlation_id, response, mono_ns)

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        self._that_uses(channel).on_lost(channel, mono_ns)

    def on_flushed(self, log: LogId) -> None:
        self.broker.on_flushed(log)

    def _that_uses(self, channel: ChannelId) -> ProcessRole:
        is_of_controller = channel == REGISTRY_CHANNEL or is_of_recovery(channel)
        return self._controlling if is_of_controller else self.broker

    # --- reported state ---

    @property
    def applied(self) -> Offset:
        return self._controlling.applied

    def feature_levels(self) -> dict[str, int]:
        return self._controlling.feature_levels()

    def gauges(self) -> Mapping[str, Gauge]:
        return {**self._controlling.gauges(), **self.broker.gauges()}

    # --- requests ---

    def handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        return self._that_serves(listener).handle(connection, listener, request, now)

    def refusal_reason(self, listener: str) -> str:
        return self._that_serves(listener).refusal_reason(listener)

    def apis(self, listener: str) -> tuple[ApiRange, ...]:
        return self._that_serves(listener).apis(listener)

    def takes_envelopes(self, listener: str) -> bool:
        return self._that_serves(listener).takes_envelopes(listener)

    def _that_serves(self, listener: str) -> ProcessRole:
        return self.broker if listener in self._of_broker else self._controlling


CombinedNode = Node[CombinedRole]


def combined_node(
    config: NodeConfig,
    role: BrokerRole,
    life: Life,
    bootstrap: Sequence[MetadataRecord],
    *,
    replicas: ReplicaLogs,
    framing: Framing = wire,
    broker_framing: Framing = broker_frames,
) -> CombinedNode:
    """Built as `controller_node` and `broker_node` are; `framing` is the controllers'."""
    of_broker = frozenset(at.name for at in role.advertised)
    make = brokers(config, role, life, replicas)

    def both(raft: Raft, outbox: Outbox, parking: Parking) -> CombinedRole:
        controlling = ControllerRole(
            raft, outbox, parking, config=config, life=life, bootstrap=bootstrap
        )
        broker = make(controlling, outbox, parking)
        return CombinedRole(controlling, broker, of_broker)

    core = Core(config, life, config.advertised, both)
    others = dict.fromkeys(of_broker, broker_framing)
    return Node(core, framing, f"raft-client-{life.key.id}", others)
