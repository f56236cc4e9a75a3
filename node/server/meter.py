"""What is measured while a node runs: latencies, rates and idleness (KIP-595, "Monitoring").

It hears what the node tells of itself and how long each of its turns took, and asks it nothing.
"""

from collections import deque
from dataclasses import field

from node.effects import Trace
from node.ids import MS, Now
from node.lazy_dataclass import dataclass

SAMPLE_NS = 30_000 * MS  # of these a window has two, as in Kafka (metrics.sample.window.ms)
_SECOND_NS = 1000 * MS
UNKNOWN = float("nan")  # as Kafka tells of what was not measured


@dataclass(slots=True)
class _Sample:
    number: int  # of its 30 s since the clock's zero
    count: int = 0
    total: float = 0.0
    most: float = 0.0


@dataclass(slots=True)
class Window:
    """What was measured in this sample and in the one before: the last 30 to 60 s."""

    began_ns: int
    _samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=2))

    def record(self, value: float, now_ns: int) -> None:
        number = now_ns // SAMPLE_NS
        if not self._samples or self._samples[-1].number != number:
            self._samples.append(_Sample(number))
        sample = self._samples[-1]
        sample.count += 1
        sample.total += value
        sample.most = max(sample.most, value)

    def average(self, now_ns: int) -> float:
        """Of what was recorded; not a number where nothing was."""
        samples = self._current(now_ns)
        count = sum(sample.count for sample in samples)
        return sum(sample.total for sample in samples) / count if count else UNKNOWN

    def maximum(self, now_ns: int) -> float:
        """Not a number where nothing was recorded."""
        return max((sample.most for sample in self._current(now_ns)), default=UNKNOWN)

    def per_ns(self, now_ns: int) -> float:
        """The sum of what was recorded by the time that the window has lasted."""
        first_ns = max(self.began_ns, (now_ns // SAMPLE_NS - 1) * SAMPLE_NS)
        total = sum(sample.total for sample in self._current(now_ns))
        return total / (now_ns - first_ns) if now_ns > first_ns else UNKNOWN

    def _current(self, now_ns: int) -> list[_Sample]:
        return [sample for sample in self._samples if sample.number >= now_ns // SAMPLE_NS - 1]


class Meter:
    """Of one life of a process; times are of its monotonic clock, but for when it began."""

    def __init__(self, began: Now) -> None:
        self._boot_ms = began.wall_ns // MS
        self._commits = Window(began.mono_ns)
        self._elections = Window(began.mono_ns)
        self._appended = Window(began.mono_ns)
        self._fetched = Window(began.mono_ns)
        self._worked = Window(began.mono_ns)
        self._uncommitted: deque[tuple[int, int]] = deque()  # last offset of a batch, and when
        self._stood_ns: int | None = None  # since when it has stood for election

    def on_trace(self, trace: Trace, now: Now) -> None:
        match trace.event:
            case "q.append":
                self._on_append(trace, now.mono_ns)
            case "q.hwm":
                self._on_high_watermark(_number(trace, "hwm"), now.mono_ns)
            case "q.state":
                self._on_state(trace.fields["state"], now.mono_ns)

    def on_turn(self, began_ns: int, ended_ns: int) -> None:
        """The node did something from then to then."""
        self._worked.record(ended_ns - began_ns, ended_ns)

    def measured(self, now_ns: int) -> dict[str, float]:
        """By the KIP's names; latencies in ms, rates a second, the ratio from 0 to 1."""
        return {
            "boot-timestamp": self._boot_ms,
            "commit-latency-avg": self._commits.average(now_ns),
            "commit-latency-max": self._commits.maximum(now_ns),
            "election-latency-avg": self._elections.average(now_ns),
            "election-latency-max": self._elections.maximum(now_ns),
            "append-records-rate": self._appended.per_ns(now_ns) * _SECOND_NS,
            "fetch-records-rate": self._fetched.per_ns(now_ns) * _SECOND_NS,
            "poll-idle-ratio-avg": self._idle(now_ns),
        }

    def _idle(self, now_ns: int) -> float:
        """A turn that began before the window did counts as a whole, and could make it negative."""
        ratio = 1.0 - self._worked.per_ns(now_ns)
        return 0.0 if ratio < 0 else ratio

    def _on_append(self, trace: Trace, now_ns: int) -> None:
        last = _number(trace, "last")
        records = last - _number(trace, "base") + 1
        if trace.fields["role"] == "leader":
            self._appended.record(records, now_ns)
            self._uncommitted.append((last, now_ns))
        else:
            self._fetched.record(records, now_ns)

    def _on_high_watermark(self, high_watermark: int, now_ns: int) -> None:
        while self._uncommitted and self._uncommitted[0][0] < high_watermark:
            _, appended_ns = self._uncommitted.popleft()
            self._commits.record((now_ns - appended_ns) / MS, now_ns)

    def _on_state(self, state: object, now_ns: int) -> None:
        """An election lasts, over all its rounds, until who leads is known."""
        if state != "leader":
            self._uncommitted.clear()  # what becomes of those, this node does not decide
        if state in ("prospective", "candidate"):
            self._stood_ns = now_ns if self._stood_ns is None else self._stood_ns
        elif state in ("leader", "follower") and self._stood_ns is not None:
            self._elections.record((now_ns - self._stood_ns) / MS, now_ns)
            self._stood_ns = None


def _number(trace: Trace, name: str) -> int:
    value = trace.fields[name]
    assert isinstance(value, int), f"{name}={value!r} of {trace.event}"
    return value
