"""The metrics of a node: their measurement, their meaning, and Prometheus' text format and
endpoint.
"""

import asyncio
import contextlib
import math
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial

from node.effects import Trace
from node.ids import MS, Now
from node.lazy_dataclass import dataclass
from node.server.listener import accepted_from

# Measurement: latencies, rates and idleness of a running node (KIP-595, "Monitoring").
#
# It gets the node's trace and the duration of each turn, and asks the node nothing.


SAMPLE_NS = 30_000 * MS  # a window has two of these, as in Kafka (metrics.sample.window.ms)
_SECOND_NS = 1000 * MS
UNKNOWN = float("nan")  # Kafka's value for what was not measured


@dataclass(slots=True)
class _Sample:
    number: int  # of its 30 s, from the clock's zero
    count: int = 0
    total: float = 0.0
    most: float = 0.0


@dataclass(slots=True)
class Window:
    """The values of this sample and the one before: the last 30 to 60 s."""

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
        """The average of the recorded values; NaN if there are none."""
        samples = self._current(now_ns)
        count = sum(sample.count for sample in samples)
        return sum(sample.total for sample in samples) / count if count else UNKNOWN

    def maximum(self, now_ns: int) -> float:
        """NaN if there are none."""
        return max((sample.most for sample in self._current(now_ns)), default=UNKNOWN)

    def per_ns(self, now_ns: int) -> float:
        """The sum of the recorded values, divided by the window's duration."""
        first_ns = max(self.began_ns, (now_ns // SAMPLE_NS - 1) * SAMPLE_NS)
        total = sum(sample.total for sample in self._current(now_ns))
        return total / (now_ns - first_ns) if now_ns > first_ns else UNKNOWN

    def _current(self, now_ns: int) -> list[_Sample]:
        return [sample for sample in self._samples if sample.number >= now_ns // SAMPLE_NS - 1]


class Meter:
    """Measures one life of a process; times are of its monotonic clock, except when it began."""

    def __init__(self, began: Now) -> None:
        self._boot_ms = began.wall_ns // MS
        self._commits = Window(began.mono_ns)
        self._elections = Window(began.mono_ns)
        self._appended = Window(began.mono_ns)
        self._fetched = Window(began.mono_ns)
        self._worked = Window(began.mono_ns)
        self._uncommitted: deque[tuple[int, int]] = deque()  # last offset of a batch, and when
        self._stood_ns: int | None = None  # since when it has been a candidate

    def on_trace(self, trace: Trace, now: Now) -> None:
        match trace.event:
            case "q.append":
                self._on_append(trace, now.mono_ns)
            case "q.hwm":
                self._on_high_watermark(_number(trace, "hwm"), now.mono_ns)
            case "q.state":
                self._on_state(trace.fields["state"], now.mono_ns)

    def on_turn(self, began_ns: int, ended_ns: int) -> None:
        """The node was busy from `began_ns` to `ended_ns`."""
        self._worked.record(ended_ns - began_ns, ended_ns)

    def measured(self, now_ns: int) -> dict[str, float]:
        """The values by the KIP's names; latencies in ms, rates per second, the ratio from 0 to
        1.
        """
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
        """A turn that began before the window counts as a whole, and could make this negative."""
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
        """An election lasts, over all its rounds, until the leader is known."""
        if state != "leader":
            self._uncommitted.clear()  # this node does not decide what becomes of those
        if state in ("prospective", "candidate"):
            self._stood_ns = now_ns if self._stood_ns is None else self._stood_ns
        elif state in ("leader", "follower") and self._stood_ns is not None:
            self._elections.record((now_ns - self._stood_ns) / MS, now_ns)
            self._stood_ns = None


def _number(trace: Trace, name: str) -> int:
    value = trace.fields[name]
    assert isinstance(value, int), f"{name}={value!r} of {trace.event}"
    return value


PREFIX = "kafka_server_raft_metrics_"  # kafka.server:type=raft-metrics, as JMX exporters spell it
_CONTROLLER = "kafka_controller_"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str  # as KIPs and Kafka write it
    source: str  # the KIP that defines it; "Kafka" if only Kafka's code does
    is_shipped: bool  # by Apache Kafka 4.3
    about: str  # with its unit
    is_text: bool = False  # the text is a label, and the value 1
    prefix: str = PREFIX


METRICS = (
    Metric("current-leader", "KIP-595", True, "The leader's id; -1 where it is unknown"),
    Metric("current-epoch", "KIP-595", True, "The epoch of the quorum; 0 where it is unknown"),
    Metric("current-vote", "KIP-595", True, "The node it voted for in this epoch; -1 for none"),
    Metric("current-vote-directory-id", "Kafka", True, "The directory id of that one", True),
    Metric(
        "current-state",
        "KIP-595",
        True,
        "leader, follower, candidate, prospective, prospective-voted, observer, unattached or "
        "unattached-voted; unattached too of a leader that resigned",
        True,
    ),
    Metric("log-end-offset", "KIP-595", True, "Where the log ends"),
    Metric("log-end-epoch", "KIP-595", True, "The epoch of the log's last record"),
    Metric("high-watermark", "KIP-595", True, "All below is committed; -1 where it is unknown"),
    Metric("boot-timestamp", "KIP-595", False, "When the process began, ms since 1970"),
    Metric(
        "number-unknown-voter-connections",
        "KIP-595",
        True,
        "Other voters without a known address",
    ),
    Metric(
        "election-latency-avg",
        "KIP-595",
        True,
        "From when it first stood for election until it led or knew a leader, ms; average",
    ),
    Metric("election-latency-max", "KIP-595", True, "The same; the longest"),
    Metric(
        "commit-latency-avg",
        "KIP-595",
        True,
        "From when a leader appended a batch until the high watermark passed it, ms; average",
    ),
    Metric("commit-latency-max", "KIP-595", True, "The same; the longest"),
    Metric("fetch-records-rate", "KIP-595", True, "Records fetched from a leader, a second"),
    Metric("append-records-rate", "KIP-595", True, "Records appended as the leader, a second"),
    Metric(
        "poll-idle-ratio-avg",
        "KIP-595",
        True,
        "The part of the time in which it waited, 0 to 1; waiting for its disk is work",
    ),
    Metric("number-of-voters", "KIP-856", True, "How many vote, by its log"),
    Metric(
        "number-of-possible-voters",
        "KIP-856",
        False,
        "Observers that could be added to the voters: with a directory id, of a node that is "
        "listed (KIP-856 form) and that did not register as a broker alone; of the leader only",
    ),
    Metric(
        "pending-add-voter",
        "KIP-856",
        False,
        "1 while a request to add a voter waits, or what it wrote is not committed; of the leader "
        "only",
    ),
    Metric(
        "pending-remove-voter",
        "KIP-856",
        False,
        "1 while a request to remove a voter waits, or what it wrote is not committed; of the "
        "leader only",
    ),
    Metric("number-of-observers", "KIP-853", True, "Observers that fetch; of the leader only"),
    Metric(
        "uncommitted-voter-change",
        "KIP-853",
        True,
        "1 while the newest voter set is not committed; of the leader only",
    ),
    Metric(
        "electable-leaders",
        "KIP-966",
        False,
        "How many replicas are in the ISR or the ELR of their partition",
        prefix=_CONTROLLER,
    ),
    Metric(
        "global-under-min-isr-partition-count",
        "KIP-966",
        False,
        "Partitions with an ISR smaller than the effective min.insync.replicas",
        prefix=_CONTROLLER,
    ),
    Metric(
        "unclean-recovery-partitions-count",
        "KIP-966",
        False,
        "Partitions that have lost all eligible leaders, and that the unclean recovery manager "
        "recovers, or will once the replicas that it waits for are back",
        prefix=_CONTROLLER,
    ),
    Metric(
        "manual-leader-election-required-partition-count",
        "KIP-966",
        False,
        "Partitions that have lost all eligible leaders, and whose strategy, None, waits for an "
        "operator",
        prefix=_CONTROLLER,
    ),
    Metric(
        "unclean-recovery-finished-count",
        "KIP-966",
        False,
        "Elections that the unclean recovery manager held since this controller became active",
        prefix=_CONTROLLER,
    ),
)


def exposition(values: Mapping[str, float | str]) -> str:
    """All of METRICS that have a value, in Prometheus' text format 0.0.4."""
    told = [metric for metric in METRICS if metric.name in values]
    assert len(told) == len(values), f"{sorted(values)} are not all among the metrics"
    return "".join(_lines(metric, values[metric.name]) for metric in told)


def _lines(metric: Metric, value: float | str) -> str:
    name = metric_name(metric)
    help_ = f"# HELP {name} {metric.name} ({metric.source}): {metric.about}.\n# TYPE {name} gauge\n"
    if metric.is_text:
        return f'{help_}{name}{{{metric.name.replace("-", "_")}="{value}"}} 1\n'
    assert not isinstance(value, str), f"{metric.name}={value!r} is no number"
    return f"{help_}{name} {'NaN' if math.isnan(value) else value}\n"


def metric_name(metric: Metric) -> str:
    return metric.prefix + metric.name.replace("-", "_")


def as_markdown() -> str:
    """A row for each metric, for `docs/reference/metrics.md`."""
    rows = [
        f"| `{metric.name}` | {metric.source} | {'yes' if metric.is_shipped else 'no'} |"
        f" {metric.about} |"
        for metric in METRICS
    ]
    head = ["| metric | from | in Kafka 4.3 | what it tells |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


# GET /metrics over HTTP, for Prometheus: one request a connection, few connections at once.
#
# Scrapes are answered between turns of the node, and take a millisecond of it. Their number, the
# bytes of a request and its time are bounded. A silent client does not keep others from being
# answered: at the limit, the oldest connection is closed.


PATH = b"/metrics"
SCRAPES = 16  # at once
HEAD_BYTES = 8192
PATIENCE_S = 5.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def serve_metrics(
    listening: socket.socket, exposition: Callable[[], str], patience_s: float = PATIENCE_S
) -> None:
    """Runs until cancelled."""
    scrapes: dict[asyncio.Task[None], None] = {}  # oldest first

    def end(accepted: socket.socket, task: "asyncio.Task[None]") -> None:
        """Also for a task that was cancelled before it began."""
        accepted.close()
        scrapes.pop(task, None)

    async for accepted, _ in accepted_from(listening, "metrics"):
        if len(scrapes) == SCRAPES:
            oldest = next(iter(scrapes))
            oldest.cancel()
            del scrapes[oldest]
        task = asyncio.create_task(_serve(accepted, exposition, patience_s))
        scrapes[task] = None
        task.add_done_callback(partial(end, accepted))


async def _serve(accepted: socket.socket, exposition: Callable[[], str], patience_s: float) -> None:
    # A client that leaves or is too slow gets no answer.
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(patience_s):
            head = await _head(accepted)
            response = response_to(head, exposition)
            await asyncio.get_running_loop().sock_sendall(accepted, response)


async def _head(accepted: socket.socket) -> bytes:
    """The request's head, up to its end, the limit of its length, or the end of the stream."""
    head, loop = b"", asyncio.get_running_loop()
    while b"\r\n\r\n" not in head and len(head) < HEAD_BYTES:
        data = await loop.sock_recv(accepted, HEAD_BYTES - len(head))
        if not data:
            break
        head += data
    return head


def response_to(head: bytes, exposition: Callable[[], str]) -> bytes:
    """The whole answer to a request that begins like this."""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if b"\r\n\r\n" not in head or len(words) != 3 or not words[2].startswith(b"HTTP/"):
        return _response("400 Bad Request", "not a request of HTTP\n")
    method, target, _ = words
    if method not in (b"GET", b"HEAD"):
        return _response("405 Method Not Allowed", "GET /metrics\n")
    if target.split(b"?", 1)[0] != PATH:
        return _response("404 Not Found", "GET /metrics\n")
    response = _response("200 OK", exposition())
    return response if method == b"GET" else response[: response.index(b"\r\n\r\n") + 4]


def _response(status: str, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {_TEXT}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
