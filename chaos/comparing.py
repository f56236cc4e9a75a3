"""`kraft-chaos compare`: the sides of scenarios, run and shown beside each other."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chaos.cluster.targets.named import NODE
from chaos.installation import prepare
from chaos.judging import PAGE
from chaos.launch import Ran, perform
from chaos.operator_errors import OperatorError, UsageError
from chaos.planning import Choices, plan_of, scenario_of
from chaos.progress import ConsoleProgress
from chaos.releases import KAFKA
from chaos.runtimes import DOCKER
from chaos.scenario import SIM, Scenario, Side
from chaos.scenarios import SCENARIOS
from checkers.history.sealed_run import read_run_info
from checkers.interval import in_words, wilson
from checkers.log.durability import CHECK as DURABILITY
from checkers.page.comparison import GAPS, ComparedSide, Gap, SideRun, gaps, render_comparison
from checkers.page.overview import Compared, render_overview
from checkers.page.units import label

OVERVIEW = "scenarios.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """The command line of `compare`, checked."""

    scenarios: Sequence[str]  # none: all that have sides
    runtime: str  # "": whichever there is
    # "": our own node, but in containers Apache Kafka for scenarios of brokers
    target: str
    settings: Mapping[str, str]  # of every side
    times: int
    seed: int
    out: Path
    as_json: bool


def compare(arguments: CompareArguments) -> int:
    """0 if every run of every side was judged as expected, else 1."""
    told: list[Compared] = []
    overview = arguments.out / OVERVIEW
    scenarios = _with_sides(arguments.scenarios)
    _require_possible(scenarios, arguments)
    _have_images(scenarios, arguments)
    for scenario in scenarios:
        told.append(_tell(scenario, arguments))
        if len(told) > 1:
            overview.write_text(render_overview(told), encoding="utf-8")
    if arguments.as_json:
        said = [json.dumps([_as_json(each) for each in told], indent=2)]
    elif len(told) > 1:
        said = [f"{each.name}\n{_as_text(each, arguments.out)}" for each in told]
        said.append(f"all of them: {overview}")
    else:
        said = [_as_text(each, arguments.out) for each in told]
    sys.stdout.write("\n".join(said) + "\n")
    return 0 if all(each.is_as_expected for each in told) else 1


def _with_sides(names: Sequence[str]) -> list[Scenario]:
    tellable = [each for each in SCENARIOS.values() if each.sides]
    if not names:
        return tellable
    for name in names:
        if not scenario_of(name).sides:
            known = ", ".join(each.name for each in tellable)
            raise UsageError(f"{name} has no sides to compare; these have: {known}")
    return [scenario_of(name) for name in dict.fromkeys(names)]


def _tell(scenario: Scenario, arguments: CompareArguments) -> Compared:
    """All runs of one scenario; the page shows what there is after each of them."""
    progress = ConsoleProgress()
    runs: dict[str, list[SideRun]] = {side.name: [] for side in scenario.sides}
    for number in range(arguments.times):
        for side in scenario.sides:
            progress.tell(f"{scenario.name}, {side.name}, run {number + 1} of {arguments.times}")
            began = time.monotonic()
            ran = perform(_choices(scenario, arguments, number, side), arguments.out, progress)
            if ran.interrupted:
                page = arguments.out / f"{scenario.name}.html"
                raise OperatorError(f"interrupted; what was run so far is in {page}")
            runs[side.name].append(_side_run(ran, arguments.out, time.monotonic() - began))
            found = _compared(scenario, runs)
            _write(found, arguments.out)
    return found


def _target(scenario: Scenario, side: Side, arguments: CompareArguments) -> str:
    if side.release:
        return f"{KAFKA}:{side.release}"
    in_containers = arguments.runtime != SIM
    return arguments.target or (KAFKA if scenario.is_of_brokers and in_containers else NODE)


def _require_possible(scenarios: Sequence[Scenario], arguments: CompareArguments) -> None:
    """What the target cannot do is said before the first run, which takes its time. Raises
    UsageError."""
    for scenario in scenarios:
        for side in scenario.sides:
            choices = _choices(scenario, arguments, 0, side)
            plan_of(replace(choices, runtime=choices.runtime or DOCKER))


def _have_images(scenarios: Sequence[Scenario], arguments: CompareArguments) -> None:
    """Of every release that the sides name; what is there already is left alone. Raises SetupError,
    and UsageError for a release that was asked for where the sides name theirs."""
    named = [(each, side.release) for each in scenarios for side in each.sides if side.release]
    other = f"--target {arguments.target}" if arguments.target not in ("", KAFKA) else ""
    if arguments.runtime == SIM:
        other = f"--runtime {SIM}"
    if named and other:
        releases = ", ".join(release for _, release in named)
        raise UsageError(
            f"{other}: the sides of {named[0][0].name} are releases of their "
            f"own: {releases}\n  try: without {other.split()[0]}"
        )
    progress = ConsoleProgress()
    for release in dict.fromkeys(release for _, release in named):
        prepare(progress.tell, release)
    progress.end()


def _choices(scenario: Scenario, arguments: CompareArguments, number: int, side: Side) -> Choices:
    return Choices(
        scenario=scenario.name,
        seed=arguments.seed + number,
        target=_target(scenario, side, arguments),
        settings={**arguments.settings, **side.settings},
        topic_client=side.topic_client,
        chores=side.chores,
        side=side.name,
        runtime=arguments.runtime,
    )


def _compared(scenario: Scenario, runs: Mapping[str, Sequence[SideRun]]) -> Compared:
    """Of the sides that have run, as the page shows them."""
    sides = [
        ComparedSide(
            name=side.name,
            promise=side.promise,
            expected=side.expected,
            runs=tuple(runs[side.name]),
        )
        for side in scenario.sides
        if runs[side.name]
    ]
    return Compared(
        name=scenario.name,
        description=scenario.description,
        sides=tuple(sides),
        href=f"{scenario.name}.html",
    )


def _side_run(ran: Ran, out: Path, took_s: float) -> SideRun:
    return SideRun(
        judgement=ran.judgement,
        href=os.path.relpath(ran.directory / PAGE, out),
        command=read_run_info(ran.directory).command,
        took_s=took_s,
    )


def _write(found: Compared, out: Path) -> None:
    page = out / found.href
    text = render_comparison(found.name, found.description, found.sides, DURABILITY)
    page.write_text(text, encoding="utf-8")
    content = json.dumps(_as_json(found), indent=2)
    page.with_suffix(".json").write_text(content + "\n", encoding="utf-8")


def _as_text(found: Compared, out: Path) -> str:
    lines = []
    for side in found.sides:
        counted = in_words(side.as_expected, len(side.runs))
        lines.append(f"{side.name:<14} {counted} as expected: {side.promise} ({side.expected})")
        for run in side.runs:
            lines.append(f"  {run.judgement.sentence}")
            if unlike := side.expected.unlike(run.judgement):
                lines.append(f"  not as expected: {unlike}")
        lines.append(f"  a run took {side.took.in_words()}")
        lines += [f"  {label(name)}: {gap.in_words()}" for name, gap in _gaps(side)]
    return "\n".join([*lines, f"  page: {out / found.href}"])


def _gaps(side: ComparedSide) -> Iterator[tuple[str, Gap]]:
    """For how long no operation of some kind succeeded, over all runs, by the statistic's name."""
    for name in sorted({name for run in side.runs for name in run.judgement.statistics}):
        gap = gaps(side, name) if name.startswith(GAPS) else None
        if gap is not None:
            yield name, gap


def _as_json(found: Compared) -> Mapping[str, object]:
    rows = [
        {
            "side": side.name,
            "promise": side.promise,
            "expected": str(side.expected),
            "as_expected": side.as_expected,
            "interval": wilson(side.as_expected, len(side.runs)),
            "gaps": {name: asdict(gap) for name, gap in _gaps(side)},
            "runs": [_run_json(side, run) for run in side.runs],
        }
        for side in found.sides
    ]
    return {"scenario": found.name, "page": found.href, "sides": rows}


def _run_json(side: ComparedSide, run: SideRun) -> dict[str, object]:
    facts = [row.facts for row in run.judgement.results if row.check == DURABILITY]
    return {
        "run_id": run.judgement.run_id,
        "verdict": run.judgement.verdict.word,
        "sentence": run.judgement.sentence,
        "unlike": side.expected.unlike(run.judgement),
        "facts": dict(facts[0]) if facts else {},
        "took_s": round(run.took_s, 1),
        "command": run.command,
    }
