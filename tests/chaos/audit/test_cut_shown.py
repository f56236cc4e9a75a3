"""`finding NAME` with a cut of the audit: bytes before, on the disk, and after."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.labs.audit.all_moments import moments_of
from chaos.labs.audit.next_start import NextStart, compare_bytes
from chaos.labs.audit.one_cut import FOUND, ObservedCut, ObservedFile
from chaos.labs.findings import FINDINGS
from tests.chaos.audit.test_matrix_page import PATH, cut_of


def kept(tmp_path: Path, found: ObservedCut) -> Path:
    (tmp_path / "cut" / FOUND).write_text(json.dumps(asdict(found)))
    return tmp_path / "cut"


def test_the_bytes_of_a_trusted_file_are_shown_in_all_three_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = cut_of(tmp_path)
    other = ObservedFile(
        node=1,
        kind="lock",
        file=compare_bytes("kraft/.lock", b"1", b"2"),
        outcome=NextStart.IGNORED,
    )
    directory = kept(tmp_path, replace(found, files=[other, *found.files]))
    assert main(["finding", "clean-stop-power-off", str(directory)]) == 0
    shown = capsys.readouterr().out.split(f"{directory}: ")[1]
    assert shown.startswith("the power failed at clean-stop\n")
    assert f"node-1/{PATH}: zeros; the next start: trusted" in shown
    said, held, now = (f"  {w}:\n" for w in ("the file said", "the disk held", "after the start"))
    assert "65 6e 74 72 79 20" in shown.split(said)[1].split(held)[0]
    assert "00 00 00 00 00 00" in shown.split(held)[1].split(now)[0]
    assert "records <of> orders-0 was 5, is 0" in shown
    assert ".lock" not in shown


def test_a_cut_at_another_moment_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = kept(tmp_path, cut_of(tmp_path))
    assert main(["finding", "lone-controller", str(directory)]) == 254
    assert "is a cut at clean-stop; it is shown by syncs-waiting" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", '{"moment": "clean-stop"}', "[]"])
def test_of_a_damaged_cut_the_next_command_is_said(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FOUND).write_text(content)
    assert main(["finding", "clean-stop-power-off", str(tmp_path)]) == 255
    assert "try: kraft-chaos audit" in capsys.readouterr().err


def test_findings_are_seen_at_moments_of_apache_kafka() -> None:
    known = {each.name for each in moments_of("kafka")}
    assert {moment for each in FINDINGS.values() for moment in each.moments} <= known
