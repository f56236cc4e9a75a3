"""Shrinks a failing run while it fails alike: fewer faults, nodes and operations, less time.

Each step proposes plans that are smaller in one respect and keeps those that still fail with the
same fingerprint. Steps are repeated, since fewer faults allow for fewer operations and the reverse,
until none finds anything or the time is up. Where a failure takes a coincidence, a change may undo
it, and another seed bring it back: so some plans are tried with several. Everything runs in virtual
time.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from chaos.campaign.coverage import Fingerprint, fingerprints
from chaos.campaign.job import readable
from chaos.conditions import Conditions
from chaos.nemesis.script import Schedule, Window
from chaos.progress import ConsoleProgress
from chaos.run.launch import Ran, launch
from chaos.run.plan import RunPlan
from checkers.history.sealed_run import read_run_info
from checkers.verdict import Verdict, counted
from workloads.workload_kinds import with_options

# Delta debugging: the smallest part of something that still fails (Zeller and Hildebrandt, 2002).


T = TypeVar("T")


def ddmin(items: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """The smallest part of `items`, in order, of which nothing can be left out; the whole must
    fail.

    `fails` is never asked about the whole. It is asked about nothing at all first, since the bug
    often needs none of them.
    """
    if items and fails(()):
        return ()
    parts = 2
    while len(items) > 1:
        found = _smaller(items, min(parts, len(items)), fails)
        if found is not None:
            # After a part, begin anew with halves; after a complement, go on as fine as before.
            parts = 2 if 2 * len(found) <= len(items) else max(2, parts - 1)
            items = found
        elif parts >= len(items):
            break
        else:
            parts *= 2
    return items


def _smaller(
    items: tuple[T, ...], parts: int, fails: Callable[[tuple[T, ...]], bool]
) -> tuple[T, ...] | None:
    """A part that fails, or else the whole without a part; None if everything is needed."""
    bounds = [len(items) * number // parts for number in range(parts + 1)]
    chunks = [items[a:b] for a, b in pairwise(bounds)]
    for chunk in chunks:
        if fails(chunk):
            return chunk
    if parts == 2:
        return None  # the complements are the parts
    for number in range(parts):
        rest = tuple(item for k, chunk in enumerate(chunks) if k != number for item in chunk)
        if fails(rest):
            return rest
    return None


def least(high: int, low: int, fails: Callable[[int], bool]) -> int:
    """A small number from `low` to `high` that fails; `high` does.

    Small numbers are tried first, as they cost least: doubled until one fails, then halved. A
    number above one that fails need not fail; the returned one was seen to fail, or is `high`.
    """
    reach = low
    while reach < high and not fails(reach):
        low, reach = reach + 1, 2 * reach + 1
    high = min(reach, high)
    while low < high:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle + 1
    return high


_LEAST_OPERATIONS = 1
_FEW_OPERATIONS = 30  # a person can read the narrative of a run this small
_FEW_ROLLS, _MANY_ROLLS = 3, 8
_LEAST_TAIL_S = 1.0
_LEAD_S = 0.3  # before the first fault
_LEAST_HOLD_S = 0.05


class OutOfTimeError(Exception):
    """The time is up; the smallest run found so far is the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a run."""

    faults: int
    operations: int
    nodes: int
    duration_s: float

    def __str__(self) -> str:
        return (
            f"{counted(self.faults, 'fault')}, {counted(self.operations, 'operation')}, "
            f"{counted(self.nodes, 'node')}, {self.duration_s:g} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The result of trying a plan: the fingerprints of its rows, how many operations it issued, and
    how long after the start of the faults the last event came that shows the failure."""

    fingerprints: Sequence[Fingerprint]
    operations: int
    failed_by_s: float | None = None


class Shrinker:
    """`best` is the smallest plan that was seen to fail alike."""

    def __init__(
        self,
        plan: RunPlan,
        wanted: Fingerprint,
        *,
        within_s: float,
        tell: Callable[[str], None],
        scratch: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best = plan
        self.attempts = 0
        self._wanted = wanted
        self._tell = tell
        self._scratch = scratch
        self._clock = clock
        self._until = clock() + within_s
        self._last = Attempt(fingerprints=(wanted,), operations=0)  # the attempt of `best`

    @property
    def size(self) -> Size:
        plan = self.best
        return Size(
            faults=len(plan.drawn().windows),
            operations=plan.load.most_operations or self._last.operations,
            nodes=plan.nodes,
            duration_s=plan.drawn().duration_s,
        )

    def fails(self, plan: RunPlan) -> bool:
        """Whether the plan fails alike; then it is the best so far. Raises OutOfTimeError."""
        if self._clock() > self._until:
            raise OutOfTimeError
        self.attempts += 1
        attempt = self._run(plan)
        if self._wanted not in attempt.fingerprints:
            return False
        self._keep(plan, attempt)
        return True

    def fails_by_the_same_rule(self, plan: RunPlan, broken: Collection[str]) -> bool:
        """Whether the plan breaks one of these rules, by name; then it is the best so far, and its
        own failure is what all later ones must show. For a failure in containers: in virtual time
        another row may come first, and an invariant inside the nodes may see it before any check.
        """
        self.attempts += 1
        attempt = self._run(plan)
        found = [each for each in attempt.fingerprints if each.rule in broken]
        if found:
            self._wanted = found[0]
            self._keep(plan, attempt)
        return bool(found)

    def _keep(self, plan: RunPlan, attempt: Attempt) -> None:
        self.best, self._last = plan, attempt
        self._tell(f"{self.size}  (attempt {self.attempts})")

    def shrink(self) -> RunPlan:
        """Shrink until nothing smaller is found, or the time is up. The plan must have been seen to
        fail."""
        try:
            before = None
            while before != self.best:
                before = self.best
                self._in_large_steps()
                if before == self.best:
                    self._in_small_steps()
        except OutOfTimeError:
            self._tell("the time is up")
        return self.best

    def _in_large_steps(self) -> None:
        """Time first, since it is the cost of every later attempt."""
        self._first_part()
        self._fewer_faults()
        self._shorter_windows()
        self._shorter()
        self._few_operations()
        self._fewer_nodes()

    def _in_small_steps(self) -> None:
        self._less_load()
        self._usual_conditions()

    def _run(self, plan: RunPlan) -> Attempt:
        out = Path(tempfile.mkdtemp(prefix=".attempt-", dir=self._scratch))
        try:
            ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
            return Attempt(
                fingerprints=fingerprints(ran.judgement, readable(ran.directory)),
                operations=int(ran.judgement.statistics.get("operations") or 0),
                failed_by_s=_failed_by_s(ran),
            )
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def _try_each(self, plans: Iterator[RunPlan]) -> None:
        """Take the first plan that fails, and stop: plans are ordered from the smallest."""
        for plan in plans:
            if self.fails(plan):
                return

    def _first_part(self) -> None:
        """Cut what comes after the failure, which every attempt spends time on."""
        plan, schedule, by_s = self.best, self.best.drawn(), self._last.failed_by_s
        if by_s is not None:
            self._try_each(
                _with_schedule(plan, _until(schedule, round(by_s + more_s, 3)))
                for more_s in (0.5, 4.0)
                if 0 < by_s + more_s < 0.9 * schedule.duration_s
            )

    def _fewer_faults(self) -> None:
        plan, schedule = self.best, self.best.drawn()

        def with_windows(windows: tuple[Window, ...]) -> bool:
            return self.fails(replace(plan, schedule=replace(schedule, windows=windows)))

        ddmin(schedule.windows, with_windows)

    def _shorter(self) -> None:
        """Less quiet at the end."""
        plan, schedule = self.best, self.best.drawn()
        last_s = max((window.end_s for window in schedule.windows), default=0.0)
        tails = (_LEAST_TAIL_S * 2**n for n in range(7))
        self._try_each(
            _with_schedule(plan, _lasting(schedule, schedule.windows, last_s + tail_s))
            for tail_s in tails
            if last_s + tail_s < schedule.duration_s
        )

    def _fewer_nodes(self) -> None:
        plan = self.best
        self._try_each(replace(plan, nodes=nodes) for nodes in range(1, plan.nodes))

    def _few_operations(self) -> None:
        """Halve the operations, and lower the rate so that they still last until the failure;
        repeat."""
        before = None
        while (many := self.size.operations) > _FEW_OPERATIONS and before != self.best:
            before, load = self.best, self.best.load
            most = max(many // 2, _FEW_OPERATIONS)
            rarer = with_options(load, most_operations=most, rate=load.rate * most / many)
            self._try_each(_rerolled(replace(self.best, load=rarer), _MANY_ROLLS))

    def _less_load(self) -> None:
        plan, load = self.best, self.best.load
        most = load.most_operations or self._last.operations
        least(
            most,
            _LEAST_OPERATIONS,
            lambda n: self.fails(replace(plan, load=with_options(load, most_operations=n))),
        )
        for option, low in plan.workload.shrinks:
            load = self.best.load
            self._try_each(
                replace(self.best, load=with_options(load, **{option: value}))
                for value in range(low, getattr(load, option))
            )

    def _shorter_windows(self) -> None:
        """Let each fault begin sooner after the one before it, and cure it sooner."""
        for number in range(len(self.best.drawn().windows)):
            for change in (_sooner, _briefer):
                self._try_each(
                    rolled
                    for share in (0.1, 0.3, 0.6)
                    if (changed := change(self.best.drawn(), number, share)) is not None
                    for rolled in _rerolled(_with_schedule(self.best, changed), _FEW_ROLLS)
                )

    def _usual_conditions(self) -> None:
        plan = self.best
        if plan.conditions != Conditions():
            self.fails(replace(plan, conditions=Conditions()))


def _failed_by_s(ran: Ran) -> float | None:
    blamed = [row for row in ran.judgement.results if row.verdict is Verdict.INVALID]
    times = (
        [at for event in blamed[0].witness if isinstance(at := event.get("t_ns"), int)]
        if blamed
        else []
    )
    took = read_run_info(ran.directory).timings_s
    return max(times) / 1e9 - took["create"] - took["first_write"] if times else None


def _rerolled(plan: RunPlan, times: int) -> Iterator[RunPlan]:
    """The plan itself, then with other seeds: if a failure takes a coincidence, a change may undo
    it, and another seed bring it back."""
    schedule = plan.drawn()  # with its own seed
    for number in range(times):
        yield replace(plan, seed=plan.seed + number, schedule=schedule)


def _with_schedule(plan: RunPlan, schedule: Schedule) -> RunPlan:
    return replace(plan, schedule=schedule, duration_s=schedule.duration_s)


def _until(schedule: Schedule, end_s: float) -> Schedule:
    """The windows that had begun by then, each cured by then."""
    windows = tuple(
        replace(window, hold_s=round(min(window.hold_s, end_s - window.at_s), 3))
        for window in schedule.windows
        if window.at_s < end_s
    )
    return _lasting(schedule, windows, end_s)


def _lasting(schedule: Schedule, windows: tuple[Window, ...], duration_s: float) -> Schedule:
    """A sum of rounded numbers may exceed the rounded sum by a little."""
    last_s = max((window.end_s for window in windows), default=0.0)
    return replace(schedule, windows=windows, duration_s=max(round(duration_s, 3), last_s))


def _sooner(schedule: Schedule, number: int, share: float) -> Schedule | None:
    """This window and all later ones, moved ahead by a share of the quiet before it; None if there
    is little."""
    windows = schedule.windows
    before = max((window.end_s for window in windows[:number]), default=0.0)
    quiet = windows[number].at_s - before - _LEAD_S
    if quiet < _LEAD_S:
        return None
    by_s = quiet * (1 - share)
    moved = tuple(replace(window, at_s=round(window.at_s - by_s, 3)) for window in windows[number:])
    return _lasting(schedule, (*windows[:number], *moved), schedule.duration_s - by_s)


def _briefer(schedule: Schedule, number: int, share: float) -> Schedule | None:
    window = schedule.windows[number]
    hold_s = round(window.hold_s * share, 3)
    if hold_s < _LEAST_HOLD_S:
        return None
    windows = list(schedule.windows)
    windows[number] = replace(window, hold_s=hold_s)
    return replace(schedule, windows=tuple(windows))
