"""A broker's lifecycle: registration, heartbeats, clean shutdown, and directory assignments.

This section is the life that the controller sees (KIP-631, KIP-841, KIP-966;
`BrokerLifecycleManager`). The broker registers, with the epoch of its last life if that shut down
cleanly, and is fenced. Then it sends heartbeats: it wants to stay fenced until it has replayed its
own registration, then to be unfenced, and at its end to shut down, which is granted once it leads
nothing.
"""

from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from itertools import islice
from uuid import UUID

from node.broker.controller_link import ControllerLink
from node.broker.replicas.logs import Pace, ReplicaLogs
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.config import BrokerRole
from node.controller.image import Image
from node.effects import FlushLog, SaveCleanShutdown
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_BROKER_EPOCH, Endpoint, LogId, NodeId, Offset
from node.limits import MAX_ELEMENTS
from node.outbox import Outbox
from node.records.metadata import DIRECTORIES
from node.wire.alter_partition import AssignDirectoriesRequest, AssignedReplica
from node.wire.api_versions import SUPPORTED_FEATURES
from node.wire.apis import Response
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
    RegisteredListener,
)

_RETRY_NS = 100 * MS
_CATCHING_UP_NS = 20 * MS  # between heartbeats until it is unfenced


class LifeState(IntEnum):
    """Kafka's numbers (BrokerState)."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class Lifecycle:
    def __init__(
        self,
        *,
        me: NodeId,
        cluster_id: str,
        incarnation: UUID,
        listeners: tuple[Endpoint, ...],
        directories: tuple[UUID, ...],
        previous_epoch: int,
        role: BrokerRole,
        link: ControllerLink,
    ) -> None:
        self._me = me
        self._registration = BrokerRegistrationRequest(
            broker=me,
            cluster_id=cluster_id,
            incarnation=incarnation,
            listeners=tuple(RegisteredListener(endpoint=at) for at in listeners),
            features=tuple(
                FeatureRange(name=name, lowest=low, highest=high)
                for name, low, high in SUPPORTED_FEATURES
            ),
            directories=directories,
            previous_epoch=previous_epoch,
        )
        self._interval_ns = role.heartbeat_ms * MS
        self._link = link
        self._due_ns = 0  # of the next request; NEVER_NS while one is pending
        self.epoch = NO_BROKER_EPOCH  # given to this life by the controller
        self.state = LifeState.STARTING
        self.is_fenced = True  # by the controller's last answer
        self.is_caught_up = False  # has it replayed its own registration?
        self.heard_ns = 0  # when the controller last answered a heartbeat
        self.is_unregistered = False  # by an operator (UnregisterBroker), while it was up

    def poll(self, applied: Offset, mono_ns: int) -> None:
        """Send what is due. `applied`: all below is replayed."""
        if mono_ns < self._due_ns:
            return
        self._due_ns = NEVER_NS
        if self.epoch == NO_BROKER_EPOCH:
            self._link.send(self._registration, self._registered)
        else:
            self._link.send(self._heartbeat(applied), self._heard)

    def deadline_ns(self) -> int:
        return self._due_ns

    def begin_shutdown(self) -> None:
        """Request the controlled shutdown, with a heartbeat now."""
        if self.epoch == NO_BROKER_EPOCH:
            self.state = LifeState.SHUTTING_DOWN  # its replicas are not counted on
        elif self.state < LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self.state = LifeState.PENDING_CONTROLLED_SHUTDOWN
            if self._due_ns != NEVER_NS:
                self._due_ns = 0

    def _heartbeat(self, applied: Offset) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker=self._me,
            epoch=self.epoch,
            metadata_offset=applied - 1,
            want_fence=self.state is LifeState.STARTING,
            want_shutdown=self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN,
        )

    def _registered(self, response: Response | None, mono_ns: int) -> None:
        self._due_ns = mono_ns + _RETRY_NS
        if isinstance(response, BrokerRegistrationResponse) and response.error is ErrorCode.NONE:
            self.epoch = response.epoch
            self._due_ns = mono_ns

    def _heard(self, response: Response | None, mono_ns: int) -> None:
        self._due_ns = mono_ns + _RETRY_NS
        if not isinstance(response, BrokerHeartbeatResponse):
            return
        # As in Kafka it goes on asking, and neither ends nor registers again: an operator who
        # unregisters a broker does not want it back.
        self.is_unregistered = response.error is ErrorCode.BROKER_ID_NOT_REGISTERED
        if self.is_unregistered and self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self._let_go()  # its replicas are not counted on
        if response.error is ErrorCode.NONE:
            self.heard_ns = mono_ns
            self.is_fenced = response.is_fenced
            self.is_caught_up = self.is_caught_up or response.is_caught_up
            self._follow(response)
            if self.state is not LifeState.SHUTTING_DOWN:
                is_settled = self.state is LifeState.RUNNING
                self._due_ns = mono_ns + (self._interval_ns if is_settled else _CATCHING_UP_NS)

    def _follow(self, told: BrokerHeartbeatResponse) -> None:
        match self.state:
            case LifeState.STARTING if told.is_caught_up:
                self.state = LifeState.RECOVERY
            case LifeState.RECOVERY if not told.is_fenced:
                self.state = LifeState.RUNNING
            case LifeState.PENDING_CONTROLLED_SHUTDOWN if told.should_shut_down:
                self._let_go()
            case _:
                pass

    def _let_go(self) -> None:
        """It is fenced by now, and would be unfenced by another heartbeat."""
        self.state = LifeState.SHUTTING_DOWN
        self._due_ns = NEVER_NS


# What a broker reports of its own life (`node.server.output`): its state, as the controller sees
# it.


_VOUCHING = "vouching"


class LifeTraces:
    def __init__(self, lifecycle: Lifecycle, previous_epoch: int, outbox: Outbox) -> None:
        self._lifecycle = lifecycle
        self._previous_epoch = previous_epoch
        self._outbox = outbox
        self._was_unregistered = False
        self._told: tuple[LifeState | str, int, bool] | None = None

    def poll(self) -> None:
        """Report what has changed."""
        self._tell(self._lifecycle.state)
        is_gone = self._lifecycle.is_unregistered
        if is_gone and not self._was_unregistered:
            self._outbox.trace("b.unregistered", epoch=self._lifecycle.epoch)
        self._was_unregistered = is_gone

    def vouch(self) -> None:
        """Called when the file that vouches for this life's logs is about to be written."""
        self._tell(_VOUCHING)

    def _tell(self, state: LifeState | str) -> None:
        life = self._lifecycle
        now = (state, life.epoch, life.is_fenced)
        if now == self._told:
            return
        self._told = now
        self._outbox.trace(
            "b.life",
            state=state if isinstance(state, str) else state.name.lower().replace("_", "-"),
            epoch=life.epoch,
            previous=self._previous_epoch,
            fenced=life.is_fenced,
        )


# Directory assignments: a broker reports in which log directory each replica is, wherever the image
# has another (AssignReplicasToDirs; KIP-858, `ReplicaManager.maybeUpdateTopicAssignment`).
#
# That is so after the broker chose a directory (for a broker with one, the controller chooses),
# after files were moved while it was off, or if a directory is gone. Nothing waits for it, as in
# Kafka: a replica in an unknown directory may lead, and be in the ISR. One that is assigned to
# a directory that its broker does not have may not lead before this report.


# Replicas in one request: each is a directory, a topic and a partition, of as many as are read.
_MOST = MAX_ELEMENTS // 4
_AGAIN_NS = 500 * MS  # until an answered one must be in the log, or is sent again


class DirectoryReports:
    def __init__(
        self, me: NodeId, replicas: ReplicaManager, lifecycle: Lifecycle, link: ControllerLink
    ) -> None:
        self._me = me
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._link = link
        self._must_look = False
        self._due_ns = 0  # NEVER_NS while a request is pending

    def follow(self, image: Image) -> None:
        """The replicas know this image; before that level of it directories are not reported."""
        self._must_look = image.metadata_version >= DIRECTORIES

    def poll(self, mono_ns: int) -> None:
        if not self._must_look or mono_ns < self._due_ns:
            return
        self._must_look = False
        elsewhere = self._replicas.elsewhere
        if elsewhere:
            self._due_ns = NEVER_NS
            self._link.send(self._report([*islice(elsewhere.values(), _MOST)]), self._on_response)

    def deadline_ns(self) -> int:
        return self._due_ns if self._must_look else NEVER_NS

    def _report(self, replicas: Sequence[HostedPartition]) -> AssignDirectoriesRequest:
        return AssignDirectoriesRequest(
            broker=self._me,
            epoch=self._lifecycle.epoch,
            replicas=tuple(
                AssignedReplica(directory=held.directory, topic=held.key[0], index=held.key[1])
                for held in replicas
            ),
        )

    def _on_response(self, response: Response | None, mono_ns: int) -> None:  # noqa: ARG002
        """Whatever the response is, directories that still differ in the image are reported
        again.
        """
        self._due_ns = mono_ns + _AGAIN_NS
        self._must_look = True


# The clean shutdown: the controller grants it, the logs are flushed, and a file says so (KIP-966,
# `BrokerServer.shutdown`).


# How long a broker that shuts down waits for the grant once the controller is silent. Its logs are
# whole all the same.
_LET_GO_NS = 3000 * MS
# The limit while the controller answers: as Kafka waits for `controlledShutdownFuture`. What the
# broker led is moved, and every other broker has to say with a heartbeat that it knows.
_LET_GO_AT_LAST_NS = 300_000 * MS


class Shutdown:
    """A few logs are flushed in each step: until the last is, clients and followers are served, and
    a combined node still votes.
    """

    def __init__(
        self,
        logs: ReplicaLogs,
        replicas: ReplicaManager,
        lifecycle: Lifecycle,
        life: LifeTraces,
        outbox: Outbox,
    ) -> None:
        self._logs = logs
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._life = life
        self._outbox = outbox
        self._began_ns = NEVER_NS  # when it asked for the shutdown
        self._pace = Pace()
        self._unflushed: deque[LogId] | None = None  # logs that are not being flushed yet
        self._flushing: set[LogId] = set()
        self.is_let_go = False  # nothing is appended any more
        self.is_over = False

    def begin(self, mono_ns: int) -> None:
        self._began_ns = mono_ns
        self._lifecycle.begin_shutdown()

    def poll(self, mono_ns: int) -> None:
        may_go = self._lifecycle.state is LifeState.SHUTTING_DOWN or mono_ns >= self._give_up_ns()
        if not self.is_let_go and may_go:
            self.is_let_go = True
            self._replicas.save_high_watermarks()

    def go_on(self, mono_ns: int) -> None:
        """What was appended before the grant is in the logs by now."""
        if not self.is_let_go or self._flushing or self.is_over:
            return
        if self._unflushed is None:
            self._unflushed = deque(log for log in self._logs if not self._is_flushed(log))
        for _ in range(min(len(self._unflushed), self._pace.pieces(mono_ns))):
            log = self._unflushed.popleft()
            self._flushing.add(log)
            self._outbox.emit(FlushLog(log=log))
        self._end_if_flushed()

    def deadline_ns(self) -> int:
        if not self.is_let_go:
            return self._give_up_ns()
        return NEVER_NS if self._flushing or self.is_over else 0

    def on_flushed(self, log: LogId) -> None:
        assert log in self._flushing, f"{log} was flushed without a request"
        self._flushing.discard(log)
        self._end_if_flushed()

    def _end_if_flushed(self) -> None:
        if not self._flushing and not self._unflushed:
            self.is_over = True
            self._vouch()

    def _give_up_ns(self) -> int:
        if self._began_ns == NEVER_NS:
            return NEVER_NS
        silent_since_ns = max(self._began_ns, self._lifecycle.heard_ns)
        return min(silent_since_ns + _LET_GO_NS, self._began_ns + _LET_GO_AT_LAST_NS)

    def _is_flushed(self, log: LogId) -> bool:
        found = self._logs.find(log)
        return found is not None and found.flushed

    def _vouch(self) -> None:
        """Leaves out a damaged log: the next start has to find the damage, and to report it."""
        if not self._replicas.is_whole:
            return
        self._life.vouch()
        self._outbox.emit(SaveCleanShutdown(broker_epoch=self._lifecycle.epoch))
