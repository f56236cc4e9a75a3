"""How verdicts look on a terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from chaos.judging import PAGE, REPRO
from checkers.verdict import CheckResult, EventValue, Judgement, Verdict


def judgement_text(judgement: Judgement, directory: Path) -> str:
    """The verdict, its numbers, its rows and where to read on."""
    lines = [
        f"{judgement.verdict.word.upper()}  {judgement.sentence}",
        *_statistics(judgement.statistics),
        *(_row(result) for result in judgement.results),
        *_witnesses(judgement.results),
        *_where(directory),
    ]
    return "\n".join(lines)


def judgement_json(judgement: Judgement, directory: Path) -> str:
    """The same for scripts: `verdict.json` and where it lies."""
    content = asdict(judgement)
    content["verdict"] = judgement.verdict.word
    for row in content["results"]:
        row["verdict"] = row["verdict"].word
    content["directory"] = str(directory)
    return json.dumps(content, indent=2)


def _statistics(statistics: Mapping[str, EventValue | float]) -> list[str]:
    if not statistics:
        return []
    width = max(len(name) for name in statistics)
    return ["", *(f"  {name:<{width}}  {_number(value)}" for name, value in statistics.items()), ""]


def _number(value: EventValue | float) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _row(result: CheckResult) -> str:
    return f"  {result.verdict.word:<8} {result.check:<28} {result.message}"


def _witnesses(results: Sequence[CheckResult]) -> list[str]:
    lines = []
    for result in results:
        if result.verdict is Verdict.INVALID:
            lines.append(f"  witness of {result.check}:")
            lines += [f"    {_event(event)}" for event in result.witness]
    return lines


def _event(event: Mapping[str, EventValue]) -> str:
    rest = ", ".join(f"{name} {value}" for name, value in event.items() if name != "what")
    return f"{event.get('what', '')}  ({rest})" if rest else str(event.get("what", ""))


def _where(directory: Path) -> list[str]:
    page, repro = directory / PAGE, directory / REPRO
    lines = [f"  page: {page}" if page.exists() else f"  no page; see {directory}/harness.log"]
    if repro.exists():
        lines.append(f"  again: sh {repro}")
    return lines
