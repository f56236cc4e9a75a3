"""`kraft-chaos compare`: runs the sides of scenarios and shows them beside each other.

In what two judged runs differ: what was run, what each failed by, its checks, its numbers.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chaos.campaign.coverage import fingerprint
from chaos.cluster.targets.named import NODE
from chaos.errors import OperatorError, UsageError
from chaos.progress import ConsoleProgress
from chaos.releases import KAFKA
from chaos.run.installation import prepare
from chaos.run.judging import PAGE
from chaos.run.launch import Ran, perform
from chaos.run.planning import Choices, plan_of, runs_on_kafka, runtime_of, scenario_of
from chaos.run.runtimes import DOCKER
from chaos.scenario import SIM, Scenario, Side
from chaos.scenarios import SCENARIOS
from checkers.conclusion import STARVED
from checkers.evidence.evidence import Evidence
from checkers.evidence.starvation import why_in_doubt
from checkers.history.sealed_run import RunInfo, read_run_info
from checkers.history.store import UnreadableRunError, read_run, replace_file
from checkers.log.durability import CHECK as DURABILITY
from checkers.page.comparison import (
    GAPS,
    Beside,
    Changes,
    Compared,
    ComparedSide,
    Gap,
    SideRun,
    as_lines,
    beside,
    gaps,
    partition_changes,
    records_lost,
    render_comparison,
    render_overview,
)
from checkers.page.units import label
from checkers.run.expectation import Expectation
from checkers.verdict import Judgement, Verdict, wilson

OVERVIEW = "scenarios.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """The command line of `compare`, checked."""

    scenarios: Sequence[str]  # none: all scenarios that have sides
    runtime: str  # "": the available one
    # Without one: our own node, but in containers Apache Kafka for scenarios of brokers. Two are
    # shown beside each other.
    targets: Sequence[str]
    settings: Mapping[str, str]  # for every side
    times: int
    least: int | None  # of TIMES, for a side expected to be invalid; None: every run of every side
    seed: int
    out: Path
    as_json: bool


def compare(arguments: CompareArguments) -> int:
    """0 if every run of every side was judged as expected, or the bar is kept; else 1."""
    told: list[Compared] = []
    overview = arguments.out / OVERVIEW
    scenarios = _with_sides(arguments.scenarios)
    _require_possible(scenarios, arguments)
    _have_images(scenarios, arguments)
    for scenario in scenarios:
        told.append(_tell(scenario, arguments))
        if len(told) > 1:
            replace_file(overview, render_overview(told).encode(), syncs=False)
    if arguments.as_json:
        said = [json.dumps([_as_json(each) for each in told], indent=2)]
    elif len(told) > 1:
        said = [f"{each.name}\n{_as_text(each, arguments.out)}" for each in told]
        said.append(f"all of them: {overview}")
    else:
        said = [_as_text(each, arguments.out) for each in told]
    sys.stdout.write("\n".join(said) + "\n")
    return 0 if all(_is_kept(each, arguments) for each in told) else 1


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
    """Run one scenario's sides, and update the page after each run. With a bar, each run that was
    set aside is repeated, within the limit."""
    progress = ConsoleProgress()
    columns = _columns(scenario, arguments)
    runs: list[list[SideRun]] = [[] for _ in columns]
    rounds = arguments.times * (1 if arguments.least is None else 2)
    for number in range(rounds):
        for column, its_runs in zip(columns, runs, strict=True):
            if sum(not run.doubt for run in its_runs) == arguments.times:
                continue
            told = f"{column.side.name}, {column.target}"
            progress.tell(f"{scenario.name}, {told}, run {number + 1} of {arguments.times}")
            began = time.monotonic()
            ran = perform(_choices(scenario, arguments, number, column), arguments.out, progress)
            if ran.interrupted:
                page = arguments.out / f"{scenario.name}.html"
                raise OperatorError(f"interrupted; what was run so far is in {page}")
            took_s = time.monotonic() - began
            its_runs.append(_side_run(column.side, ran, arguments, took_s))
            found = _compared(scenario, arguments, zip(columns, runs, strict=True))
            _write(found, arguments.out)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A side, run on one target."""

    side: Side
    target: str


def _columns(scenario: Scenario, arguments: CompareArguments) -> list[_Column]:
    return [
        _Column(side=side.on(target), target=target)
        for side in scenario.sides
        for target in _targets(scenario, side, arguments)
        if not side.mutation or target == NODE
    ]


def _targets(scenario: Scenario, side: Side, arguments: CompareArguments) -> Sequence[str]:
    if side.release:
        return [f"{KAFKA}:{side.release}"]
    in_containers = arguments.runtime != SIM
    usual = KAFKA if runs_on_kafka(scenario) and in_containers else NODE
    return arguments.targets or [usual]


def _require_possible(scenarios: Sequence[Scenario], arguments: CompareArguments) -> None:
    """Refuse what the target cannot do before the first, long run. Raises UsageError."""
    for scenario in scenarios:
        for column in _columns(scenario, arguments):
            choices = _choices(scenario, arguments, 0, column)
            if choices.runtime:
                runtime_of(choices.runtime, ConsoleProgress().tell, choices.target)
            plan_of(replace(choices, runtime=choices.runtime or DOCKER))


def _have_images(scenarios: Sequence[Scenario], arguments: CompareArguments) -> None:
    """Set up every release that the sides name; existing images stay. Raises SetupError, and
    UsageError if a release is requested although the sides name theirs."""
    named = [(each, side.release) for each in scenarios for side in each.sides if side.release]
    asked = ",".join(arguments.targets)
    other = f"--target {asked}" if asked not in ("", KAFKA) else ""
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


def _choices(
    scenario: Scenario, arguments: CompareArguments, number: int, column: _Column
) -> Choices:
    side = column.side
    return Choices(
        scenario=scenario.name,
        seed=arguments.seed + number,
        target=column.target,
        settings={**arguments.settings, **side.settings},
        mutation=side.mutation,
        topic_client=side.topic_client,
        chores=side.chores,
        side=side.name,
        runtime=arguments.runtime,
    )


def _compared(
    scenario: Scenario,
    arguments: CompareArguments,
    runs: Iterable[tuple[_Column, Sequence[SideRun]]],
) -> Compared:
    """The sides that have run so far, as the page shows them."""
    sides = [
        ComparedSide(
            name=column.side.name,
            promise=column.side.promise,
            expected=column.side.expected,
            runs=tuple(its_runs),
            target=column.target if len(arguments.targets) > 1 else "",
        )
        for column, its_runs in runs
        if its_runs
    ]
    return Compared(
        name=scenario.name,
        description=scenario.description,
        sides=tuple(sides),
        href=f"{scenario.name}.html",
    )


def _side_run(side: Side, ran: Ran, arguments: CompareArguments, took_s: float) -> SideRun:
    info = read_run_info(ran.directory)
    compared = len(arguments.targets) > 1
    return SideRun(
        judgement=ran.judgement,
        href=os.path.relpath(ran.directory / PAGE, arguments.out),
        command=info.command,
        took_s=took_s,
        doubt=doubt_of(side.expected, ran.judgement, info),
        changes=_changes(ran.directory) if compared else {},
    )


def _changes(directory: Path) -> Changes:
    try:
        return partition_changes(Evidence(read_run(directory)))
    except UnreadableRunError:  # its judgement has the reason
        return {}


def doubt_of(expected: Expectation, judgement: Judgement, info: RunInfo) -> str:
    """Why a run counts neither for its side nor against it: it accuses no node and is not as
    expected, and a fault left no evidence, or the machine was starved. "" if it counts."""
    if expected.holds(judgement) or judgement.verdict is Verdict.INVALID:
        return ""
    if judgement.verdict is Verdict.VOID:
        return "it is void"
    starved = next((row for row in judgement.results if STARVED in row.facts), None)
    if starved is not None:
        return starved.message
    return why_in_doubt(info.pressure) if info.pressure else ""


def _is_kept(found: Compared, arguments: CompareArguments) -> bool:
    if arguments.least is None:
        return found.is_as_expected
    return found.keeps(arguments.least, arguments.times)


def _write(found: Compared, out: Path) -> None:
    page = out / found.href
    text = render_comparison(found.name, found.description, found.sides, DURABILITY)
    replace_file(page, text.encode(), syncs=False)
    content = json.dumps(_as_json(found), indent=2)
    replace_file(page.with_suffix(".json"), f"{content}\n".encode(), syncs=False)


def _as_text(found: Compared, out: Path) -> str:
    lines = []
    for side in found.sides:
        counted = side.in_words(" as expected")
        lines.append(f"{side.column:<14} {counted}: {side.promise} ({side.expected})")
        for run in side.runs:
            lines.append(f"  {run.judgement.sentence}")
            if run.doubt:
                lines.append(f"  set aside: {run.doubt}")
            elif mismatch := side.expected.mismatch(run.judgement):
                lines.append(f"  not as expected: {mismatch}")
        lines.append(f"  a run took {side.took.in_words()}")
        if (lost := records_lost(side, DURABILITY)) is not None:
            lines.append(f"  acknowledged or polled records lost: {lost.in_words()}")
        lines += [f"  {label(name)}: {gap.in_words()}" for name, gap in _gaps(side)]
    lines += [line for each in beside(found.sides) for line in as_lines(each)]
    return "\n".join([*lines, f"  page: {out / found.href}"])


def _gaps(side: ComparedSide) -> Iterator[tuple[str, Gap]]:
    """The longest time in which no operation of a kind succeeded, over all runs, by the statistic's
    name."""
    for name in sorted({name for run in side.runs for name in run.judgement.statistics}):
        gap = gaps(side, name) if name.startswith(GAPS) else None
        if gap is not None:
            yield name, gap


def _as_json(found: Compared) -> Mapping[str, object]:
    rows = [
        {
            "side": side.name,
            "target": side.target,
            "promise": side.promise,
            "expected": str(side.expected),
            "as_expected": side.as_expected,
            "counted": side.counted,
            "interval": wilson(side.as_expected, side.counted),
            "records_lost": _lost_json(side),
            "gaps": {name: asdict(gap) for name, gap in _gaps(side)},
            "runs": [_run_json(side, run) for run in side.runs],
        }
        for side in found.sides
    ]
    both = [_beside_json(each) for each in beside(found.sides)]
    return {"scenario": found.name, "page": found.href, "sides": rows, "beside": both}


def _lost_json(side: ComparedSide) -> Mapping[str, object] | None:
    lost = records_lost(side, DURABILITY)
    return None if lost is None else {**asdict(lost), "interval": wilson(lost.runs, lost.of_runs)}


def _beside_json(each: Beside) -> Mapping[str, object]:
    return {
        "side": each.side,
        "targets": [each.one.target, each.other.target],
        "differs_in_verdict": each.differs_in_verdict,
        "differ_in": [name for name in each.partitions if each.differs_in(name)],
        "states": {name: each.rows(name) for name in each.partitions},
    }


def _run_json(side: ComparedSide, run: SideRun) -> dict[str, object]:
    facts = [row.facts for row in run.judgement.results if row.check == DURABILITY]
    return {
        "run_id": run.judgement.run_id,
        "verdict": run.judgement.verdict.word,
        "sentence": run.judgement.sentence,
        "unlike": side.expected.mismatch(run.judgement),
        "doubt": run.doubt,
        "facts": dict(facts[0]) if facts else {},
        "took_s": round(run.took_s, 1),
        "command": run.command,
    }


_WHAT = ("scenario", "side", "seed", "target", "runtime", "nodes", "duration_s", "mutation")
_TOLD_FROM = 1.2  # the ratio of two numbers

# What differs: by its part, then its name, the value in each run.
Differences = dict[str, dict[str, tuple[Any, Any]]]


def differences(
    info: RunInfo, judgement: Judgement, other_info: RunInfo, other_judgement: Judgement
) -> Differences:
    """Parts without a difference are left out."""
    parts = {
        "verdict": (_outcome(judgement), _outcome(other_judgement)),
        "run": (_what(info), _what(other_info)),
        "made of": (dict(info.made_of), dict(other_info.made_of)),
        "checks": (_checks(judgement), _checks(other_judgement)),
    }
    found: Differences = {part: _unlike(one, other) for part, (one, other) in parts.items()}
    found["numbers"] = {
        name: values
        for name, values in _unlike(judgement.statistics, other_judgement.statistics).items()
        if _is_far(*values)
    }
    return {part: unlike for part, unlike in found.items() if unlike}


def _outcome(judgement: Judgement) -> dict[str, str]:
    failed = fingerprint(judgement, None)
    return {"verdict": judgement.verdict.word, "fails by": str(failed) if failed else ""}


def _what(info: RunInfo) -> dict[str, Any]:
    told = {name: getattr(info, name) for name in _WHAT}
    told["target"] = info.target.partition(" (")[0]  # images are told apart
    return {**told, **{f"setting {name}": value for name, value in info.settings.items()}}


def _checks(judgement: Judgement) -> dict[str, str]:
    return {row.check: row.verdict.word for row in judgement.results}


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*one, *other))
    pairs = {name: (one.get(name), other.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _is_far(one: Any, other: Any) -> bool:
    numbers = [each for each in (one, other) if isinstance(each, int | float)]
    if len(numbers) < 2:
        return True
    low, high = sorted(map(abs, numbers))
    return high >= _TOLD_FROM * low


def in_words(value: Any) -> str:
    """One of the values that differ, for people."""
    if isinstance(value, float):
        return f"{value:,.6g}"
    return "-" if value is None or value == "" else str(value)
