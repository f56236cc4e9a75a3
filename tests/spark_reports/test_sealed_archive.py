"""Which directories make it into a report; none is left out in silence."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chaos.campaign.job import SeedRow
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import launch
from chaos.run.planning import Choices, plan_of
from chaos.scenario import SIM
from checkers.history.sealed_run import DERIVED, read_run_info, with_checksum, write_run_info
from checkers.history.store import MANIFEST, read_run
from checkers.suite import judge, write_verdict
from checkers.verdict import Verdict
from spark_reports.report_build import NothingToReportError, build
from spark_reports.report_summary import ReportSummary
from spark_reports.sealed_archive import ROWS, examine, read_rows, survey
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


def test_a_copy_of_a_run_is_no_second_run(sealed: Path) -> None:
    shutil.copytree(sealed, sealed.parent / "copy")
    archive = examine([sealed, sealed.parent / "copy"])
    assert len(archive.runs) == 1
    (skipped,) = archive.skipped
    assert (skipped.reason, skipped.verdict) == (f"a copy of {sealed.parent / 'copy'}", None)


def test_one_seed_in_two_nights_is_two_runs_and_so_are_two_settings_of_it(sealed: Path) -> None:
    """A simulated run's bytes are its seed's; the name of its directory tells when it was made."""
    info = replace(read_run_info(sealed), runtime="sim")
    first, second, other = (
        shutil.copytree(sealed, sealed.parent / place / name)
        for place, name in (
            ("a", "20261127-030000-x-1"),
            ("b", "20261128-030000-x-1"),
            ("c", "20261127-030000-x-1"),
        )
    )
    for directory in (first, second):
        write_run_info(directory, info)
    write_run_info(other, replace(info, plan={"settings": {"elr": "off"}}))
    archive = examine([first, second, other])
    assert not archive.skipped
    assert len({run.key for run in archive.runs}) == 3
    assert sorted(run.began for run in archive.runs) == [
        *["2026-11-27T03:00:00"] * 2,
        "2026-11-28T03:00:00",
    ]


def test_a_flipped_byte_anywhere_in_what_is_sealed_is_never_valid(sealed: Path) -> None:
    write_verdict(sealed, judge(read_run(sealed)), beside=["schedule.json"])
    for file in sorted(sealed.iterdir()):
        for place in (0, file.stat().st_size // 2, file.stat().st_size - 1):
            with flipped(file, place, 1):
                verdict = ReportSummary(archive=examine([sealed])).verdict
                assert verdict in (Verdict.ERROR, Verdict.UNKNOWN), (file.name, place)
    assert ReportSummary(archive=examine([sealed])).verdict is Verdict.VALID


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all that a run leaves: events, logs, disks and its page."""
    wanted = Choices(scenario="last-replica-standing", settings={"elr": "on"}, seed=1, runtime=SIM)
    out = tmp_path_factory.mktemp("recorded")
    ran = launch(plan_of(wanted), out, ConsoleProgress(quiet=True))
    assert ran.judgement.verdict is Verdict.VALID
    return ran.directory


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_byte_in_any_file_of_a_run_is_an_error_that_names_the_run(
    recorded: Path, seed: int
) -> None:
    files = sorted(path for path in recorded.rglob("*") if path.is_file() and path.stat().st_size)
    known = {path.name for path in files}
    assert {"events-ops.jsonl.zst", "report.html", "schedule.json", "meta.properties"} <= known
    random = Random(seed)
    for file in files:
        if file.suffix in DERIVED:
            continue
        place = random.randrange(file.stat().st_size)
        with flipped(file, place, 1 << random.randrange(8)):
            archive = survey([recorded])
            assert not archive.is_empty
            verdict = ReportSummary(archive=archive).verdict
        assert verdict in (Verdict.ERROR, Verdict.UNKNOWN), (file, place)
    assert ReportSummary(archive=survey([recorded])).verdict is Verdict.VALID


def test_what_was_removed_from_an_archive_is_no_damage(recorded: Path, tmp_path: Path) -> None:
    """The tables are what a report reads; to `check` a file that is gone is missing evidence."""
    copy = shutil.copytree(recorded, tmp_path / recorded.name)
    shutil.rmtree(copy / "disks")
    (copy / "report.html").unlink()
    assert ReportSummary(archive=examine([copy])).verdict is Verdict.VALID
    events = copy / "events-ops.jsonl.zst"
    with flipped(events, 7, 1):
        assert reason_for(copy) == (
            "events-ops.jsonl.zst has other bytes than it had when it was collected"
        )
        assert judge_directory(copy).verdict is Verdict.UNKNOWN


@contextmanager
def flipped(file: Path, place: int, bits: int) -> Iterator[None]:
    data = file.read_bytes()
    file.write_bytes(data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :])
    try:
        yield
    finally:
        file.write_bytes(data)


def test_runs_and_campaigns_are_found_at_any_depth(sealed: Path, tmp_path: Path) -> None:
    base = tmp_path / "archive ü"
    for place in ("night 1/a", "night 2/deep/b", "campaign/kept"):
        (base / place).parent.mkdir(parents=True, exist_ok=True)
        seal_run(base / place, SMALL)
    (base / "campaign" / "rows.jsonl").write_text(
        "".join(json.dumps(row.as_json()) + "\n" for row in SEED_ROWS) + '{"seed": 7, "ver'
    )
    (base / "campaign" / ".running-17" / "torn").mkdir(parents=True)
    (base / "latest").symlink_to(sealed)
    stray = tmp_path / "soak.json"
    stray.write_text("[]")
    empty = tmp_path / "empty"
    empty.mkdir()
    archive = survey([base, stray, empty, tmp_path / "gone"])
    assert [run.directory.name for run in archive.runs] == ["kept", "a", "b"]
    assert [(each.directory, each.verdict) for each in archive.skipped] == [
        (stray, None),
        (empty, None),
        (tmp_path / "gone", Verdict.UNKNOWN),
    ]
    (rows,) = archive.campaigns
    assert (rows.scenario, rows.mutation, rows.seeds, rows.unreadable) == ("swarm", "", 4, 1)
    assert rows.verdicts == Counter(row.counts_as for row in SEED_ROWS)
    assert [red.seed for red in rows.red] == [2, 3]
    assert rows.verdict is Verdict.INVALID


SEED_ROWS = [
    SeedRow(
        seed=seed, verdict=verdict, unlike=unlike, command=f"kraft-chaos run swarm --seed {seed}"
    )
    for seed, (verdict, unlike) in enumerate(
        [
            (Verdict.VALID, None),
            (Verdict.INVALID, ""),
            (Verdict.INVALID, None),
            (Verdict.VALID, "nothing was lost"),
        ]
    )
]


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([Verdict.VALID, Verdict.VOID], Verdict.VALID),
        ([Verdict.VALID, Verdict.UNKNOWN], Verdict.UNKNOWN),
        ([Verdict.VOID], Verdict.UNKNOWN),
        ([], Verdict.UNKNOWN),
        ([Verdict.UNKNOWN, Verdict.ERROR], Verdict.ERROR),
        ([Verdict.ERROR, Verdict.INVALID], Verdict.INVALID),
    ],
)
def test_a_campaign_is_no_better_than_its_seeds(
    verdicts: list[Verdict], whole: Verdict, tmp_path: Path
) -> None:
    path = tmp_path / ROWS
    rows = [
        SeedRow(seed=seed, verdict=verdict, command="kraft-chaos run swarm")
        for seed, verdict in enumerate(verdicts)
    ]
    path.write_text("".join(json.dumps(row.as_json()) + "\n" for row in rows))
    assert read_rows(path).verdict is whole


def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    locked = tmp_path / "run"
    locked.mkdir()
    (locked / "run.json").write_text("[]")
    (locked / "_manifest.json").mkdir()
    (skipped,) = survey([tmp_path]).skipped
    assert (skipped.directory, skipped.verdict) == (locked, Verdict.ERROR)


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
    with pytest.raises(NothingToReportError, match=r"empty: no such file.*\n  try: "):
        build([tmp_path / "empty"], tmp_path / "out.html")


def test_spark_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, spark_reports.report_build; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_damage_alone_is_a_page_too_and_needs_no_spark(sealed: Path) -> None:
    (sealed / "run.json").write_text("")
    out = sealed.parent / "page.html"
    built = build([sealed], out)
    assert built.damaged[0].startswith(f"{sealed}: run.json cannot be read: ")
    text = out.read_text(encoding="utf-8")
    assert '<header class="error">' in text
    assert "1 run cannot be read, and may have lost anything." in text
