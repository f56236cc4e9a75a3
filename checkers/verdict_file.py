"""`verdict.json`: a judgement, as pages, reports and scripts read it.

It belongs to one run and names it: it has the checksums that `run.json` and the manifest had when
it was made. It is invalid beside another run's tables or a newer seal, and if any of those files is
gone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from crc32c import crc32c

from checkers.history.sealed_run import checked, laid_out, read_run_info, with_checksum
from checkers.history.store import MANIFEST, VERDICT, replace_file
from checkers.verdict import CheckResult, Judgement, Verdict

_JUDGED = "judged"  # the CRC of each file that identifies what was judged
_FILES = ("run.json", MANIFEST)
_BESIDE = "beside"  # the CRC of each file for people that belongs to the verdict


def as_row(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a JSON object."""
    row = {each.name: getattr(judgement, each.name) for each in fields(judgement)}
    columns = [each.name for each in fields(CheckResult)]
    results = [
        {name: getattr(result, name) for name in columns} | {"verdict": result.verdict.word}
        for result in judgement.results
    ]
    return row | {"verdict": judgement.verdict.word, "results": results}


def write_verdict(
    directory: Path, judgement: Judgement, *, beside: Sequence[str] = (), syncs: bool = True
) -> Path:
    """Write `verdict.json` into a run's directory, in one step; return its path.

    `beside`: files for people, which `changed_beside` compares later; those that exist count.
    """
    path = directory / VERDICT
    found = {name: crc for name, crc in _crcs(directory, beside).items() if crc is not None}
    more = {_JUDGED: _crcs(directory, _FILES), _BESIDE: found}
    row = json.loads(laid_out(as_row(judgement) | more))
    replace_file(path, with_checksum(row).encode(), syncs=syncs)
    return path


def read_verdict(directory: Path) -> Judgement:
    """The judgement in a run's directory.

    Raises FileNotFoundError if the run was not judged, and ValueError naming the file if it is no
    verdict, or not the verdict of the run beside it.
    """
    path = directory / VERDICT
    text = path.read_bytes().decode(errors="replace")
    try:
        row = checked(path, text, json.loads(text))
        judged = row.pop(_JUDGED)
        row.pop(_BESIDE, None)  # of earlier versions there is none
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


def changed_beside(directory: Path) -> list[str]:
    """The files for people that are not as they were when the verdict was written. One that is gone
    tells nothing wrong. For a verdict that `read_verdict` has read."""
    beside = json.loads((directory / VERDICT).read_bytes()).get(_BESIDE, {})
    now = _crcs(directory, beside)
    return sorted(name for name, crc in now.items() if crc is not None and crc != beside[name])


def _crcs(directory: Path, names: Iterable[str]) -> dict[str, int | None]:
    """The CRC of each file; a file that does not exist has none."""
    paths = {name: directory / name for name in names}
    return {
        name: crc32c(path.read_bytes()) if path.exists() else None for name, path in paths.items()
    }


def _require_of(directory: Path, judged: Mapping[str, int | None], run_id: str) -> None:
    """Raises ValueError if the verdict is of another run or of an older seal."""
    now = _crcs(directory, _FILES)
    if now["run.json"] is not None and (own := read_run_info(directory).run_id) != run_id:
        raise ValueError(
            f"{directory / VERDICT}: it is the verdict of {run_id}, but this run is {own}"
        )
    other = [name for name in _FILES if judged.get(name) != now[name]]
    if other:
        raise ValueError(
            f"{directory / VERDICT}: it is the verdict of another run, or of an older seal: "
            f"{' and '.join(other)} beside it changed since"
        )
