"""The broker on top of the quorum: it registers, keeps replicas, and serves clients and followers.

Each request has one method, which answers by its return value, or later through the outbox.
"""

from collections.abc import Mapping
from enum import StrEnum
from random import Random
from uuid import UUID

from node.broker.controller_link import CONTROLLER_CHANNEL, ControllerLink
from node.broker.coordinators.group_coordinator import GroupCoordinator
from node.broker.image_follower import MetadataFollower
from node.broker.lifecycle import DirectoryReports, Lifecycle, LifeTraces, Shutdown
from node.broker.replicas.fetchers import Fetchers
from node.broker.replicas.isr_changes import IsrChanges
from node.broker.replicas.logs import ReplicaLogs
from node.broker.replicas.manager import ReplicaManager
from node.broker.replicas.producers import ProducerExpiry
from node.broker.replicas.retention import Deletions, Retention
from node.broker.requests.descriptions import (
    describe,
    describe_cluster,
    describe_log_dirs,
    describe_partitions,
    live_brokers,
)
from node.broker.requests.fetch import FetchRequests
from node.broker.requests.forwarding import Forwarding, TopicAutocreation
from node.broker.requests.offsets import ends_of_epochs, list_offsets, replica_logs
from node.broker.requests.produce import ProduceRequests, ProducerIdSource
from node.config import BrokerRole, NodeConfig
from node.controller import reads
from node.effects import OpenListeners, SaveRecoveryPoints
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint, LogId, NodeId, Now, Offset
from node.outbox import Dirty, Outbox, Parking
from node.wire.api import ApiRange
from node.wire.apis import (
    BROKER_API_RANGES,
    BrokerRequest,
    GroupRequest,
    HandedOn,
    Request,
    Response,
)
from node.wire.configs import DescribeConfigsRequest
from node.wire.offsets import (
    DeleteRecordsRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ReplicaLogsRequest,
)
from node.wire.partition_fetch import PartitionsFetchRequest
from node.wire.produce import InitProducerIdRequest, ProduceRequest
from node.wire.topic_metadata import (
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)

# High watermarks and recovery points are saved at intervals, and at the end, if any has changed.
#
# High watermarks tell a restarted broker what was committed. Without them, while the ISR is below
# min.insync.replicas and no high watermark may move, it would show consumers nothing at all.
# Recovery points tell it, after an unclean shutdown, which part of a log need not be read.


_INTERVAL_NS = 5000 * MS  # replica.high.watermark.checkpoint.interval.ms


class Checkpoints:
    def __init__(self, replicas: ReplicaManager, role: BrokerRole, outbox: Outbox) -> None:
        self._replicas = replicas
        self._outbox = outbox
        self._recovery_ns = role.recovery_points_ms * MS
        self._watermarks_due_ns = 0
        self._recovery_due_ns: int | None = None

    def poll(self, mono_ns: int) -> None:
        if mono_ns >= self._watermarks_due_ns:
            self._watermarks_due_ns = mono_ns + _INTERVAL_NS
            self._replicas.save_high_watermarks()
        if self._recovery_due_ns is None:
            self._recovery_due_ns = mono_ns + self._recovery_ns
        elif mono_ns >= self._recovery_due_ns:
            self._recovery_due_ns = mono_ns + self._recovery_ns
            self._outbox.emit(SaveRecoveryPoints())

    def deadline_ns(self) -> int:
        return min(self._watermarks_due_ns, self._recovery_due_ns or 0)


class BrokerPart(StrEnum):
    """What a poll may leave alone while the broker serves records and nothing else happens."""

    LIFE = "registration, ISR changes, log directories, retention, expiry of producers"
    IMAGE = "the metadata image, as replicas, groups and directory reports know it"
    CONTROLLER = "what is asked of the controller or handed on to it, checkpoints, the shutdown"


_OF_RECORDS = (ProduceRequest, PartitionsFetchRequest)


class Broker:
    """A `node.core.ProcessRole`. `follower` is loaded, started and polled with it."""

    def __init__(
        self,
        follower: MetadataFollower,
        config: NodeConfig,
        role: BrokerRole,
        *,
        cluster_id: str,
        incarnation: UUID,
        logs: ReplicaLogs,
        outbox: Outbox,
        parking: Parking,
    ) -> None:
        me = config.node_id
        self._me = me
        self._own = config.own
        self._cluster_id = cluster_id
        self._outbox = outbox
        self._listener = role.advertised[0].name  # the listener by which brokers reach each other
        self._listeners = config.opened_later
        self._most_described = role.described_partitions
        self._is_open = False
        self._paths = dict(zip(logs.directories, config.log_dirs, strict=True))
        self.follower = follower
        self._link = ControllerLink(config.timeouts.request_ms, outbox)
        self.lifecycle = Lifecycle(
            me=me,
            cluster_id=cluster_id,
            incarnation=incarnation,
            listeners=role.advertised,
            directories=tuple(logs.directories),
            previous_epoch=logs.previous_epoch,
            role=role,
            link=self._link,
        )
        self._life = LifeTraces(self.lifecycle, logs.previous_epoch, outbox)
        self.replicas = ReplicaManager(me, logs, config.brokers, role, self.may_join, outbox)
        self._checkpoints = Checkpoints(self.replicas, role, outbox)
        self._shutdown = Shutdown(logs, self.replicas, self.lifecycle, self._life, outbox)
        self._changes = IsrChanges(me, self.replicas, self.lifecycle, self._link, role.lag_ms)
        self._reports = DirectoryReports(me, self.replicas, self.lifecycle, self._link)
        self._fetchers = Fetchers(me, self.replicas, self.lifecycle, role, outbox)
        self._produced = ProduceRequests(self.replicas, parking, outbox)
        sessions = Random(f"{incarnation}:sessions")
        self._fetched = FetchRequests(self.replicas, self._changes, parking, sessions)
        self._deletions = Deletions(self.replicas, parking)
        self._retention = Retention(self.replicas, role)
        self._expiry = ProducerExpiry(logs, role, outbox)
        self.groups = GroupCoordinator(
            config.groups,
            role.message_bytes,
            Random(f"{incarnation}:members"),
            self.replicas,
            self._link,
            parking,
        )
        self._autocreation = TopicAutocreation(
            config.brokers,
            self._link,
            self.groups.make_offsets_topic,
            is_allowed=role.auto_create,
        )
        self._producer_ids = ProducerIdSource(me, self.lifecycle, self._link, parking)
        self._forwarding = Forwarding(
            config.limits.request_max_bytes, role.controller_socket_ms, parking, outbox
        )
        self.dirty = Dirty(
            BrokerPart,
            {BrokerPart.LIFE: self._life_due_ns, BrokerPart.CONTROLLER: self._controller_due_ns},
        )
        self._heard: tuple[Offset, Endpoint | None] = Offset(-1), None  # from the metadata log
        self._live: Mapping[NodeId, Endpoint] = {}  # the brokers that are not fenced

    # --- requests ---

    def handle(
        self, connection: ConnectionId, listener: str, request: Request, now: Now
    ) -> Response | None:
        assert isinstance(request, BrokerRequest), f"{request} is not in the table of brokers"
        if not isinstance(request, _OF_RECORDS):
            self._touch()
        if isinstance(request, GroupRequest):
            image = self.follower.image
            return self.groups.handle(connection, listener, request, image, now)
        match request:
            case ProduceRequest():
                return self._produced.append(connection, request, now)
            case PartitionsFetchRequest():
                return self._fetched.fetch(connection, request, now.mono_ns)
            case DeleteRecordsRequest():
                image = self.follower.image
                return self._deletions.delete(connection, request, image, now.mono_ns)
            case ListOffsetsRequest():
                return list_offsets(self.replicas, request)
            case OffsetForLeaderEpochRequest():
                return ends_of_epochs(self.replicas, request)
            case ReplicaLogsRequest():
                return replica_logs(self.replicas, self.lifecycle.epoch, request, self._outbox)
            case MetadataRequest():
                image = self.follower.image
                told = describe(image, request, self._cluster_id, self._me, listener)
                self._autocreation.make_missing(request, told)
                return told
            case DescribeClusterRequest():
                image = self.follower.image
                return describe_cluster(image, request, self._cluster_id, self._me, listener)
            case DescribeTopicPartitionsRequest():
                image = self.follower.image
                live = live_brokers(image, listener).keys()
                return describe_partitions(image, request, live, self._most_described)
            case DescribeLogDirsRequest():
                return describe_log_dirs(self.replicas, self._paths, request)
            case DescribeConfigsRequest():
                return reads.response_to(self.follower.image, request, self._own)
            case HandedOn():
                return self._forwarding.take(connection, request, now.mono_ns)
            case InitProducerIdRequest():
                return self._producer_ids.take(connection, request, now.mono_ns)

    def refusal_reason(self, listener: str) -> str:  # noqa: ARG002 - they are all alike
        """Until it has replayed its registration, the broker serves no client (`BrokerServer` opens
        no listener before): a client that gets an answer sees this life, and not what the metadata
        log still says of the last one, by which the broker is unfenced and in sync.
        """
        if self._shutdown.is_let_go:
            return "it shuts down"
        return "" if self.lifecycle.is_caught_up else "it starts, and is not registered yet"

    # --- what is due ---

    def load(self) -> None:
        self.follower.load()

    def start(self, now: Now) -> None:
        self.follower.start(now)

    def poll(self, now: Now) -> None:
        self.replicas.trace_reindexed()
        self.replicas.trace()  # by the image that it knew until now
        controller = self.follower.leader_at()
        self.follower.poll(now)
        self._hear(self.follower.applied, controller)
        dirty, mono_ns = self.dirty, now.mono_ns
        if dirty.take(BrokerPart.LIFE, mono_ns):
            self._go_on_living(now)
        if not self._shutdown.is_let_go:
            self._fetchers.poll(self._live, mono_ns)
        if self.replicas.moved or mono_ns >= self._waiting_until_ns():
            self.replicas.trace()
            moved = self.replicas.take_moved()
            if not self._shutdown.is_let_go:
                self.groups.poll(self.follower.image, now)
                self.replicas.trace()
            self._produced.poll(moved, mono_ns)
            self._fetched.poll(moved, mono_ns)
            self._deletions.poll(mono_ns)
        self.replicas.end_step(self._fetched.is_awaited)
        self.replicas.raise_starts()
        self._changes.send()
        if self._link.is_wanted:
            dirty.mark(BrokerPart.CONTROLLER)
        if dirty.take(BrokerPart.CONTROLLER, mono_ns):
            self._checkpoints.poll(mono_ns)
            if self._link.poll(controller, mono_ns):
                dirty.mark(BrokerPart.LIFE)
            self._producer_ids.poll(mono_ns)
            self._forwarding.poll(controller, mono_ns)
            self._shutdown.poll(mono_ns)

    def _touch(self) -> None:
        """Something other than records came: what follows from it shows in what is next due."""
        self.dirty.mark(BrokerPart.LIFE)
        self.dirty.mark(BrokerPart.CONTROLLER)

    def _hear(self, applied: Offset, controller: Endpoint | None) -> None:
        heard = applied, controller
        if heard != self._heard:
            if applied != self._heard[0]:
                self.dirty.mark(BrokerPart.IMAGE)
                self._live = live_brokers(self.follower.image, self._listener)
            self._heard = heard
            self._touch()

    def _go_on_living(self, now: Now) -> None:
        mono_ns = now.mono_ns
        if self._may_follow():
            is_news = self.dirty.take(BrokerPart.IMAGE, mono_ns)
            if is_news:
                self.replicas.follow(self.follower.image, mono_ns)
            if self.replicas.go_on(mono_ns) or is_news:
                self._reports.follow(self.follower.image)
                self.groups.follow(self.follower.image, now)
        self.lifecycle.poll(self.applied, mono_ns)
        if self.lifecycle.is_caught_up and not self._is_open:
            self._is_open = True
            self._outbox.emit(OpenListeners(names=self._listeners))
        if not self.is_ended:
            self._life.poll()
        self._changes.poll(mono_ns)
        self._reports.poll(mono_ns)
        if not self._shutdown.is_let_go:
            self._retention.poll(self.follower.image, now)
            self._expiry.poll(now)

    def _may_follow(self) -> bool:
        """False before the broker has replayed its own registration, or if it is to shut down
        before that.

        What the log says of the time before the registration belongs to an earlier life. A broker
        that led by it, in an epoch that its last life led, would truncate followers to what the
        power cut left of its log. Once the registration is replayed, it leads nothing
        (`BrokerServer` publishes no metadata before).
        """
        return not self._shutdown.is_let_go and self.lifecycle.is_caught_up

    def may_join(self, broker: int, epoch: int) -> bool:
        """Is it active, in that broker epoch (-1: in any), as far as this broker knows?"""
        brokers = self.follower.image.brokers
        found = brokers.find(broker)
        is_known = found is not None and epoch in (-1, found.broker_epoch)
        return is_known and brokers.is_active(broker)

    def on_timeout(self, now: Now) -> None:
        if self._shutdown.is_let_go:
            self._touch()
            self._shutdown.go_on(now.mono_ns)
        else:
            self._produced.go_on(now)

    def deadline_ns(self) -> int:
        """At once if something moved that waiting requests have not looked at yet: what was
        appended in this step, they read in the next.
        """
        if self.replicas.moved:
            return 0
        return min(
            self.follower.deadline_ns(),
            self._fetchers.deadline_ns(),
            self._waiting_until_ns(),
            self.dirty.due_ns(BrokerPart.LIFE),
            self.dirty.due_ns(BrokerPart.CONTROLLER),
        )

    def _life_due_ns(self) -> int:
        is_unfinished = self.replicas.is_unfinished and self._may_follow()
        return min(
            0 if is_unfinished else NEVER_NS,
            self.lifecycle.deadline_ns(),
            self._changes.deadline_ns(),
            self._reports.deadline_ns(),
            self._retention.deadline_ns(),
            self._expiry.deadline_ns(),
        )

    def _controller_due_ns(self) -> int:
        return min(
            self._checkpoints.deadline_ns(),
            self._link.deadline_ns(),
            self._producer_ids.deadline_ns(),
            self._forwarding.deadline_ns(),
            self._shutdown.deadline_ns(),
        )

    def _waiting_until_ns(self) -> int:
        fetched_ns, deleted_ns = self._fetched.deadline_ns(), self._deletions.deadline_ns()
        if self._shutdown.is_let_go:  # nothing is appended any more
            return min(fetched_ns, deleted_ns)
        produced_ns, groups_ns = self._produced.deadline_ns(), self.groups.deadline_ns()
        return min(produced_ns, groups_ns, fetched_ns, deleted_ns)

    # --- what others answer ---

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        if channel == CONTROLLER_CHANNEL:
            self._touch()
            self._link.on_response(correlation_id, response, mono_ns)
        elif Forwarding.serves(channel):
            self._touch()
            self._forwarding.on_response(channel, correlation_id, response, mono_ns)
        elif not self._shutdown.is_let_go:
            self._fetchers.on_response(channel, correlation_id, response, mono_ns)

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        self._touch()
        if channel == CONTROLLER_CHANNEL:
            self._link.on_lost(mono_ns)
        elif Forwarding.serves(channel):
            self._forwarding.on_lost(channel, mono_ns)
        else:
            self._fetchers.on_lost(channel, mono_ns)

    # --- its state ---

    @property
    def applied(self) -> Offset:
        return self.follower.applied

    def feature_levels(self) -> dict[str, int]:
        return self.follower.image.feature_levels()

    def gauges(self) -> Mapping[str, int]:
        return {}

    def apis(self, listener: str) -> tuple[ApiRange, ...]:  # noqa: ARG002 - they are all alike
        return BROKER_API_RANGES

    def takes_envelopes(self, listener: str) -> bool:  # noqa: ARG002 - they are for controllers
        return False

    # --- its end ---

    def begin_shutdown(self, now: Now) -> None:
        self._touch()
        self._shutdown.begin(now.mono_ns)

    @property
    def is_ended(self) -> bool:
        return self._shutdown.is_over

    def on_flushed(self, log: LogId) -> None:
        self._touch()
        self._shutdown.on_flushed(log)
