"""`kraft-chaos run --runtime sim`: verdicts, determinism, interruption, mutations, fall-back."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from chaos.bugs.planted import Planted, planted_by
from chaos.cli import main
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim import world
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.runtimes import RUNTIMES
from chaos.scenarios import CONTROLLER_SCENARIOS
from chaos.scenarios.controls import LYING_FSYNC
from checkers.history.store import VERDICT
from node.server.shell import Shell
from tests.support.fake_harness import FakeRuntime

STOPS_FOR_GOOD = {"disk-loss-majority", "reformat-ignored"}  # as it has to, and so ends there
LOAD = ["--concurrency", "5", "--rate", "50"]


def run_sim(out: Path, *words: str) -> int:
    return main(["run", *words, *LOAD, "--runtime", "sim", "--out", str(out)])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", CONTROLLER_SCENARIOS)
def test_every_story_is_told_to_a_valid_end(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_sim(tmp_path, scenario, "--seed", "11", "--duration", "15")
    out, err = capsys.readouterr()
    assert code == 0, out
    assert out.startswith("VALID: ")
    assert " virtual seconds a second" in err
    info = json.loads((tmp_path / "latest" / "run.json").read_text())
    assert (info["runtime"], info["target"]) == ("sim", "node (simulated)")
    assert info["finished"] == (scenario not in STOPS_FOR_GOOD)
    assert info["command"].endswith(" --runtime sim")
    assert info["plan"]["load"]["options"]["rate"] == 50


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["power-off", "blackout"])
@pytest.mark.parametrize("cut", PowerCutMode)
def test_whatever_a_power_cut_leaves_nothing_is_lost(
    scenario: str, cut: PowerCutMode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (scenario, "--set", f"cut={cut}", "--seed", "3", "--duration", "24")
    assert run_sim(tmp_path, *words) == 0, capsys.readouterr().out
    faults = pq.read_table(tmp_path / "latest" / "faults.parquet").to_pylist()
    assert {json.loads(row["params"])["mode"] for row in faults} == {cut}


@pytest.mark.slow
def test_disks_that_lie_make_a_run_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_sim(tmp_path, LYING_FSYNC.name, "--seed", "1") == 1
    assert capsys.readouterr().out.startswith("INVALID: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [pytest.param("partition-leader", marks=pytest.mark.night), "power-off"]
)
def test_a_seed_gives_the_same_bytes_in_every_process(scenario: str, tmp_path: Path) -> None:
    found = []
    for hash_seed in ("1", "2"):
        out = tmp_path / hash_seed
        words = ["run", scenario, "--seed", "7", "--duration", "12", *LOAD]
        subprocess.run(
            [sys.executable, "-m", "chaos.cli", *words, "--runtime", "sim", "--out", str(out)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        )
        run = (out / "latest").resolve()  # its name has the time of this machine
        found.append(
            {
                str(path.relative_to(run)): path.read_bytes()
                for path in sorted(run.rglob("*"))
                if path.is_file()
            }
        )
    one, other = found
    assert {Path(name).name for name in one} >= {
        "run.json",
        "schedule.json",
        "verdict.json",
        "report.html",
        "events-ops.jsonl.zst",
        "node_events.parquet",
        "node-1.log",
        "quorum-state",
    }
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_a_run_in_virtual_time_waits_for_no_disk_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, waited.append)
    assert run_sim(tmp_path, "baseline", "--seed", "1", "--duration", "2") == 0
    assert not waited


@pytest.mark.parametrize("scenario", ["power-off", "power-off-brokers", "swarm"])
def test_who_reads_the_directory_judges_as_the_run_was_judged(
    scenario: str, tmp_path: Path
) -> None:
    run_sim(tmp_path, scenario, "--seed", "3", "--duration", "4")
    run = (tmp_path / "latest").resolve()
    verdict = (run / VERDICT).read_bytes()
    judge_directory(run)
    assert (run / VERDICT).read_bytes() == verdict


@pytest.mark.slow
def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert run_sim(tmp_path / seed, "baseline", "--seed", seed, "--duration", "2") == 0
    one, other = (tmp_path / seed / "latest" for seed in ("1", "2"))
    ids = [json.loads((each / "run.json").read_text())["run_id"] for each in (one, other)]
    assert ids[0].rpartition("-")[0] != ids[1].rpartition("-")[0], "their clocks begin elsewhere"
    assert (one / "ops.parquet").read_bytes() != (other / "ops.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_sealed_and_judged(number: signal.Signals, tmp_path: Path) -> None:
    words = ["run", "baseline", "--duration", "80000", "--runtime", "sim", *LOAD]
    with subprocess.Popen(
        [sys.executable, "-m", "chaos.cli", *words, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as process:
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size for path in tmp_path.glob("*/events-ops.jsonl.zst")):
            assert time.monotonic() < deadline
            time.sleep(0.05)  # between two looks at what it has written
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 255
    assert out.startswith(f"ERROR: interrupted by {number.name} while ")
    assert "simulated " in err
    assert (tmp_path / "latest" / "report.html").exists()


@pytest.mark.slow
def test_a_planted_bug_is_found_and_gone_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = planted_by("Q-SAME-EPOCH")
    right = getattr(planted.owner, planted.decision)
    words = ["kill-leader", "--duration", "12", "--seed", "1"]
    assert run_sim(tmp_path, *words, "--mutation", "Q-SAME-EPOCH") == 1
    assert "Q17-no-leader-again" in capsys.readouterr().out
    assert getattr(planted.owner, planted.decision) is right
    assert run_sim(tmp_path, *words) == 0
    repro = next(tmp_path.glob("*/repro.sh")).read_text()
    assert repro.rstrip().endswith("--runtime sim --mutation Q-SAME-EPOCH")


def test_nothing_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_sim(tmp_path, "baseline", "--keep") == 255
    assert "error: a simulated cluster ends with its run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_bug_in_what_is_not_simulated_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted in the real shell it would change nothing, and the run would be called correct."""
    in_the_shell = Planted(owner=Shell, decision="feed", wrong=lambda *_: None)
    monkeypatch.setattr(world, "planted_by", lambda _: in_the_shell)
    assert run_sim(tmp_path, "baseline", "--mutation", "Q-ZOMBIE") == 255
    assert "it changes node.server.shell, which simulated nodes do not" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("is_watched", "words"), [(False, ()), (True, ("--json",))], ids=["pipe", "json"]
)
def test_without_containers_no_script_gets_virtual_time_instead(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_watched: bool,
    words: Sequence[str],
) -> None:
    """A dead engine would make a green night otherwise."""
    monkeypatch.setitem(RUNTIMES, "docker", FakeRuntime(why="no engine can be had"))
    monkeypatch.setattr(ConsoleProgress, "is_watched", is_watched)
    out = tmp_path / "runs"
    assert main(["run", "baseline", "--duration", "1", *words, "--out", str(out)]) == 255
    told = capsys.readouterr().err
    assert "no containers here (no engine can be had)" in told
    assert "in virtual time: --runtime sim" in told
    assert not out.exists()


def test_at_a_terminal_it_is_simulated_with_a_word_where_no_containers_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeRuntime(why="no engine can be had")
    monkeypatch.setitem(RUNTIMES, "docker", fake)
    monkeypatch.setattr(ConsoleProgress, "is_watched", True)
    words = ["run", "baseline", "--duration", "1", "--seed", "3", *LOAD, "--out", str(tmp_path)]
    code = main(words)
    out, err = capsys.readouterr()
    assert code in (0, 3), out  # so short a run may come to too little: the word matters here
    # Not before everything else: kernels that are compiled for the first time are told of as well.
    word = (
        "no containers here (no engine can be had): running in virtual time, as with --runtime sim"
    )
    assert word in err
    assert fake.made == []
    assert json.loads((tmp_path / "latest" / "run.json").read_text())["runtime"] == "sim"


def test_where_they_can_be_had_they_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRuntime()
    monkeypatch.setitem(RUNTIMES, "docker", fake)
    words = ["--duration", "1", "--concurrency", "4", "--rate", "300", "--seed", "5"]
    main(["run", "baseline", *words, "--out", str(tmp_path)])
    assert len(fake.made) == 1
