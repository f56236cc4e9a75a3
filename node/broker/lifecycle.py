"""A broker's life as the controller sees it (KIP-631, KIP-841, KIP-966; `BrokerLifecycleManager`).

It registers, with the epoch of its last life where that ended in good order, and is fenced. Then it
sends heartbeats: asking to stay fenced until it has replayed its own registration, then to be
unfenced, and at its end to be let go, which it is once it leads nothing.
"""

from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from itertools import islice
from uuid import UUID

from node.broker.controller_link import ControllerLink
from node.broker.replica_logs import Pace, ReplicaLogs
from node.broker.replica_manager import HostedPartition, ReplicaManager
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
        self._due_ns = 0  # of the next request; NEVER_NS while one is out
        self.epoch = NO_BROKER_EPOCH  # that the controller gave this life
        self.state = LifeState.STARTING
        self.is_fenced = True  # as the controller answered last
        self.is_caught_up = False  # has it replayed its own registration?
        self.heard_ns = 0  # when the controller last answered a heartbeat
        self.is_unregistered = False  # somebody did that (UnregisterBroker) while it was up

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
        """Ask to be let go, with the next heartbeat, now."""
        if self.epoch == NO_BROKER_EPOCH:
            self.state = LifeState.SHUTTING_DOWN  # nobody counts on it
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
        # As in Kafka it asks on, and neither ends nor registers again: who unregisters a broker
        # does not want it back.
        self.is_unregistered = response.error is ErrorCode.BROKER_ID_NOT_REGISTERED
        if self.is_unregistered and self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self._let_go()  # nobody counts on it
        if response.error is ErrorCode.NONE:
            self.heard_ns = mono_ns
            self.is_fenced = response.is_fenced
            self.is_caught_up = self.is_caught_up or response.is_caught_up
            self._follow(response)
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
        self.state = LifeState.SHUTTING_DOWN
        self._due_ns = NEVER_NS


# What a broker tells of its own life (`node.server.output`): how far it is, and what it is taken
# for.


_VOUCHING = "vouching"


class LifeTraces:
    def __init__(self, lifecycle: Lifecycle, previous_epoch: int, outbox: Outbox) -> None:
        self._lifecycle = lifecycle
        self._previous_epoch = previous_epoch
        self._outbox = outbox
        self._was_unregistered = False
        self._told: tuple[LifeState | str, int, bool] | None = None

    def poll(self) -> None:
        """Tell what has changed."""
        self._tell(self._lifecycle.state)
        is_gone = self._lifecycle.is_unregistered
        if is_gone and not self._was_unregistered:
            self._outbox.trace("b.unregistered", epoch=self._lifecycle.epoch)
        self._was_unregistered = is_gone

    def vouch(self) -> None:
        """The file that vouches for this life's logs is about to be written."""
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


# A broker tells the controller in which log directory each of its replicas is, wherever the image
# has another (AssignReplicasToDirs; KIP-858, `ReplicaManager.maybeUpdateTopicAssignment`).
#
# So it is after a choice of its own (the controller chooses for a broker with one directory), after
# files were moved while it was off, or where a directory is gone. Nobody waits for it, as in Kafka:
# a replica whose directory is not known may lead, and be in the ISR. One that is assigned to a
# directory that its broker has not got may not lead until this is said.


# Replicas in one request: each is a directory, a topic and a partition, of as many as are read.
_MOST = MAX_ELEMENTS // 4
_AGAIN_NS = 500 * MS  # until what was answered must have come by the log, or is asked again


class DirectoryReports:
    def __init__(
        self, me: NodeId, replicas: ReplicaManager, lifecycle: Lifecycle, link: ControllerLink
    ) -> None:
        self._me = me
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._link = link
        self._must_look = False
        self._due_ns = 0  # NEVER_NS while a request is out

    def follow(self, image: Image) -> None:
        """Replicas were told of it; before that level nobody speaks of directories."""
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
        """Whatever the response is: what is still another in the image then is told once more."""
        self._due_ns = mono_ns + _AGAIN_NS
        self._must_look = True


# A broker's end in good order: it is let go, its logs are flushed, and a file says so (KIP-966,
# `BrokerServer.shutdown`).


# How long a broker that is to stop waits to be let go, once the controller is silent. Its logs are
# whole all the same.
_LET_GO_NS = 3000 * MS
# And while it answers: as Kafka waits for `controlledShutdownFuture`. What the broker led is moved,
# and every other broker has to say with a heartbeat that it knows.
_LET_GO_AT_LAST_NS = 300_000 * MS


class Shutdown:
    """Logs are flushed some a step: until the last of them is, others are served, and where the
    process is a controller as well, that votes."""

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
        self._began_ns = NEVER_NS  # waiting to be let go
        self._pace = Pace()
        self._unflushed: deque[LogId] | None = None  # of those that are not being flushed
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
        """What was appended before it was let go is in the logs by now."""
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
        assert log in self._flushing, f"{log} was flushed, and nobody asked"
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
        """Not for a damaged log: its next start is to look for that, and to say that it did."""
        if not self._replicas.is_whole:
            return
        self._life.vouch()
        self._outbox.emit(SaveCleanShutdown(broker_epoch=self._lifecycle.epoch))
