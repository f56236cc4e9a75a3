"""Which directories make it into a report; none is left out in silence."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.history.sealed_run import with_checksum
from checkers.history.store import MANIFEST, read_run
from checkers.suite import judge, write_verdict
from checkers.verdict import Verdict
from spark_reports.report_build import NothingToReportError, build
from spark_reports.sealed_archive import examine
from tests.support.sealed_runs import Shape, seal_run

SMALL = Shape(duration_s=5, faults=((2, 3),))


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    return seal_run(tmp_path / "good", SMALL)


def reason_for(directory: Path) -> str:
    archive = examine([directory])
    assert not archive.runs
    (skipped,) = archive.skipped
    assert skipped.directory == directory
    return skipped.reason


def test_a_sealed_run_is_taken_with_its_verdict(sealed: Path) -> None:
    write_verdict(sealed, judge(read_run(sealed)))
    (run,) = examine([sealed]).runs
    assert (run.info.run_id, run.verdict) == ("good", Verdict.VALID)


def test_a_run_that_nobody_judged_has_no_verdict(sealed: Path) -> None:
    (run,) = examine([sealed]).runs
    assert run.verdict is None


def test_one_run_named_twice_is_one_run(sealed: Path) -> None:
    latest = sealed.parent / "latest"
    latest.symlink_to(sealed.name)
    assert len(examine([sealed, latest]).runs) == 1


def test_two_directories_with_one_run_id_are_one_run_and_a_reason(sealed: Path) -> None:
    (sealed.parent / "copy").mkdir()
    for file in sealed.iterdir():
        (sealed.parent / "copy" / file.name).write_bytes(file.read_bytes())
    archive = examine([sealed, sealed.parent / "copy"])
    assert len(archive.runs) == 1
    assert "its run id is that of" in archive.skipped[0].reason


def test_a_run_that_was_never_sealed_is_named(sealed: Path) -> None:
    (sealed / MANIFEST).unlink()
    assert "not sealed" in reason_for(sealed)


def test_a_torn_manifest_is_named(sealed: Path) -> None:
    (sealed / MANIFEST).write_text('{"schema_ver')
    assert reason_for(sealed).startswith("_manifest.json: not JSON")


def _entries(found: dict[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to each value of a manifest, and to each object in it."""
    for name, value in found.items():
        yield (*at, name)
        if isinstance(value, dict):
            yield from _entries(value, (*at, name))


def test_a_manifest_that_was_changed_anywhere_is_named(sealed: Path) -> None:
    text = (sealed / MANIFEST).read_text()
    ways = list(_entries(json.loads(text)))
    assert ("files", "ops", "rows") in ways
    for *above, last in ways:
        for change in ("left out", "another"):
            manifest = json.loads(text)
            place = manifest
            for name in above:
                place = place[name]
            was = place.pop(last)
            if change == "another":
                place[last] = was + 1 if isinstance(was, int) else "another"
            (sealed / MANIFEST).write_text(json.dumps(manifest))
            assert reason_for(sealed).startswith("_manifest.json: "), (*above, last, change)


@pytest.mark.parametrize(
    ("other", "reason"),
    [({"schema_version": 99}, "schema version 99"), ({"files": {}}, "names no table ops")],
)
def test_a_manifest_of_another_program_is_named(
    sealed: Path, other: dict[str, object], reason: str
) -> None:
    manifest = json.loads((sealed / MANIFEST).read_text())
    del manifest["crc32c"]
    (sealed / MANIFEST).write_text(with_checksum({**manifest, **other}))
    assert reason in reason_for(sealed)


def test_a_file_that_was_cut_is_named(sealed: Path) -> None:
    data = (sealed / "ops.parquet").read_bytes()
    (sealed / "ops.parquet").write_bytes(data[:-7])
    assert "ops.parquet" in reason_for(sealed)


def test_one_flipped_bit_is_found(sealed: Path) -> None:
    data = bytearray((sealed / "faults.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (sealed / "faults.parquet").write_bytes(data)
    size = len(data)
    assert (
        reason_for(sealed)
        == f"faults.parquet: its {size} bytes are not the {size} bytes that were sealed"
    )


def test_a_missing_file_and_a_missing_directory_are_named(sealed: Path) -> None:
    (sealed / "disks.parquet").unlink()
    assert "disks.parquet: No such file" in reason_for(sealed)
    assert "not sealed" in reason_for(sealed.parent / "nothing")


def test_a_torn_verdict_is_none_and_says_so(sealed: Path) -> None:
    (sealed / "verdict.json").write_text("{")
    (run,) = examine([sealed]).runs
    assert run.verdict is None
    assert run.sentence.startswith("not judged: verdict.json cannot be used: not a verdict: ")


def test_the_verdict_of_another_run_or_of_an_older_seal_is_none(sealed: Path) -> None:
    """Also of one that has the same run id."""
    other = seal_run(sealed.parent / "other", Shape(seed=5))
    for judged in (other, sealed):
        write_verdict(judged, judge(read_run(judged)))
    assert examine([sealed]).runs[0].verdict is not None
    shutil.copy(other / "verdict.json", sealed / "verdict.json")
    (run,) = examine([sealed]).runs
    assert run.verdict is None
    assert run.sentence.endswith("of other, but this run is good")
    theirs = replace(judge(read_run(other)), run_id="good")
    shutil.copy(write_verdict(other, theirs), sealed / "verdict.json")
    (run,) = examine([sealed]).runs
    assert "of another run, or of an older seal: run.json and _manifest.json" in run.sentence


def test_a_verdict_with_fewer_rows_is_none(sealed: Path) -> None:
    path = write_verdict(sealed, judge(read_run(sealed)))
    row = json.loads(path.read_text())
    row["results"] = row["results"][:2]
    path.write_text(json.dumps(row, indent=2) + "\n")
    (run,) = examine([sealed]).runs
    assert (run.verdict, "its checksum differs" in run.sentence) == (None, True)


def test_nothing_to_report_on_is_an_error_that_names_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(NothingToReportError, match=r"empty: is not sealed.*\n  try: "):
        build([tmp_path / "empty"], tmp_path / "out.html")


def test_spark_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, spark_reports.report_build; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
