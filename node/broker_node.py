"""A node that is a broker: it observes the quorum, whose log it replays (`node.broker`)."""

from collections.abc import Callable

from node.broker.broker import Broker
from node.broker.image_follower import ImageFollower, MetadataFollower
from node.broker.replica_logs import ReplicaLogs
from node.config import BrokerRole, NodeConfig
from node.core import Core, Life
from node.endpoint import Endpoint
from node.node import Framing, Node
from node.outbox import Outbox
from node.parking import Parking
from node.raft.client import RaftClient
from node.raft.raft import Raft
from node.wire import broker_frames

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
    # It goes by the name of the controllers' listener; who observes is asked nothing there.
    observer = Endpoint(name=role.controller_listener, host=own.host, port=own.port)
    core = Core(config, life, (observer,), broker)
    return Node(core, framing, f"broker-{life.key.id}")


def brokers(config: NodeConfig, role: BrokerRole, life: Life, replicas: ReplicaLogs) -> MakeBroker:
    """Of this life, whoever follows the metadata log for it."""

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
