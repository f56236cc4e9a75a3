"""A node that is a broker, and one that is also a controller (Kafka's `process.roles` with both).

A combined node has one quorum, and one image of its log: the controller replays it, and the broker
reads it there, so it sees only committed state. They share nothing else. Each has its own listeners
and API table, and the broker's requests to the active controller go over a connection to that
controller's listener, even in the same process.

The broker shuts down first, then the controller, as in Kafka: while the broker waits for its
controlled shutdown, and flushes its logs, this node keeps voting and leading, for it may be the
active controller that grants the shutdown.
"""

from collections.abc import Callable, Mapping, Sequence

from node import wire
from node.broker.broker import Broker
from node.broker.image_follower import ImageFollower, MetadataFollower
from node.broker.replica_logs import ReplicaLogs
from node.config import BrokerRole, NodeConfig
from node.controller.controller import Controller
from node.controller.registration import REGISTRY_CHANNEL
from node.controller.unclean_recovery import is_of_recovery
from node.controller_node import ControllerRole
from node.core import Core, Life, ProcessRole
from node.ids import ChannelId, ConnectionId, Endpoint, LogId, Now, Offset
from node.node import Framing, Node
from node.outbox import Outbox, Parking
from node.raft.client import RaftClient
from node.raft.descriptions import Gauge
from node.raft.raft import Raft
from node.records.metadata import MetadataRecord
from node.wire import broker_frames
from node.wire.api import ApiRange
from node.wire.apis import Request, Response

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
