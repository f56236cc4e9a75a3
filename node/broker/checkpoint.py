"""When high watermarks are saved: now and then, and at the end, if any has changed.

A broker that begins again knows by that what was committed. Else, while the ISR is below
min.insync.replicas and no high watermark may move, it would show consumers nothing at all.
"""

from node.broker.held_replicas import HeldReplicas
from node.ids import MS

_INTERVAL_NS = 5000 * MS  # replica.high.watermark.checkpoint.interval.ms


class HighWatermarkCheckpoint:
    def __init__(self, replicas: HeldReplicas) -> None:
        self._replicas = replicas
        self._due_ns = 0

    def poll(self, mono_ns: int) -> None:
        if mono_ns >= self._due_ns:
            self._due_ns = mono_ns + _INTERVAL_NS
            self._replicas.save_high_watermarks()

    def deadline_ns(self) -> int:
        return self._due_ns
