"""`verdict.json`: a judgement as pages, reports and scripts read it.

It is of one run, and says of which: what `run.json` and the manifest were when it was made. Beside
another run's tables, or a newer seal, it is no verdict; nor is one of which a part is gone.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from crc32c import crc32c

from checkers.history.laid_out import laid_out
from checkers.history.sealed_run import checked, read_run_info, with_checksum
from checkers.history.store import MANIFEST, VERDICT, replace_file
from checkers.verdict import CheckResult, Judgement, Verdict

_JUDGED = "judged"  # the CRC of each file that says what was judged
_FILES = ("run.json", MANIFEST)


def as_row(judgement: Judgement) -> dict[str, Any]:
    """What is told of a judgement."""
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
    row = json.loads(laid_out(as_row(judgement) | {_JUDGED: _judged(directory)}))
    replace_file(path, with_checksum(row).encode(), syncs=syncs)
    return path


def read_verdict(directory: Path) -> Judgement:
    """The judgement in a run's directory.

    Raises FileNotFoundError where the run was not judged, ValueError naming a file that is none, or
    none of what lies beside it.
    """
    path = directory / VERDICT
    text = path.read_bytes().decode(errors="replace")
    try:
        row = checked(path, text, json.loads(text))
        judged = row.pop(_JUDGED)
        results = tuple(
            CheckResult(**{**result, "verdict": Verdict[result["verdict"].upper()]})
            for result in row.pop("results")
        )
        verdict = Verdict[row.pop("verdict").upper()]
        judgement = Judgement(**row, verdict=verdict, results=results)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: not a verdict: {error}") from error
    _require_of(directory, judged, judgement.run_id)
    return judgement


def _judged(directory: Path) -> dict[str, int | None]:
    """None of a file that is not there."""
    paths = {name: directory / name for name in _FILES}
    return {
        name: crc32c(path.read_bytes()) if path.exists() else None for name, path in paths.items()
    }


def _require_of(directory: Path, judged: Mapping[str, int | None], run_id: str) -> None:
    """Raises ValueError."""
    now = _judged(directory)
    if now["run.json"] is not None and (own := read_run_info(directory).run_id) != run_id:
        raise ValueError(f"{directory / VERDICT}: of {run_id}, and this is {own}")
    other = [name for name in _FILES if judged.get(name) != now[name]]
    if other:
        raise ValueError(
            f"{directory / VERDICT}: of another run, or of an older seal: {' and '.join(other)} "
            "beside it is not what was judged"
        )
