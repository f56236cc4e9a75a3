"""Shrinks a failing run by repeating it in containers with fewer faults, less time and fewer
clients, as long as one of the rules that it broke is broken again.

Time is real there, and a failure may need luck: a plan counts as one that fails if one of a few
tries does. So what is left was seen to fail, and need not be the least.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.campaign.coverage import fingerprints
from chaos.campaign.shrinker import OutOfTimeError, ddmin
from chaos.nemesis.script import Schedule, Window
from chaos.progress import ConsoleProgress
from chaos.run.launch import Ran, launch
from chaos.run.plan import RunPlan
from checkers.verdict import Verdict, counted

_TAIL_S = 2.0  # of quiet after the last fault
_LEAST_CLIENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A plan that failed alike, in one of `tries` runs; `ran` is that run."""

    plan: RunPlan
    tries: int
    ran: Ran

    def __str__(self) -> str:
        drawn = self.plan.drawn()
        return (
            f"{counted(len(drawn.windows), 'fault')}, {drawn.duration_s:g} s, "
            f"{counted(self.plan.load.concurrency, 'client')}: failed alike in 1 of "
            f"{counted(self.tries, 'run')}"
        )


Running = Callable[[RunPlan], tuple[Ran, Collection[str]]]  # and the rules that it broke


class RepeatedRuns:
    """`best` is the smallest plan that was seen to fail alike; None before one was."""

    def __init__(
        self,
        rules: Collection[str],
        *,
        tries: int,
        within_s: float,
        run: Running,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best: Tried | None = None
        self.runs = 0
        self._rules = frozenset(rules)
        self._tries = tries
        self._run = run
        self._tell = tell
        self._clock = clock
        self._until = clock() + within_s

    def fails(self, plan: RunPlan) -> bool:
        """Whether one of the tries breaks one of the rules; then it is the best so far. Raises
        OutOfTimeError."""
        for number in range(1, self._tries + 1):
            if self._clock() > self._until:
                raise OutOfTimeError
            self.runs += 1
            ran, broken = self._run(plan)
            if self._rules & set(broken):
                before, self.best = self.best, Tried(plan=plan, tries=number, ran=ran)
                if before is not None:
                    shutil.rmtree(before.ran.directory, ignore_errors=True)
                self._tell(f"{self.best}  (run {self.runs})")
                return True
            shutil.rmtree(ran.directory, ignore_errors=True)
        return False

    def shrink(self, plan: RunPlan) -> Tried | None:
        """The smallest that was seen to fail alike, when nothing smaller is found or the time is
        up; None if the plan itself did not fail again."""
        try:
            if self.fails(plan):
                self._fewer_faults()
                self._less_time()
                self._fewer_clients()
        except OutOfTimeError:
            self._tell("the time is up")
        return self.best

    def _plan(self) -> RunPlan:
        assert self.best is not None
        return self.best.plan

    def _fewer_faults(self) -> None:
        plan, drawn = self._plan(), self._plan().drawn()

        def with_windows(windows: tuple[Window, ...]) -> bool:
            return self.fails(replace(plan, schedule=replace(drawn, windows=windows)))

        ddmin(drawn.windows, with_windows)

    def _less_time(self) -> None:
        """The first fault soon, and little quiet after the last."""
        drawn = self._plan().drawn()
        first_s = min((window.at_s for window in drawn.windows), default=0.0)
        by_s = max(0.0, first_s - 1.0)
        moved = tuple(
            replace(window, at_s=round(window.at_s - by_s, 3)) for window in drawn.windows
        )
        end_s = max((window.end_s for window in moved), default=0.0) + _TAIL_S
        if end_s < drawn.duration_s:
            self.fails(_lasting(self._plan(), replace(drawn, windows=moved), round(end_s, 3)))

    def _fewer_clients(self) -> None:
        while (many := self._plan().load.concurrency) > _LEAST_CLIENTS:
            fewer = max(_LEAST_CLIENTS, many // 2)
            load = self._plan().load
            spared = load.adjusted(concurrency=fewer, rate=load.rate, settings={})
            if not self.fails(replace(self._plan(), load=spared)):
                return


def _lasting(plan: RunPlan, schedule: Schedule, duration_s: float) -> RunPlan:
    made = replace(schedule, duration_s=duration_s)
    return replace(plan, schedule=made, duration_s=duration_s)


def in_containers(scratch: Path) -> Running:
    """Runs a plan as it is, into `scratch`."""

    def run(plan: RunPlan) -> tuple[Ran, Collection[str]]:
        place = Path(tempfile.mkdtemp(dir=scratch))
        ran = launch(plan, place, ConsoleProgress(quiet=True))
        if ran.interrupted:
            raise KeyboardInterrupt
        if ran.judgement.verdict is not Verdict.INVALID:
            return ran, ()
        return ran, {each.rule for each in fingerprints(ran.judgement, None)}

    return run
