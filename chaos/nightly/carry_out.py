"""Lanes that run the slots of a night until its budget ends, or a signal comes.

A lane takes the next slot of its kind while `Packing` lets so many runs of the kind go on. A worker
that dies or hangs costs its slot, which is a row that says so.

How many runs go on at a time, decided by what the last ones say of the machine.

A run in containers mostly waits for time-outs, and needs a core at once when it needs one; a
simulated one computes all the time, in virtual time, and may wait. So simulated runs give way to
containers (`running.perform_simulated`), and what runs in containers record decides: how near their
machine was to being starved, as a share of the bound from which on no node is accused
(`checkers.evidence.starvation`). Near it, one run at a time fewer goes on, a simulated one first;
far from it, twice in a row, one more, in containers first. One of each always goes on: what others
do on the machine must not keep a night from its work.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from chaos.campaign.conduct import Died, each_of
from chaos.nightly.night import NightFiles
from chaos.nightly.plan import (
    Part,
    Slot,
    exploration,
    is_possible,
    repeats,
    runtimes,
    slot_from,
    triage,
)
from chaos.nightly.running import RunOrder, answered, broken_row, perform_simulated
from chaos.progress import Progress
from chaos.run.runtimes import DOCKER
from chaos.scenario import SIM
from chaos.setup.shell import module_name
from checkers.verdict import Verdict
from spark_reports.ledger import LedgerRow, row_from

_NEAR, _FAR = 0.8, 0.5
_CALM_RUNS = 2  # in a row, before one more goes on
_CLUSTER_KIB = 3 << 20  # of memory: six brokers of Apache Kafka
_MEMORY = Path("/proc/meminfo")


class Packing:
    """`contained` runs in containers and `simulated` ones may go on at a time; never more than
    `most_contained` and `most_simulated`."""

    def __init__(
        self, processors: int, jobs: int, *, has_containers: bool, free_kib: int | None = None
    ) -> None:
        """`jobs`: simulated runs at a time, at most; `free_kib`: of memory, by default as it is."""
        room = max((available_kib() if free_kib is None else free_kib) // _CLUSTER_KIB, 1)
        self.most_contained = min(processors, room) if has_containers else 0
        self.most_simulated = jobs
        self.contained = min(max(processors // 2, 1), self.most_contained)
        self.simulated = max(jobs - self.contained, 1)
        self._calm = 0

    def learn(self, strain: float) -> None:
        """A run in containers has ended, with this strain on the machine; 0: not measured."""
        if strain >= _NEAR:
            self._calm = 0
            if self.simulated > 1:
                self.simulated -= 1
            elif self.contained > 1:
                self.contained -= 1
        elif 0 < strain < _FAR:
            self._calm += 1
            if self._calm >= _CALM_RUNS:
                self._calm = 0
                self._add()
        else:
            self._calm = 0

    def _add(self) -> None:
        if self.contained < self.most_contained:
            self.contained += 1
        elif self.simulated < self.most_simulated:
            self.simulated += 1


def available_kib() -> int:
    """Memory that programs can have. Where the kernel does not tell, enough for one cluster."""
    try:
        lines = _MEMORY.read_text().splitlines()
    except OSError:
        return _CLUSTER_KIB
    told = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(told[0]) if told else _CLUSTER_KIB


LIMIT_S = 900.0  # of one run; one that takes longer hangs
_LEAVE_S = 60.0  # for a run in containers, to remove them
_TRIED_FURTHER = 5  # groups of new reds: a night that is red all over has other things to do
_REPEATED = (Part.STORY, Part.MATRIX, Part.EXPLORE)
_POLL_S = 0.2
_STOPPED = "stopped"


class Conductor:
    """The state that lanes share: what comes next, and what has landed."""

    def __init__(
        self,
        night: NightFiles,
        progress: Progress,
        known: Sequence[tuple[str, str]] = (),
        inherited: Sequence[int] = (),
    ) -> None:
        """`known`: the groups (scenario, fingerprint) of earlier nights, which are not repeated;
        `inherited`: descriptors of the processes of runs in containers (`night.hold`)."""
        self.night = night
        self.inherited = tuple(inherited)
        self._progress = progress
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._going_on: Counter[str] = Counter()  # runs, by runtime
        self._exhausted: set[str] = set()  # runtimes of which nothing is left to run
        self._stopping = threading.Event()
        self._seen = set(known)
        self._repeats: list[Slot] = []
        self._planned = [slot for slot in night.slots if slot.part is not Part.MATRIX]
        self._triage: list[Slot] = []
        self._matrix = [slot for slot in night.slots if slot.part is Part.MATRIX]
        self._targets = {slot.choices.target for slot in night.slots if not slot.is_simulated}
        self._further = 0  # groups of new reds that are looked into
        self._explored: dict[str, int] = dict.fromkeys(runtimes(night.settings), 0)
        processors = os.cpu_count() or 1
        self.packing = Packing(
            processors,
            night.settings.jobs or processors,
            has_containers=DOCKER in self._explored,
        )
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
        """Called by a signal's handler, so it takes no lock: lanes look often enough."""
        self._stopping.set()

    def orders(self, runtime: str) -> Generator[RunOrder, None, None]:
        """What a lane does, one after the other, until the night ends."""
        while (order := self._next(runtime)) is not None:
            try:
                yield order
            finally:
                with self._changed:
                    self._going_on[runtime] -= 1
                    self._changed.notify_all()

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

    @property
    def _is_over(self) -> bool:
        settings = self.night.settings
        over = self.is_stopping or self.elapsed_s >= settings.budget_s
        return over or bool(settings.runs and len(self._done) >= settings.runs)

    def _has_room(self, runtime: str) -> bool:
        packing = self.packing
        if runtime == DOCKER:
            limit = packing.contained
        elif DOCKER in self._exhausted or not packing.most_contained:
            limit = packing.most_simulated
        else:
            limit = packing.simulated
        return self._going_on[runtime] < limit

    def _next(self, runtime: str) -> RunOrder | None:
        with self._changed:
            while not self._is_over and not self._has_room(runtime):
                self._changed.wait(_POLL_S)
            if self._is_over:
                return None
            slot = self._slot(runtime)
            if slot is None:
                self._exhausted.add(runtime)
                self._changed.notify_all()
                return None
            key = self._key(slot)
            self._done.add(key)  # no other lane takes it
            self._going_on[runtime] += 1
            return RunOrder(
                slot=slot,
                night=self.night.date,
                commit=self.night.commit,
                key=key,
                home=str((self.night.runs / key).absolute()),
            )

    def _slot(self, runtime: str) -> Slot | None:
        """Repeats of what is new come first, then stories and earlier reds, then what tells more of
        what is new, the matrix, and fresh seeds."""
        for waiting in (self._repeats, self._planned, self._triage, self._matrix):
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
        if row.runtime == DOCKER:
            self.packing.learn(row.strain)
        group = (row.scenario, row.fingerprint)
        if row.is_red and row.part in _REPEATED and group not in self._seen:
            self._seen.add(group)
            slot = slot_from(json.loads(row.plan))
            self._repeats += repeats(slot)
            if self._further < _TRIED_FURTHER:
                self._further += 1
                can_shrink = row.verdict is Verdict.INVALID and not row.side
                settings = self.night.settings
                self._triage += triage(settings, slot, self._targets, may_shrink=can_shrink)


def carry_out(conductor: Conductor) -> None:
    """Run until the budget ends, or INT, TERM or HUP. Raises what a lane raised."""
    failures: list[BaseException] = []
    lanes = [
        threading.Thread(target=_guarded, args=(lane, conductor, failures))
        for lane, count in _lanes(conductor.packing)
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


def _lanes(packing: Packing) -> list[tuple[_Lane, int]]:
    """As many as can ever be used; `Conductor.orders` keeps back those that are too many."""
    contained = (_container_lane, packing.most_contained)
    return [contained, (_simulated_lane, packing.most_simulated)]


def _guarded(lane: _Lane, conductor: Conductor, failures: list[BaseException]) -> None:
    """A full disk ends the night, not a lane of it in silence."""
    try:
        lane(conductor)
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
        failures.append(error)
        conductor.stop()


def _simulated_lane(conductor: Conductor) -> None:
    answers = each_of(
        perform_simulated,
        conductor.orders(SIM),
        1,
        LIMIT_S,
        is_stopped=lambda: conductor.is_stopping,
    )
    for order, answer in answers:
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
        pass_fds=conductor.inherited,
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
