"""`kraft-chaos campaign`: runs seeds in several processes, and writes rows, summary and page."""

import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Generic, TypeVar

from chaos.campaign import summary
from chaos.campaign.coverage import label
from chaos.campaign.job import Job, SeedRow, crashed, row_from
from chaos.campaign.summary import Summary, tolerated_void_share
from chaos.cluster.targets.named import NODE
from chaos.errors import OperatorError
from chaos.nemesis.fault import parameters_of
from chaos.progress import ConsoleProgress
from chaos.run.planning import Choices, scenario_of, sparing_load
from chaos.run.scenario_file import ScenarioFile
from chaos.scenario import SIM, Side
from checkers.verdict import Verdict

# Spreads seeds over processes. A process that dies or hangs costs its seed only.


LIMIT_S = 900.0  # of the machine's time; a run that takes longer hangs
# A run leaves 0.9 MB in the heap of its process: some gigabytes in a night.
SEEDS_A_PROCESS = 250

_POLL_S = 1.0
_STARTED = "started"
_SPAWNED = multiprocessing.get_context("spawn")  # a fork would copy whatever threads hold

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """A process ended without an answer."""

    why: str


@dataclass(slots=True)
class _Worker(Generic[S, T]):
    process: SpawnProcess
    connection: Connection
    seed: S
    since: float
    begun: int = 0  # seeds
    is_started: bool = False  # it has imported what it needs: its first seed counts from then on


def each_of(
    function: Callable[[S], T],
    seeds: Iterator[S],
    jobs: int,
    limit_s: float = LIMIT_S,
    seeds_a_process: int = SEEDS_A_PROCESS,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[S, T | Died]]:
    """What `function` returns for each seed, as it arrives; a free worker takes the next seed.

    Both are sent to the processes, so they have to be picklable. Leaving the iteration ends them;
    so does `is_stopped`, which is asked each second: what is under way then has no answer.
    """
    workers: list[_Worker[S, T]] = []
    try:
        for seed in seeds:
            workers.append(_begin(function, seed))
            if len(workers) == jobs:
                break
        while workers and not is_stopped():
            for worker in _heard_of(workers, limit_s):
                answer = _answer(worker, limit_s)
                yield worker.seed, answer
                following = next(seeds, None)
                is_worn = worker.begun >= seeds_a_process
                if following is None or is_worn or isinstance(answer, Died):
                    workers.remove(worker)
                    _end(worker)
                    if following is not None:
                        workers.append(_begin(function, following))
                else:
                    _hand(worker, following)
    finally:
        for worker in workers:
            _end(worker)


def _begin(function: Callable[[S], T], seed: S) -> "_Worker[S, T]":
    ours, theirs = _SPAWNED.Pipe()
    process = _SPAWNED.Process(target=_work, args=(function, theirs), daemon=True)
    process.start()
    theirs.close()
    worker: _Worker[S, T] = _Worker(process, ours, seed, time.monotonic())
    _hand(worker, seed)
    return worker


def _work(function: Callable[[S], T], connection: Connection) -> None:
    """Run by each worker process until it is asked to end."""
    try:
        connection.send(_STARTED)
        while True:
            connection.send(function(connection.recv()))
    except (EOFError, KeyboardInterrupt):
        pass  # the campaign is over


def _hand(worker: "_Worker[S, T]", seed: S) -> None:
    worker.seed, worker.since = seed, time.monotonic()
    worker.begun += 1
    worker.connection.send(seed)


def _heard_of(workers: "list[_Worker[S, T]]", limit_s: float) -> "list[_Worker[S, T]]":
    """The workers that answered, died or took too long; waits for a while."""
    ready = multiprocessing.connection.wait([each.connection for each in workers], _POLL_S)
    heard = [each for each in workers if each.connection in ready and not _has_started(each)]
    now = time.monotonic()
    late = [
        each for each in workers if now - each.since > (limit_s if each.is_started else LIMIT_S)
    ]
    return [*heard, *(each for each in late if each not in heard)]


def _has_started(worker: "_Worker[S, T]") -> bool:
    """Whether what was heard of a worker is that it has started, which takes a starved machine
    longer than many a seed; if it ended before that, what was heard is its end."""
    if worker.is_started:
        return False
    try:
        worker.connection.recv()
    except (EOFError, ConnectionResetError):
        return False
    worker.is_started, worker.since = True, time.monotonic()
    return True


def _answer(worker: "_Worker[S, T]", limit_s: float) -> T | Died:
    if not worker.connection.poll():
        return Died(why=f"no end within {limit_s:g} s")
    try:
        answer: T = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return Died(why=f"its process died with exit code {worker.process.exitcode}")
    return answer


def _end(worker: "_Worker[S, T]") -> None:
    worker.connection.close()
    worker.process.kill()  # whatever it is doing: it leaves nothing but scratch behind
    worker.process.join()
    worker.process.close()


ROWS = "rows.jsonl"
_EVERY_S = 30.0  # between two lines in a pipe

# Maps seeds to rows (as JSON) on other machines; see `spark_reports.session`.
Spread = Callable[[Callable[[int], str], range], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignArguments:
    """The command line of `campaign`, checked."""

    seeds: range
    scenario: str
    minutes: float | None
    jobs: int
    mutation: str
    out: Path
    as_json: bool
    # For every run. If these settings make one of the scenario's sides, the result expected there
    # is good.
    settings: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None  # of each cluster; if None, the usual three, or the seed's own
    # length of the fault phase of each run; if None, the scenario's, or the seed's
    duration_s: float | None = None
    file: ScenarioFile | None = None  # that has the scenario, where it is a user's own


class Campaign:
    """Takes rows as they arrive: writes them to the file, adds them to the summary, and reports
    progress."""

    def __init__(self, arguments: CampaignArguments) -> None:
        scenario = scenario_of(arguments.scenario, arguments.file)
        self.arguments = arguments
        out = arguments.out.absolute()
        self.job = Job(
            choices=_choices(arguments), out=out, scratch=out / f".running-{os.getpid()}"
        )
        kinds = dict.fromkeys(label(fault.kind, parameters_of(fault)) for fault in scenario.faults)
        self.summary = Summary(
            asked=len(arguments.seeds),
            kinds=tuple(kinds),
            void_share=tolerated_void_share(arguments.duration_s),
            expected=_expected(arguments),
            without_subject=frozenset(scenario.without_subject),
            is_to_judge_all=scenario.trial is not None and arguments.duration_s is None,
        )
        self._progress = ConsoleProgress()
        self._began = time.monotonic()
        self._told = self._began

    @property
    def real_s(self) -> float:
        return time.monotonic() - self._began

    def take(self, rows: Iterable[SeedRow]) -> None:
        """Take all rows; each is in the file and the summary at once, however the campaign ends."""
        out = self.arguments.out
        out.mkdir(parents=True, exist_ok=True)
        try:
            with (out / ROWS).open("w", encoding="utf-8") as file:
                for row in rows:
                    file.write(json.dumps(row.as_json()) + "\n")
                    file.flush()
                    self.summary.add(row)
                    self._show(row)
        finally:
            self._progress.end()
            shutil.rmtree(self.job.scratch, ignore_errors=True)

    def rows(self) -> Iterator[SeedRow]:
        """By processes on this machine."""
        for seed, answer in each_of(self.job.row, self._due(), self.arguments.jobs):
            if isinstance(answer, Died):
                yield crashed(seed, "a process died", answer.why, self.job.command(seed))
            else:
                yield answer

    def text(self) -> str:
        if self.arguments.as_json:
            return json.dumps(summary.as_json(self.summary, self.real_s), indent=2)
        return summary.as_text(self.summary, self.real_s)

    def _due(self) -> Iterator[int]:
        minutes = self.arguments.minutes
        for seed in self.arguments.seeds:
            if minutes is not None and self.real_s > 60 * minutes:
                return
            yield seed

    def _show(self, row: SeedRow) -> None:
        found, now = self.summary, time.monotonic()
        if row.counts_as in (Verdict.INVALID, Verdict.ERROR):
            self._progress.tell(f"seed {row.seed}: {row.sentence}\n  {row.command}")
        said = ", ".join(f"{n} {v.word}" for v, n in sorted(found.verdicts.items(), key=_severity))
        line = (
            f"{found.runs:,} of {found.asked:,} seeds  {found.runs / self.real_s:.2f} seeds/s  "
            f"{found.virtual_s / self.real_s:.0f} virtual s/s  {said}"
        )
        if now - self._told >= _EVERY_S:
            self._told = now
            self._progress.tell(line)
        self._progress.status(line)


def _severity(item: tuple[Verdict, int]) -> int:
    return -item[0].value


def campaign(arguments: CampaignArguments) -> int:
    """Run the seeds on this machine; the exit code is that of the worst verdict."""
    return _carry_out(Campaign(arguments), lambda each: each.rows())


def campaign_by(arguments: CampaignArguments, spread: Spread) -> int:
    """As `campaign`, with seeds run wherever `spread` maps a function over them."""

    def rows(each: Campaign) -> Iterator[SeedRow]:
        for line in spread(RowAsJson(each.job), arguments.seeds):
            yield row_from(json.loads(line))

    return _carry_out(Campaign(arguments), rows)


@dataclass(frozen=True, slots=True)
class RowAsJson:
    """A function that can be sent to other machines."""

    job: Job

    def __call__(self, seed: int) -> str:
        return json.dumps(self.job.row(seed).as_json())


def _carry_out(each: Campaign, rows: Callable[[Campaign], Iterable[SeedRow]]) -> int:
    try:
        each.take(rows(each))
    except KeyboardInterrupt:
        sys.stdout.write(each.text() + "\n")
        raise OperatorError("interrupted; the seeds that were judged are told above") from None
    sys.stdout.write(each.text() + "\n")
    return each.summary.verdict.exit_code


def _choices(arguments: CampaignArguments) -> Choices:
    concurrency, rate = sparing_load(arguments.scenario, arguments.file)
    side = _side(arguments)
    return Choices(
        scenario=arguments.scenario,
        file=arguments.file,
        settings=arguments.settings,
        side=side.name if side is not None else "",
        nodes=arguments.nodes,
        duration_s=arguments.duration_s,
        concurrency=concurrency,
        rate=rate,
        runtime=SIM,
        mutation=arguments.mutation,
    )


def _side(arguments: CampaignArguments) -> Side | None:
    scenario = scenario_of(arguments.scenario, arguments.file)
    return scenario.side_with(NODE, arguments.settings)


def _expected(arguments: CampaignArguments) -> str:
    side = _side(arguments)
    return f"{side.name}: {side.promise} ({side.expected})" if side is not None else ""
