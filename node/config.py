"""The node's settings, with Kafka's names and defaults (QuorumConfig, MetadataLogConfig)."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from node.ids import NO_NODE, Endpoint, NodeId
from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumTimeouts:
    """All in milliseconds."""

    election_ms: int = 1000  # controller.quorum.election.timeout.ms
    fetch_ms: int = 2000  # controller.quorum.fetch.timeout.ms
    election_backoff_max_ms: int = 1000  # controller.quorum.election.backoff.max.ms
    append_linger_ms: int = 25  # controller.quorum.append.linger.ms
    request_ms: int = 2000  # controller.quorum.request.timeout.ms
    retry_backoff_ms: int = 20  # controller.quorum.retry.backoff.ms
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 1024 * 1024
    idle_interval_ms: int = 500  # metadata.max.idle.interval.ms


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSettings:
    """When the metadata log gets a snapshot, and how many old snapshots are kept."""

    record_bytes: int = 20 * 1024 * 1024  # metadata.log.max.record.bytes.between.snapshots
    interval_ms: int = 3_600_000  # metadata.log.max.snapshot.interval.ms; 0: never by time
    retention_bytes: int = 100 * 1024 * 1024  # metadata.max.retention.bytes
    retention_ms: int = 604_800_000  # metadata.max.retention.ms
    fetch_max_bytes: int = 1024 * 1024  # controller.quorum.fetch.snapshot.max.bytes


class RecoveryStrategy(StrEnum):
    """What is done about a partition that no replica may lead without a loss (KIP-966, "Unclean
    recovery")."""

    AGGRESSIVE = "Aggressive"  # the best of the replicas that are there, at once
    BALANCED = "Balanced"  # the best, once all are back that may have everything
    NONE = "None"  # nothing: an operator decides


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """What a controller needs to know of brokers, and defaults of topics."""

    session_ms: int = 9000  # broker.session.timeout.ms
    partitions: int = 1  # num.partitions
    replication: int = 1  # default.replication.factor
    min_isr: int = 1  # min.insync.replicas
    unclean: bool = False  # unclean.leader.election.enable
    unclean_retry_ms: int = 300_000  # unclean.leader.election.interval.ms
    preferred_check_s: int = 300  # leader.imbalance.check.interval.seconds
    recovery_manager: bool = False  # unclean.recovery.manager.enabled
    # unclean.recovery.strategy; None: as unclean.leader.election.enable says (KIP-966)
    recovery_strategy: RecoveryStrategy | None = None
    recovery_ms: int = 300_000  # unclean.recovery.timeout.ms


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRole:
    """The configuration of a broker role. `controller_listener` is the name of the controllers' own
    listener, by which it reaches them. `advertised` is by listener name; other brokers use the
    first one; otherwise they are all alike."""

    controller_listener: str
    advertised: tuple[Endpoint, ...]
    auto_create: bool = True  # auto.create.topics.enable
    heartbeat_ms: int = 2000  # broker.heartbeat.interval.ms
    lag_ms: int = 30_000  # replica.lag.time.max.ms
    fetch_wait_ms: int = 500  # replica.fetch.wait.max.ms
    fetch_bytes: int = 1024 * 1024  # replica.fetch.max.bytes
    fetch_backoff_ms: int = 1000  # replica.fetch.backoff.ms
    socket_ms: int = 30_000  # replica.socket.timeout.ms
    # controller.socket.timeout.ms: for forwarded requests; the broker's own requests are short
    controller_socket_ms: int = 30_000
    segment_bytes: int = 1024 * 1024 * 1024  # log.segment.bytes
    segment_ms: int = 604_800_000  # log.roll.ms, or log.roll.hours
    flush_messages: int = 2**63 - 1  # log.flush.interval.messages
    recovery_points_ms: int = 60_000  # log.flush.offset.checkpoint.interval.ms
    index_interval: int = 4096  # log.index.interval.bytes
    message_bytes: int = 1024 * 1024 + 12  # message.max.bytes
    takes_append_time: bool = False  # log.message.timestamp.type=LogAppendTime
    before_max_ms: int = 2**63 - 1  # log.message.timestamp.before.max.ms
    after_max_ms: int = 3_600_000  # log.message.timestamp.after.max.ms
    retention_ms: int = 604_800_000  # log.retention.ms, or .minutes, or .hours
    retention_bytes: int = -1  # log.retention.bytes
    retention_check_ms: int = 300_000  # log.retention.check.interval.ms
    retention_delay_ms: int = 30_000  # log.initial.task.delay.ms
    producer_silent_ms: int = 86_400_000  # producer.id.expiration.ms
    producer_check_ms: int = 600_000  # producer.id.expiration.check.interval.ms
    described_partitions: int = 2000  # max.request.partition.size.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """The configuration of a group coordinator."""

    topic_partitions: int = 50  # offsets.topic.num.partitions
    topic_replication: int = 3  # offsets.topic.replication.factor
    topic_segment_bytes: int = 100 * 1024 * 1024  # offsets.topic.segment.bytes
    metadata_bytes: int = 4096  # offset.metadata.max.bytes
    retention_minutes: int = 10_080  # offsets.retention.minutes
    retention_check_ms: int = 600_000  # offsets.retention.check.interval.ms
    commit_timeout_ms: int = 5000  # offsets.commit.timeout.ms
    session_min_ms: int = 6000  # group.min.session.timeout.ms
    session_max_ms: int = 1_800_000  # group.max.session.timeout.ms
    first_delay_ms: int = 3000  # group.initial.rebalance.delay.ms
    members: int = 1000  # group.max.size; Kafka's default is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits of clients: SocketServerConfigs, scaled to a controller. Brokers accept requests as
    large as Kafka's do (`OF_BROKERS`)."""

    connections: int = 1000  # max.connections
    connections_per_ip: int = 2**31 - 1  # max.connections.per.ip
    idle_ms: int = 600_000  # connections.max.idle.ms
    request_max_bytes: int = 1024 * 1024  # socket.request.max.bytes
    queued_max_bytes: int = 64 * 1024 * 1024  # queued.max.request.bytes


OF_BROKERS = ConnectionLimits(request_max_bytes=104_857_600, queued_max_bytes=104_857_600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What a node describes of itself: its identity, and the keys of its configuration file."""

    node: NodeId = NO_NODE
    started_with: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """One node: its identity, where it listens, how others reach it. A broker, if it has a `role`.

    `advertised` is of a controller, by listener name; the first one is the controllers' own (inner)
    listener, by which other voters reach this node. A broker that is no controller has none.
    """

    node_id: NodeId
    log_dirs: tuple[str, ...]  # at least one; a controller uses only one
    listeners: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    metadata_log_dir: str | None = None  # metadata.log.dir, if set
    metrics: Endpoint | None = None  # where Prometheus scrapes; None: no metrics
    bootstrap_servers: tuple[Endpoint, ...] = ()  # controller.quorum.bootstrap.servers
    # controller.quorum.voters (KIP-856); empty if the disk names the voters (KIP-853)
    quorum_voters: Mapping[NodeId, tuple[Endpoint, ...]] = field(default_factory=dict)
    timeouts: QuorumTimeouts = QuorumTimeouts()
    limits: ConnectionLimits = ConnectionLimits()
    snapshots: SnapshotSettings = SnapshotSettings()
    brokers: BrokerSettings = BrokerSettings()
    groups: GroupSettings = GroupSettings()
    role: BrokerRole | None = None
    segment_bytes: int = 1024 * 1024 * 1024  # metadata.log.segment.bytes
    # The raw keys of the file; the fields above hold their meaning.
    started_with: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def log_dir(self) -> str:
        """Directory of the metadata log."""
        return self.log_dirs[0] if self.metadata_log_dir is None else self.metadata_log_dir

    @property
    def directories(self) -> tuple[str, ...]:
        """All log directories, each once."""
        return tuple(dict.fromkeys((self.log_dir, *self.log_dirs)))

    @property
    def own(self) -> Own:
        return Own(node=self.node_id, started_with=self.started_with)

    @property
    def is_controller(self) -> bool:
        return bool(self.advertised)

    @property
    def controller_listener(self) -> str:
        """The listener of controllers, this one or others."""
        return self.advertised[0].name if self.role is None else self.role.controller_listener

    @property
    def opened_later(self) -> frozenset[str]:
        """Listeners opened at the node's own request (`node.effects.OpenListeners`)."""
        return frozenset(() if self.role is None else (at.name for at in self.role.advertised))

    @property
    def inner_listeners(self) -> frozenset[str]:
        """The listeners by which other nodes reach this one, in each of its roles, if clients use
        others: those of brokers are often the same."""
        of_broker = () if self.role is None else self.role.advertised
        of_broker = of_broker[:1] if len(of_broker) > 1 else ()
        return frozenset(at.name for at in (*self.advertised[:1], *of_broker))
