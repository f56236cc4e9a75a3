"""`kraft-chaos compare`: a story told in all its ways, side by side."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chaos.commands.errors import OperatorError, UsageError
from chaos.commands.run import RunArguments, perform, scenario_of
from chaos.judging import PAGE
from chaos.launch import Ran
from chaos.progress import ConsoleProgress
from chaos.scenario import Scenario
from chaos.scenario import Side as Way
from chaos.scenarios import STORIES
from checkers.history.run import read_run_info
from checkers.interval import in_words, wilson
from checkers.log.durability import CHECK as DURABILITY
from checkers.page.comparison import GAPS, Gap, Side, SideRun, gaps, render_comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """The command line of `compare`, checked."""

    scenario: str
    target: str
    settings: Mapping[str, str]  # of every side
    times: int
    seed: int
    out: Path
    as_json: bool


def compare(arguments: CompareArguments) -> int:
    """0 if every run of every side was judged as expected, else 1."""
    scenario = _with_sides(arguments.scenario)
    progress = ConsoleProgress()
    runs: dict[str, list[Ran]] = {side.name: [] for side in scenario.sides}
    page = arguments.out / f"{scenario.name}.html"
    for number in range(arguments.times):
        for side in scenario.sides:
            progress.tell(f"{scenario.name}, {side.name}, run {number + 1} of {arguments.times}")
            ran = perform(_run_arguments(arguments, number, side), progress)
            if ran.interrupted:
                raise OperatorError(f"interrupted; what was run so far is in {page}")
            runs[side.name].append(ran)
            _write(page, scenario, _sides(scenario, runs, arguments.out))
    sides = _sides(scenario, runs, arguments.out)
    sys.stdout.write((_as_json if arguments.as_json else _as_text)(sides, page) + "\n")
    return 0 if all(side.as_expected == len(side.runs) for side in sides) else 1


def _with_sides(name: str) -> Scenario:
    scenario = scenario_of(name)
    if not scenario.sides:
        tellable = ", ".join(each.name for each in STORIES.values() if each.sides)
        raise UsageError(f"{name} has no sides to compare; these have: {tellable}")
    return scenario


def _run_arguments(arguments: CompareArguments, number: int, side: Way) -> RunArguments:
    return RunArguments(
        scenario=arguments.scenario,
        seed=arguments.seed + number,
        nodes=None,
        duration_s=None,
        concurrency=None,
        rate=0.0,
        out=arguments.out,
        keep=False,
        as_json=False,
        target=arguments.target,
        runtime="",
        settings={**arguments.settings, **side.settings},
        topic_client=side.topic_client,
    )


def _sides(scenario: Scenario, runs: Mapping[str, Sequence[Ran]], out: Path) -> list[Side]:
    """Of those that have run, as the page shows them."""
    return [
        Side(
            name=side.name,
            promise=side.promise,
            expected=side.expected,
            runs=tuple(_side_run(ran, out) for ran in runs[side.name]),
        )
        for side in scenario.sides
        if runs[side.name]
    ]


def _side_run(ran: Ran, out: Path) -> SideRun:
    return SideRun(
        judgement=ran.judgement,
        href=os.path.relpath(ran.directory / PAGE, out),
        command=read_run_info(ran.directory).command,
    )


def _write(page: Path, scenario: Scenario, sides: Sequence[Side]) -> None:
    text = render_comparison(scenario.name, scenario.description, sides, DURABILITY)
    page.write_text(text, encoding="utf-8")
    page.with_suffix(".json").write_text(_as_json(sides, page) + "\n", encoding="utf-8")


def _as_text(sides: Sequence[Side], page: Path) -> str:
    lines = []
    for side in sides:
        counted = in_words(side.as_expected, len(side.runs))
        lines.append(f"{side.name:<14} expected {side.expected.word:<8} {counted}: {side.promise}")
        lines += [f"  {run.judgement.sentence}" for run in side.runs]
        lines += [f"  {name}: {gap.in_words()}" for name, gap in _gaps(side).items()]
    return "\n".join([*lines, f"  page: {page}"])


def _gaps(side: Side) -> Mapping[str, Gap]:
    """Of each kind of operation, for how long none succeeded, over all runs."""
    names = {name for run in side.runs for name in run.judgement.statistics}
    found = {name: gaps(side, name) for name in sorted(names) if name.startswith(GAPS)}
    return {
        name.removesuffix("_s").replace("_", " "): gap
        for name, gap in found.items()
        if gap is not None
    }


def _as_json(sides: Sequence[Side], page: Path) -> str:
    rows = [
        {
            "side": side.name,
            "promise": side.promise,
            "expected": side.expected.word,
            "as_expected": side.as_expected,
            "interval": wilson(side.as_expected, len(side.runs)),
            "gaps_s": {name: asdict(gap) for name, gap in _gaps(side).items()},
            "runs": [_run_json(run) for run in side.runs],
        }
        for side in sides
    ]
    return json.dumps({"page": str(page), "sides": rows}, indent=2)


def _run_json(run: SideRun) -> dict[str, object]:
    facts = [row.facts for row in run.judgement.results if row.check == DURABILITY]
    return {
        "run_id": run.judgement.run_id,
        "verdict": run.judgement.verdict.word,
        "sentence": run.judgement.sentence,
        "facts": dict(facts[0]) if facts else {},
        "command": run.command,
    }
