"""A broker's end in good order: it is let go, its logs are flushed, and a file says so (KIP-966,
`BrokerServer.shutdown`)."""

from collections.abc import Iterable

from node.broker.held_replicas import HeldReplicas
from node.broker.life_traces import LifeTraces
from node.broker.lifecycle import Lifecycle, LifeState
from node.effects import FlushLog, SaveCleanShutdown
from node.ids import MS, NEVER_NS, LogId
from node.outbox import Outbox

# How long a broker that is to stop waits to be let go. Its logs are whole all the same.
_LET_GO_NS = 3000 * MS


class Shutdown:
    def __init__(
        self,
        logs: Iterable[LogId],
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
        self._give_up_ns = NEVER_NS  # waiting to be let go
        self._unflushed: set[LogId] | None = None  # once it is let go

    @property
    def is_let_go(self) -> bool:
        """Nothing is appended any more."""
        return self._unflushed is not None

    @property
    def is_over(self) -> bool:
        return self._unflushed is not None and not self._unflushed

    def begin(self, mono_ns: int) -> None:
        self._give_up_ns = mono_ns + _LET_GO_NS
        self._lifecycle.begin_shutdown()

    def poll(self, mono_ns: int) -> None:
        may_go = self._lifecycle.state is LifeState.SHUTTING_DOWN or mono_ns >= self._give_up_ns
        if self._unflushed is None and may_go:
            self._give_up_ns = NEVER_NS
            self._unflushed = set(self._logs)
            self._replicas.save_high_watermarks()
            for log in sorted(self._unflushed):
                self._outbox.emit(FlushLog(log=log))
            if not self._unflushed:
                self._vouch()

    def deadline_ns(self) -> int:
        return self._give_up_ns

    def on_flushed(self, log: LogId) -> None:
        assert self._unflushed is not None, f"{log} was flushed, and nobody asked"
        self._unflushed.discard(log)
        if not self._unflushed:
            self._vouch()

    def _vouch(self) -> None:
        """Not for a damaged log: its next start is to look for that, and to say that it did."""
        if not self._replicas.is_whole:
            return
        self._life.vouch()
        self._outbox.emit(SaveCleanShutdown(broker_epoch=self._lifecycle.epoch))
