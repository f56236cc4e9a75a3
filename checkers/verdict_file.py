"""`verdict.json`: a judgement as pages, reports and scripts read it."""

import json
from dataclasses import asdict
from pathlib import Path

from checkers.history.store import VERDICT, replace_file
from checkers.verdict import CheckResult, Judgement, Verdict


def write_verdict(directory: Path, judgement: Judgement, *, syncs: bool = True) -> Path:
    """Put `verdict.json` into a run's directory, in one step; returns its path."""
    row = asdict(judgement)
    row["verdict"] = judgement.verdict.word
    for result in row["results"]:
        result["verdict"] = result["verdict"].word
    path = directory / VERDICT
    replace_file(path, json.dumps(row, indent=2).encode() + b"\n", syncs=syncs)
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
