"""Lanes that run the slots of a night until its budget ends, or a signal comes.

Runs are packed by what they need: a simulated one computes all the time, one in containers mostly
waits for time-outs. So half of the processors, one at least, is for lanes of containers, and the
rest for lanes of virtual time. A lane takes the next slot of its kind; a worker that dies or hangs
costs its slot, which is a row that says so.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from chaos.campaign.conduct import Died, each_of
from chaos.nightly.night import NightFiles
from chaos.nightly.plan import Part, Slot, exploration, is_possible, repeats, runtimes, slot_from
from chaos.nightly.running import RunOrder, answered, broken_row, perform_simulated
from chaos.nightly.settings import NightSettings
from chaos.progress import Progress
from chaos.run.runtimes import DOCKER
from chaos.scenario import SIM
from chaos.setup.shell import module_name
from spark_reports.ledger import LedgerRow, row_from

LIMIT_S = 900.0  # of one run; one that takes longer hangs
_LEAVE_S = 60.0  # for a run in containers, to remove them
_REPEATS = 2  # of each group of new reds
_REPEATED = (Part.STORY, Part.MATRIX, Part.EXPLORE)
_POLL_S = 0.2
_STOPPED = "stopped"


class Conductor:
    """The state that lanes share: what comes next, and what has landed."""

    def __init__(
        self, night: NightFiles, progress: Progress, known: Sequence[tuple[str, str]] = ()
    ) -> None:
        """`known`: the groups (scenario, fingerprint) of earlier nights, which are not repeated."""
        self.night = night
        self._progress = progress
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._seen = set(known)
        self._repeats: list[Slot] = []
        self._planned = list(night.slots)
        self._explored: dict[str, int] = dict.fromkeys(runtimes(night.settings), 0)
        landed = night.rows()
        self._done = {row.key for row in landed}  # and what a lane has taken
        self._before_s = max((row.night_s for row in landed), default=0.0)
        self._began_s = time.monotonic()
        for row in landed:  # as they landed: the repeats follow from them
            self._note(row)

    @property
    def elapsed_s(self) -> float:
        """The night's working time."""
        return self._before_s + time.monotonic() - self._began_s

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        self._stopping.set()

    def orders(self, runtime: str) -> Iterator[RunOrder]:
        """What a lane does, one after the other, until the night ends."""
        while (order := self._next(runtime)) is not None:
            yield order

    def land(self, row: LedgerRow) -> None:
        with self._lock:
            row = replace(row, night_s=self.elapsed_s)
            self.night.land(row)
            self._done.add(row.key)
            self._note(row)
        if row.is_red or row.part == Part.CANARY:
            self._progress.tell(f"{row.part}: {row.sentence}\n  {row.command}")
        left = max(self.night.settings.budget_s - self.elapsed_s, 0.0) / 60
        self._progress.status(f"{len(self._done):,} runs; {left:.0f} minutes left; {row.scenario}")

    def _next(self, runtime: str) -> RunOrder | None:
        settings = self.night.settings
        with self._lock:
            over = self.is_stopping or self.elapsed_s >= settings.budget_s
            if over or (settings.runs and len(self._done) >= settings.runs):
                return None
            slot = self._slot(runtime)
            if slot is None:
                return None
            key = self._key(slot)
            self._done.add(key)  # no other lane takes it
            return RunOrder(
                slot=slot,
                night=self.night.date,
                commit=self.night.commit,
                key=key,
                home=str((self.night.runs / key).absolute()),
            )

    def _slot(self, runtime: str) -> Slot | None:
        """Repeats of what is new come first, then what was planned, then fresh seeds."""
        for waiting in (self._repeats, self._planned):
            for slot in [each for each in waiting if each.choices.runtime == runtime]:
                waiting.remove(slot)
                if self._key(slot) not in self._done:
                    return slot
        while True:
            number = self._explored[runtime]
            self._explored[runtime] += 1
            fresh = exploration(self.night.settings, self.night.date, runtime, number)
            if fresh is None:
                return None
            if is_possible(fresh.choices) and self._key(fresh) not in self._done:
                return fresh

    def _key(self, slot: Slot) -> str:
        return slot.key(self.night.name, self.night.commit)

    def _note(self, row: LedgerRow) -> None:
        group = (row.scenario, row.fingerprint)
        if row.is_red and row.part in _REPEATED and group not in self._seen:
            self._seen.add(group)
            self._repeats += repeats(slot_from(json.loads(row.plan)), _REPEATS)


def carry_out(conductor: Conductor) -> None:
    """Run until the budget ends, or INT, TERM or HUP. Raises what a lane raised."""
    failures: list[BaseException] = []
    lanes = [
        threading.Thread(target=_guarded, args=(lane, conductor, failures))
        for lane, count in _lanes(conductor.night.settings)
        for _ in range(count)
    ]
    with _signals_to(conductor.stop):
        for lane in lanes:
            lane.start()
        published = False
        while any(lane.is_alive() for lane in lanes):
            if conductor.is_stopping and not published:
                conductor.night.publish()  # a job's time-out leaves some seconds
                published = True
            for lane in lanes:
                lane.join(_POLL_S)
    if failures:
        raise failures[0]


_Lane = Callable[[Conductor], None]


def _lanes(settings: NightSettings) -> list[tuple[_Lane, int]]:
    processors = os.cpu_count() or 1
    simulated = settings.jobs or processors
    if DOCKER not in runtimes(settings):
        return [(_simulated_lane, simulated)]
    contained = max(processors // 2, 1)
    return [(_container_lane, contained), (_simulated_lane, max(simulated - contained, 1))]


def _guarded(lane: _Lane, conductor: Conductor, failures: list[BaseException]) -> None:
    """A full disk ends the night, not a lane of it in silence."""
    try:
        lane(conductor)
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
        failures.append(error)
        conductor.stop()


def _simulated_lane(conductor: Conductor) -> None:
    for order, answer in each_of(perform_simulated, conductor.orders(SIM), 1, LIMIT_S):
        if not isinstance(answer, Died):
            conductor.land(row_from(answer))
        elif not conductor.is_stopping:  # it may have been ended with the night
            conductor.land(broken_row(order, f"a process died: {answer.why}"))


def _container_lane(conductor: Conductor) -> None:
    for order in conductor.orders(DOCKER):
        row = _in_its_process(conductor, order)
        if row is not None:
            conductor.land(row)


def _in_its_process(conductor: Conductor, order: RunOrder) -> LedgerRow | None:
    """None where the night was stopped meanwhile: the slot is run again."""
    process = subprocess.Popen(
        [sys.executable, "-m", module_name("chaos.nightly.running")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KRAFT_CHAOS_NIGHT": str(os.getpid())},
        start_new_session=True,  # a Ctrl-C at the terminal ends the night, which ends it in order
    )
    why = ""
    told: str | None = json.dumps(order.as_json())
    began = time.monotonic()
    while True:
        try:
            said, complained = process.communicate(told, timeout=_POLL_S)
            break
        except subprocess.TimeoutExpired:
            told = None  # it has been sent
        if not why and (conductor.is_stopping or time.monotonic() - began > LIMIT_S):
            why = _STOPPED if conductor.is_stopping else f"no end within {LIMIT_S:g} s"
            process.terminate()
            began = time.monotonic()
        elif why and time.monotonic() - began > _LEAVE_S:
            process.kill()
    if why == _STOPPED:
        return None
    if why:
        return broken_row(order, why)
    try:
        return answered(said)
    except (ValueError, KeyError, TypeError):
        last = complained.strip().rpartition("\n")[2]
        return broken_row(order, f"its process ended with {process.returncode}: {last}")


@contextmanager
def _signals_to(stop: Callable[[], None]) -> Iterator[None]:
    def asked(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop()

    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [(kind, signal.signal(kind, asked)) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)
