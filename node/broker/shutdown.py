"""A broker's end in good order: it is let go, its logs are flushed, and a file says so (KIP-966,
`BrokerServer.shutdown`)."""

from collections import deque

from node.broker.held_replicas import HeldReplicas
from node.broker.life_traces import LifeTraces
from node.broker.lifecycle import Lifecycle, LifeState
from node.broker.pace import Pace
from node.broker.replica_logs import ReplicaLogs
from node.effects import FlushLog, SaveCleanShutdown
from node.ids import MS, NEVER_NS, LogId
from node.outbox import Outbox

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
        replicas: HeldReplicas,
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
