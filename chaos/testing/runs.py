"""A scenario is run, and its verdict is a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chaos.progress import ConsoleProgress
from chaos.run.judging import PAGE
from chaos.run.launch import perform
from chaos.run.plan_files import replay_line
from chaos.run.planning import Choices
from chaos.run.scenario_file import read_scenario_file
from checkers.verdict import CheckResult, Judgement, Verdict

_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run that has ended, in its directory."""

    directory: Path
    seed: int
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def page(self) -> Path:
        """The page that shows the run, with witnesses of what was wrong."""
        return self.directory / PAGE

    @property
    def again(self) -> str:
        """The command that repeats the run."""
        return replay_line(str(self.directory))

    def check(self, name: str) -> CheckResult:
        """The row of one check. Raises LookupError if it did not judge the run."""
        for row in self.judgement.results:
            if row.check == name:
                return row
        raise LookupError(f"{name} did not judge {self.directory}")

    def __str__(self) -> str:
        """What an assertion shows."""
        return f"{self.judgement.sentence}\n  page: {self.page}\n  again: {self.again}"


def run_scenario(
    scenario: str = "",
    *,
    seed: int,
    out: Path,
    runtime: str = "",
    target: str = "node",
    nodes: int | None = None,
    duration_s: float | None = None,
    concurrency: int | None = None,
    rate: float = 0.0,
    settings: Mapping[str, str] = _NONE,
    mutation: str = "",
    scenario_file: Path | None = None,
) -> JudgedRun:
    """Run a scenario to its verdict, as `kraft-chaos run` does; the arguments are its options.

    Without a `runtime` in containers: no engine is an error, never a run in virtual time. The run's
    directory is made under `out`. Raises UsageError for what there is not, and the errors of
    set-up and cluster.
    """
    choices = Choices(
        scenario=scenario,
        file=read_scenario_file(scenario_file) if scenario_file is not None else None,
        seed=seed,
        runtime=runtime,
        target=target,
        nodes=nodes,
        duration_s=duration_s,
        concurrency=concurrency,
        rate=rate,
        settings=settings,
        mutation=mutation,
    )
    ran = perform(choices, out, ConsoleProgress(quiet=True))
    return JudgedRun(directory=ran.directory, seed=seed, judgement=ran.judgement)
