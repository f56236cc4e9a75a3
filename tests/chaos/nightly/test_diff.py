"""In what two runs differ: what was run, what each failed by, checks, and numbers that are far
apart."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.cli import main
from checkers.history.sealed_run import read_run_info, write_run_info
from checkers.history.store import read_run
from checkers.suite import judge, write_verdict
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.sealed_runs import Shape, seal_run

SMALL = Shape(duration_s=5, faults=((2, 3),))


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Path, Judgement]:
    directory = seal_run(tmp_path / "one ü", SMALL)
    judgement = judge(read_run(directory))
    write_verdict(directory, judgement)
    return directory, judgement


def worse(directory: Path, judgement: Judgement) -> None:
    info = replace(read_run_info(directory), settings={"elr": "off"}, made_of={"commit": "b"})
    write_run_info(directory, info)
    row = CheckResult(check="invented", verdict=Verdict.INVALID, message="3 lost", count=3)
    numbers = {**judgement.statistics, "latency_p99_ms": 1e6, "operations": 1_000_000}
    write_verdict(
        directory,
        replace(
            judgement,
            run_id=directory.name,
            verdict=Verdict.INVALID,
            sentence="INVALID: 3 lost",
            results=(row, *judgement.results),
            statistics=numbers,
        ),
    )


def test_a_run_does_not_differ_from_itself(
    judged: tuple[Path, Judgement], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, judgement = judged
    assert main(["diff", str(directory), str(directory)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"< {directory}: {judgement.sentence}"
    assert told[2:] == ["nothing that counts differs"]


def test_each_part_that_differs_is_told(
    judged: tuple[Path, Judgement], capsys: pytest.CaptureFixture[str]
) -> None:
    one, judgement = judged
    other = seal_run(one.parent / "other", SMALL)
    worse(other, judgement)
    assert main(["diff", str(one), str(other)]) == 1
    told = capsys.readouterr().out
    assert "  verdict   valid -> invalid\n" in told
    assert "  setting elr  - -> off\n" in told
    assert "  commit  " in told
    assert "  invented  - -> invalid" in told
    assert "latency_p99_ms" in told
    assert "times)" in told
    assert main(["diff", str(other), str(one), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["verdict"] == ["invalid", "valid"]
    assert found["run"] == {"setting elr": ["off", None]}
    assert set(found) == {"verdict", "run", "made of", "checks", "numbers"}


def test_a_run_that_was_not_judged_is_refused_with_the_next_command(
    judged: tuple[Path, Judgement], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = judged
    (directory / "verdict.json").unlink()
    assert main(["diff", str(directory), str(directory)]) == 255
    assert f"try: kraft-chaos check {directory}" in capsys.readouterr().err


def test_what_is_no_run_is_refused(
    judged: tuple[Path, Judgement], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for other in ("empty", "nowhere"):
        assert main(["diff", str(judged[0]), str(tmp_path / other)]) == 254
        assert f"{other} is no run: it has no run.json" in capsys.readouterr().err
