"""Verdicts on a terminal, and what commands print for scripts."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaos.releases import made_of
from chaos.run.judging import HARNESS_LOG, PAGE, REPRO
from checkers.history.sealed_run import read_run_info
from checkers.verdict import CheckResult, EventValue, Judgement, Verdict
from checkers.verdict_file import as_row

_OUTCOMES = ("ok", "fail", "info")
_LATENCIES = ("p50", "p99", "max")


def judgement_text(judgement: Judgement, directory: Path) -> str:
    """The verdict, its numbers, its rows and the files to read next."""
    lines = [
        judgement.sentence,
        *_statistics(judgement.statistics),
        *_rows(judgement.results),
        *_witnesses(judgement.results),
        *_where(directory),
    ]
    return "\n".join(lines)


def judgement_json(judgement: Judgement, directory: Path) -> str:
    """The same for scripts: `verdict.json`, its path, and which run it is."""
    return of_run(directory, as_row(judgement))


def of_run(directory: Path, about: Mapping[str, object]) -> str:
    """A document about a recorded run."""
    info = read_run_info(directory)
    return document(
        {**about, "directory": str(directory)},
        runtime=info.runtime,
        target=info.target,
        scenario=info.scenario,
        seed=info.seed,
        commit=info.made_of.get("commit"),
    )


def document(
    about: Mapping[str, object],
    *,
    runtime: str | None = None,
    target: str | None = None,
    scenario: str | None = None,
    seed: int | None = None,
    commit: str | None = None,
) -> str:
    """What a command prints with --json: one JSON object. Every command's names runtime, target,
    scenario and seed, null where it has none, and the commit of the program, or of the program
    that recorded the run."""
    facts = {
        "runtime": runtime,
        "target": target,
        "scenario": scenario,
        "seed": seed,
        "commit": commit or made_of(this_machine=False).get("commit"),
    }
    return json.dumps({**about, **facts}, indent=2)


def _statistics(numbers: Mapping[str, EventValue | float]) -> list[str]:
    """The most important numbers; all of them are in `verdict.json`."""
    if not numbers:
        return []
    outcomes = ", ".join(f"{_number(numbers, f'operations_{end}')} {end}" for end in _OUTCOMES)
    latencies = ", ".join(f"{p} {_number(numbers, f'latency_{p}_ms')} ms" for p in _LATENCIES)
    return [
        f"  operations  {outcomes}; {_number(numbers, 'ok_per_s')} ok/s",
        f"  latency     {latencies}",
        f"  elections   {_number(numbers, 'elections')}; longest time without a success "
        f"{_number(numbers, 'longest_without_success_s')} s",
        "",
    ]


def _number(numbers: Mapping[str, EventValue | float], name: str) -> str:
    value = numbers.get(name)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return "-" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _rows(results: Sequence[CheckResult]) -> list[str]:
    width = max((len(result.check) for result in results), default=0)
    return [
        f"  {result.verdict.word:<8} {result.check:<{width}}  {result.message}"
        for result in results
    ]


def _witnesses(results: Sequence[CheckResult]) -> list[str]:
    lines = []
    for result in results:
        if result.verdict is Verdict.INVALID:
            lines.append(f"  witness of {result.check}:")
            lines.append(f"    promised: {result.promise}")
            lines += [f"    {_event(event)}" for event in result.witness]
    return lines


def _event(event: Mapping[str, EventValue]) -> str:
    rest = ", ".join(f"{name} {value}" for name, value in event.items() if name != "what")
    return f"{event.get('what', '')}  ({rest})" if rest else str(event.get("what", ""))


def _where(directory: Path) -> list[str]:
    page, repro, log = directory / PAGE, directory / REPRO, directory / HARNESS_LOG
    lines = [f"  page: {page}"] if page.exists() else []
    if not lines:
        lines.append(f"  no page; see {log}" if log.exists() else "  no page")
    if repro.exists():
        lines.append(f"  again: sh {repro}")
    return lines
