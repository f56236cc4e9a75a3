"""Records events as they happen (`events-<writer>.jsonl.zst`), with the clock and the phases of a
run.

One file for operations and one for faults and notes, each a row of zstd frames with a checksum,
each frame a whole number of lines: a file cut anywhere loses its last frame only. A frame is closed
after 5,000 events or a second, whichever comes first, so memory is bounded. Faults are synced as
they happen, the rest at the end. The order of a run's history is made here, by one counter.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import orjson
import zstandard

from chaos.progress import Progress
from checkers.history.events import EventType, FaultStage
from workloads.connection import MalformedResponse
from workloads.operation_history import SEND, HistoryError, Span

# Time of a run: nanoseconds since it started, on one monotonic clock.


class Clock(Protocol):
    """The time source of the harness. Waiting is left to asyncio."""

    @property
    def started_mono_ns(self) -> int:
        """The machine's monotonic clock when the run started; nodes' traces are shifted by it."""

    def now_ns(self) -> int:
        """Since the run's start."""

    def wall_ns(self) -> int:
        """Since 1970, UTC."""


class MachineClock:
    """The machine's clocks; a container's monotonic clock is the same one."""

    def __init__(self) -> None:
        self._started = time.monotonic_ns()

    @property
    def started_mono_ns(self) -> int:
        return self._started

    def now_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def wall_ns(self) -> int:
        return time.time_ns()


# The progress of a run: its current phase, the duration of each, lines for the operator.


class Phases:
    """Times are those of the run's own clock."""

    def __init__(self, clock: Clock, progress: Progress) -> None:
        self.clock = clock
        self.progress = progress
        self.current = "starting"
        self.timings_s: dict[str, float] = {}  # of completed phases

    @contextmanager
    def timed(self, name: str, phase: str) -> Iterator[None]:
        self.current = phase
        self.progress.status(phase)
        began = self.clock.now_ns()
        yield
        self.timings_s[name] = round((self.clock.now_ns() - began) / 1e9, 3)

    def tell(self, text: str) -> None:
        """Print a lasting line, with the time."""
        self.progress.tell(f"t={self.clock.now_ns() / 1e9:5.1f}s  {text}")


EVENTS_A_FRAME = 5_000
FRAME_NS = 1_000_000_000

FactValue = int | float | str | bool | None
EventFields = dict[
    str, FactValue | list[int] | list[str] | dict[str, FactValue] | list[list[FactValue]]
]


class RecordingError(HistoryError):
    """The history cannot be written (mostly a full disk); what was written before is intact."""


class EventWriter:
    """One `events-<name>.jsonl.zst`; appends whole frames only.

    Of a run that broke off a task may be left that goes on writing. By then the number of the
    closed descriptor may be that of another file, a sealed one even: so a closed writer takes
    nothing.
    """

    def __init__(self, directory: Path, name: str, *, syncs: bool = True) -> None:
        self._syncs = syncs
        self.path = directory / f"events-{name}.jsonl.zst"
        self._compressor = zstandard.ZstdCompressor(
            level=3, write_checksum=True, write_content_size=True
        )
        self._lines: list[bytes] = []
        self._opened_ns = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._file: int | None = os.open(self.path, flags, 0o644)

    def write(self, event: EventFields, now_ns: int) -> None:
        """Keep one event; a full frame is written. Raises RecordingError, also once closed."""
        self._descriptor()
        lines = self._lines
        if not lines:
            self._opened_ns = now_ns
        lines.append(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
        if len(lines) >= EVENTS_A_FRAME or now_ns - self._opened_ns >= FRAME_NS:
            self.flush()

    def flush(self, *, sync: bool = False) -> None:
        """Close the frame; with `sync` it is on the disk when this returns. Raises
        RecordingError, also once closed."""
        descriptor = self._descriptor()
        try:
            if self._lines:
                _append(descriptor, self._compressor.compress(b"".join(self._lines)))
                self._lines.clear()
            if sync and self._syncs:
                os.fdatasync(descriptor)
        except OSError as error:
            raise RecordingError(
                f"cannot write {self.path}: {error.strerror}; free some space or use --out"
            ) from error

    def close(self) -> None:
        """Once more changes nothing. Raises RecordingError where the last frame cannot be written;
        it is closed then too."""
        if self._file is None:
            return
        try:
            self.flush(sync=True)
        finally:
            descriptor, self._file = self._file, None
            os.close(descriptor)

    def _descriptor(self) -> int:
        if self._file is None:
            raise RecordingError(f"{self.path} is closed: its run is over")
        return self._file


def _append(descriptor: int, frame: bytes) -> None:
    """Write all of the frame or nothing: half a frame would hide the later ones."""
    start = os.lseek(descriptor, 0, os.SEEK_END)
    view = memoryview(frame)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        os.ftruncate(descriptor, start)
        raise


class Recorder:
    """The history of one run; implements `workloads.operation_history.LogHistory`.

    `counts` are the numbers of written events, to be compared with what is found later: operations
    `invoked` and their ends by outcome (`ok`, `fail`, `info`), runs of records `sent` and `polled`,
    `faults` that started, and `faults-passed-over`, and probes by their kind (`probes-quorum`).

    Without `syncs` nothing waits for the machine's disk: a run that its seed repeats need not.
    """

    def __init__(self, directory: Path, clock: Clock, *, syncs: bool = True) -> None:
        self._clock = clock
        self._operations = EventWriter(directory, "ops", syncs=syncs)
        self._faults = EventWriter(directory, "nemesis", syncs=syncs)
        self._index = 0
        self._processes = 0
        self._requests = 0
        self._sending: set[int] = set()  # processes with an open send
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._operations.close()
        finally:
            self._faults.close()

    def new_process(self) -> int:
        process = self._processes
        self._processes += 1
        return process

    def new_request(self) -> int:
        request = self._requests
        self._requests += 1
        return request

    def invoke(
        self,
        process: int,
        f: str,
        key: str,
        value: int | None,
        node: int,
        phase: str,
        request: int | None = None,
    ) -> None:
        together: EventFields = {"r": request} if request is not None else {}
        self._invoke(process, f, key, value, node, phase, together)

    def invoke_send(
        self, process: int, span: Span, *, acks: int, idempotent: bool, node: int, phase: str
    ) -> None:
        how: EventFields = {"s": [_line(span)], "a": acks, "x": idempotent}
        self._sending.add(process)
        self.counts["sent"] += 1
        self._invoke(process, SEND, span.key, span.value, node, phase, how)

    def complete(
        self,
        process: int,
        outcome: EventType,
        value: int | None,
        error: str | None,
        voters: Sequence[str] | None = None,
    ) -> None:
        told: EventFields = {"w": list(voters)} if voters is not None else {}
        self._complete(process, outcome, value, error, told)

    def complete_spans(
        self, process: int, outcome: EventType, spans: Sequence[Span], error: str | None
    ) -> None:
        if process in self._sending:
            self._sending.remove(process)
        else:
            self.counts["polled"] += len(spans)
        self._complete(process, outcome, None, error, {"s": [_line(span) for span in spans]})

    def _invoke(
        self,
        process: int,
        f: str,
        key: str,
        value: int | None,
        node: int,
        phase: str,
        more: EventFields,
    ) -> None:
        now = self._clock.now_ns()
        self._operations.write(
            {
                "type": "invoke",
                "i": self._index,
                "p": process,
                "f": f,
                "k": key,
                "v": value,
                "t": now,
                "n": node,
                "ph": phase,
                **more,
            },
            now,
        )
        self._index += 1
        self.counts["invoked"] += 1

    def _complete(
        self,
        process: int,
        outcome: EventType,
        value: int | None,
        error: str | None,
        more: EventFields,
    ) -> None:
        now = self._clock.now_ns()
        self._operations.write(
            {
                "type": outcome.value,
                "i": self._index,
                "p": process,
                "v": value,
                "t": now,
                "e": error,
                **more,
            },
            now,
        )
        self._index += 1
        self.counts[outcome] += 1

    def malformed(self, answer: MalformedResponse) -> None:
        """A malformed answer, to any client: a row of `tables.MALFORMED`."""
        now = self._clock.now_ns()
        told: EventFields = {"node": answer.node, "api": answer.api, "problem": answer.problem}
        head: EventFields = {"type": "malformed", "t": now, "head": answer.head.hex()}
        self._faults.write(head | told, now)

    def probe(self, row: EventFields) -> None:
        """A node's answer to the harness: a row of `tables.PROBES`."""
        self._faults.write({"type": "probe", **row}, self._clock.now_ns())
        self.counts[f"probes-{row['kind']}"] += 1

    def fault(self, fault_id: int, stage: FaultStage, event: EventFields) -> int:
        """One stage of a fault, on the disk when this returns. Returns its time."""
        now = self._clock.now_ns()
        head: EventFields = {"type": "fault", "id": fault_id, "stage": stage.value, "t": now}
        self._faults.write(head | event, now)
        self._faults.flush(sync=True)
        self.counts["faults"] += stage is FaultStage.START
        return now

    def pass_over(self) -> None:
        """A planned fault was skipped: it had no victim."""
        self.counts["faults-passed-over"] += 1

    def note(self, text: str) -> None:
        """A note on the progress of the run, for its reader."""
        now = self._clock.now_ns()
        self._faults.write({"type": "note", "t": now, "text": text}, now)

    def flush(self) -> None:
        """Close open frames: called once a second, so that a quiet run keeps its history too."""
        self._operations.flush()
        self._faults.flush()


def _line(span: Span) -> list[FactValue]:
    return [span.key, span.offset, span.value, span.records, span.epoch, span.high_watermark]
