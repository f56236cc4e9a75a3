"""When high watermarks and recovery points are saved: now and then, and at the end, if any has
changed.

A broker that begins again knows by its high watermarks what was committed. Else, while the ISR is
below min.insync.replicas and no high watermark may move, it would show consumers nothing at all. By
its recovery points it knows, after an end that was in no good order, what it need not read.
"""

from node.broker.held_replicas import HeldReplicas
from node.config import BrokerRole
from node.effects import SaveRecoveryPoints
from node.ids import MS
from node.outbox import Outbox

_INTERVAL_NS = 5000 * MS  # replica.high.watermark.checkpoint.interval.ms


class Checkpoints:
    def __init__(self, replicas: HeldReplicas, role: BrokerRole, outbox: Outbox) -> None:
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
