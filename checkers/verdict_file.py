"""`verdict.json`: a judgement as pages, reports and scripts read it."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from checkers.history.laid_out import laid_out
from checkers.history.store import VERDICT, replace_file
from checkers.verdict import CheckResult, Judgement, Verdict


def as_row(judgement: Judgement) -> dict[str, Any]:
    """What a `verdict.json` holds."""
    row = {each.name: getattr(judgement, each.name) for each in fields(judgement)}
    columns = [each.name for each in fields(CheckResult)]
    results = [
        {name: getattr(result, name) for name in columns} | {"verdict": result.verdict.word}
        for result in judgement.results
    ]
    return row | {"verdict": judgement.verdict.word, "results": results}


def write_verdict(directory: Path, judgement: Judgement, *, syncs: bool = True) -> Path:
    """Put `verdict.json` into a run's directory, in one step; returns its path."""
    path = directory / VERDICT
    replace_file(path, laid_out(as_row(judgement)), syncs=syncs)
    return path


def read_verdict(directory: Path) -> Judgement:
    """The judgement in a run's directory.

    Raises FileNotFoundError where the run was not judged, ValueError naming a file that is none.
    """
    path = directory / VERDICT
    try:
        row = json.loads(path.read_bytes())
        results = tuple(
            CheckResult(**{**result, "verdict": Verdict[result["verdict"].upper()]})
            for result in row.pop("results")
        )
        verdict = Verdict[row.pop("verdict").upper()]
        return Judgement(**row, verdict=verdict, results=results)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: not a verdict: {error}") from error
