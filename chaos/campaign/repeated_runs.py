"""Shrinks a failing run by repeating it in containers with fewer faults, less time, fewer nodes and
fewer clients, as long as one of the rules that it broke is broken again.

Time is real there, and a failure may need luck: a plan counts as one that fails if so many of a few
tries do. So what is left was seen to fail, and need not be the least.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.campaign.coverage import fingerprints
from chaos.campaign.shrinker import OutOfTimeError, ddmin
from chaos.cluster.targets.named import BROKERS, NODE, has_brokers, layout
from chaos.cluster.targets.own_brokers import CONTROLLERS
from chaos.errors import UsageError
from chaos.nemesis.script import Schedule, Window
from chaos.progress import ConsoleProgress
from chaos.run.launch import Ran, launch
from chaos.run.plan import RunPlan
from chaos.run.planning import require_possible
from checkers.verdict import Verdict, counted

_TAIL_S = 2.0  # of quiet after the last fault
_LEAST_CLIENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A plan that failed alike, in `failed` of `tries` runs; `ran` is the last of those."""

    plan: RunPlan
    failed: int
    tries: int
    ran: Ran

    def __str__(self) -> str:
        drawn = self.plan.drawn()
        return (
            f"{counted(len(drawn.windows), 'fault')}, {drawn.duration_s:g} s, "
            f"{counted(nodes_of(self.plan), 'node')}, "
            f"{counted(self.plan.load.concurrency, 'client')}: failed alike in {self.failed} of "
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
        fails: int = 1,
        within_s: float,
        run: Running,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best: Tried | None = None
        self.runs = 0
        self._rules = frozenset(rules)
        self._tries = tries
        self._least = fails
        self._run = run
        self._tell = tell
        self._clock = clock
        self._until = clock() + within_s

    def fails(self, plan: RunPlan) -> bool:
        """Whether enough of the tries break one of the rules; then it is the best so far. No more
        are run than decide that. Raises OutOfTimeError."""
        failed: list[Ran] = []
        try:
            for number in range(1, self._tries + 1):
                if self._clock() > self._until:
                    raise OutOfTimeError
                self.runs += 1
                ran, broken = self._run(plan)
                if self._rules & set(broken):
                    failed.append(ran)
                else:
                    _forget(ran)
                if len(failed) == self._least:
                    before = self.best
                    self.best = Tried(plan=plan, failed=len(failed), tries=number, ran=failed.pop())
                    if before is not None:
                        _forget(before.ran)
                    self._tell(f"{self.best}  (run {self.runs})")
                    return True
                if len(failed) + self._tries - number < self._least:
                    return False
            return False
        finally:
            for ran in failed:
                _forget(ran)

    def shrink(self, plan: RunPlan) -> Tried | None:
        """The smallest that was seen to fail alike, when nothing smaller is found or the time is
        up; None if the plan itself did not fail again."""
        try:
            if self.fails(plan):
                self._fewer_faults()
                self._less_time()
                self._fewer_nodes()
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

    def _fewer_nodes(self) -> None:
        """The smallest cluster that can be had, and has the nodes that faults name."""
        for fewer in smaller_clusters(self._plan()):
            if self.fails(fewer):
                return

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


def _forget(ran: Ran) -> None:
    shutil.rmtree(ran.directory, ignore_errors=True)


def nodes_of(plan: RunPlan) -> int:
    """Of its cluster, with the controllers beside brokers."""
    return layout(plan.target, plan.nodes, plan.target_settings)[1]


def smaller_clusters(plan: RunPlan) -> Iterator[RunPlan]:
    """The same plan on fewer nodes, the fewest first; what cannot be had, or lacks a node that a
    fault names, is left out."""
    found = {nodes_of(each): each for each in reversed([*_possible(plan)])}
    yield from (found[count] for count in sorted(found) if count < nodes_of(plan))


def _possible(plan: RunPlan) -> Iterator[RunPlan]:
    settings = plan.settings
    if has_brokers(plan.target, plan.target_settings):
        most = int(settings.get(BROKERS, plan.nodes))
        controllers = {settings.get(CONTROLLERS), "1"} if CONTROLLERS in settings else {None}
        chosen = [(count, each) for count in range(1, most + 1) for each in controllers]
    else:
        chosen = [(count, None) for count in range(1, plan.nodes)]
    for count, voters in chosen:
        told = {BROKERS: str(count)} if BROKERS in settings else {}
        told |= {} if voters is None else {CONTROLLERS: voters}
        fewer = {**settings, **told}
        load = plan.load.adjusted(
            concurrency=plan.load.concurrency, rate=plan.load.rate, settings=fewer
        )
        nodes = plan.nodes if plan.target == NODE and told else count
        smaller = replace(plan, nodes=nodes, settings=fewer, load=load)
        try:
            require_possible(smaller)
        except UsageError:
            continue
        yield smaller


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
