"""Scenarios and checks of installed packages, by entry points."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.campaign.recorded_run import plan_of_run
from chaos.cli import main
from chaos.nemesis.kinds import BY_KIND
from chaos.run.packages import offered, own_checks, own_faults
from chaos.run.scenario_file import ScenarioFile
from tests.chaos.test_scenario_file import QUICK, of_page

SCENARIO = "[kraft_chaos.scenarios]\n{} ="
CHECK = "[kraft_chaos.checks]\n{} =:busy"
BUSY = """
from checkers.check import check, everywhere
from checkers.verdict import CheckResult, Verdict


@check("busy", applies=everywhere, source="our own wish")
def busy(evidence):
    \"\"\"A run has a thousand operations.

    Needs: nothing.
    \"\"\"
    return CheckResult(verdict=Verdict.INVALID, message="it had fewer", count=1, looked_at=1)
"""


FAULT = "[kraft_chaos.faults]\n{} =:Nudge"
NUDGE = """
from dataclasses import dataclass
from typing import ClassVar

from chaos.nemesis.kinds.processes import Terminate


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge(Terminate):
    kinds: ClassVar = ("nudge",)
    kind: ClassVar = "nudge"
"""
NUDGED = """
name = "nudged"
faults = [{fault = "nudge", victim = "leader", at_s = 1, hold_s = 1}]
"""


def forget() -> None:
    BY_KIND.pop("nudge", None)
    own_faults.cache_clear()
    offered.cache_clear()
    own_checks.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts packages on the path as pip does: a module, and metadata with its entry point."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(name: str, text: str, entry: str = SCENARIO.format("kill-once")) -> None:
        (tmp_path / f"{name}_chaos.py").write_text(text)
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(entry.replace("=", f"= {name}_chaos"))
        forget()

    forget()
    yield put
    for name in [each for each in sys.modules if each.endswith("_chaos")]:
        del sys.modules[name]
    monkeypatch.undo()
    forget()


def test_a_scenario_of_an_installed_package_is_run_and_recorded_whole(
    install: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("mine", of_page("python"))
    assert main(["list"]) == 0
    assert "of installed packages: kill-once\n" in capsys.readouterr().out
    out = str(tmp_path / "runs")
    assert main(["run", "kill-once", *QUICK, "--json", "--out", out]) == 0
    ran = Path(json.loads(capsys.readouterr().out)["directory"])
    assert plan_of_run(ran).file == ScenarioFile(name="mine_chaos.py", text=of_page("python"))
    assert main(["run", "kill-onse", *QUICK, "--out", out]) == 254
    assert "like it: kill-once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("packages", "name", "why"),
    [
        (
            [
                ("mine", "", SCENARIO.format("kill-once")),
                ("other", "", SCENARIO.format("kill-once")),
            ],
            "kill-once",
            "two packages have a scenario 'kill-once'",
        ),
        (
            [("mine", of_page("python"), SCENARIO.format("baseline"))],
            "baseline",
            "no scenario 'baseline'",
        ),
        (
            [
                (
                    "mine",
                    of_page("python").replace("kill-once", "baseline"),
                    SCENARIO.format("baseline"),
                )
            ],
            "baseline",
            "mine_chaos.py: baseline is one of ours",
        ),
        (
            [("mine", "import nothing_of_that_name", SCENARIO.format("x"))],
            "x",
            "mine_chaos.py: ModuleNotFoundError",
        ),
    ],
)
def test_a_package_that_cannot_be_is_refused_by_name(
    install: Callable[..., None],
    packages: list[tuple[str, str, str]],
    name: str,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for package in packages:
        install(*package)
    out = tmp_path / "runs"
    assert main(["run", name, *QUICK, "--out", str(out)]) == 254
    assert why in capsys.readouterr().err
    assert not out.exists()


def test_a_module_that_is_gone_is_told_with_its_package(
    install: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("mine", "")
    (tmp_path / "mine_chaos.py").unlink()
    assert main(["run", "kill-once", *QUICK, "--out", str(tmp_path / "runs")]) == 254
    assert "scenario 'kill-once' of mine 1.2: mine_chaos cannot be read" in capsys.readouterr().err


def test_a_check_of_an_installed_package_judges_every_run(
    install: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("mine", BUSY, CHECK.format("busy"))
    out = str(tmp_path / "runs")
    words = ["run", "baseline", "--duration", "1", *QUICK, "--out", out]
    assert main([*words, "--expect", "invalid:busy"]) == 0
    assert "INVALID" in capsys.readouterr().out
    assert main(["check", f"{out}/latest", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["results"]
    (row,) = (each for each in rows if each["check"] == "busy")
    assert row["promise"] == "A run has a thousand operations."


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (BUSY, "linearizable", "check 'linearizable' of mine 1.2: one of ours has that name"),
        (BUSY, "bussy", "check 'bussy' of mine 1.2: mine_chaos:busy is no check of that name"),
        ("busy = 3", "busy", "mine_chaos:busy is no check of that name"),
        ("1 / 0", "busy", "cannot be imported: ZeroDivisionError: division by zero"),
        ("", "busy", "cannot be imported: AttributeError"),
    ],
)
def test_a_check_that_cannot_judge_is_refused_before_anything_starts(
    install: Callable[..., None],
    text: str,
    name: str,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("mine", text, CHECK.format(name))
    out = tmp_path / "runs"
    assert main(["run", "baseline", *QUICK, "--out", str(out)]) == 254
    assert why in capsys.readouterr().err
    assert not out.exists()


def test_a_fault_of_an_installed_package_is_injected_recorded_and_replayed(
    install: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("mine", NUDGE, FAULT.format("nudge"))
    (tmp_path / "mine.toml").write_text(NUDGED)
    out, file = str(tmp_path / "runs"), str(tmp_path / "mine.toml")
    assert main(["run", "--scenario-file", file, *QUICK, "--json", "--out", out]) == 0
    ran = Path(json.loads(capsys.readouterr().out)["directory"])
    (done,) = json.loads((ran / "schedule.json").read_text())["done"]
    assert (done["kind"], done["bit"]) == ("nudge", True)
    forget()
    assert main(["replay", str(ran), "--out", str(tmp_path / "again")]) == 0
    assert "byte for byte as recorded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (NUDGE, "nudje", "fault 'nudje' of mine 1.2: mine_chaos:Nudge is no kind of that name"),
        ("Nudge = 3", "nudge", "mine_chaos:Nudge is no kind of that name"),
        ("import nothing_of_that_name", "nudge", "cannot be imported: ModuleNotFoundError"),
        (NUDGE.replace('("nudge",)', '("kill",)'), "kill", "there is a kind 'kill' already"),
    ],
)
def test_a_fault_that_cannot_be_injected_is_refused_before_anything_starts(
    install: Callable[..., None],
    text: str,
    name: str,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("mine", text, FAULT.format(name))
    out = tmp_path / "runs"
    assert main(["run", "baseline", *QUICK, "--out", str(out)]) == 254
    assert why in capsys.readouterr().err
    assert not out.exists()
