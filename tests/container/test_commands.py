"""`kraft-chaos` as its users meet it, on containers with our own node inside."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from chaos.setup import docker_engine
from tests.container.clusters import left_of
from tests.support.interrupting import interrupt_twice
from tests.support.load import GENTLY

PLAY = "test-play"  # of one test at a time
CUT_FOR_LONG = """
name = "cut-for-long"
summary = "the leader is cut off"
duration_s = 90
faults = [{ fault = "partition-leader", at_s = 0, hold_s = 80 }]
"""
BEGUN_WITHIN_S = 180.0  # on a machine that others use too


@pytest.fixture(scope="session", autouse=True)
def _images() -> None:
    prepare(print)


def harness(out: Path, *words: str) -> "subprocess.Popen[str]":
    """`kraft-chaos run` in a process of its own, SIGINT ignored as a script's child has it."""
    return subprocess.Popen(
        [sys.executable, "-m", "chaos.cli", "run", *words, *GENTLY, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )


def begun(out: Path, scenario: str, what: str = "run.json") -> Path:
    """The directory of a run under way, once it holds `what`."""
    deadline = time.monotonic() + BEGUN_WITHIN_S
    while time.monotonic() < deadline:
        for path in out.glob(f"*-{scenario}-*/{what}"):
            if path.stat().st_size:
                return path.parent
        time.sleep(0.05)  # between two looks
    raise AssertionError("no run began")


@pytest.mark.parametrize(
    "after", [pytest.param("run.json", marks=pytest.mark.night), "events-ops.jsonl.zst"]
)
def test_an_interrupted_run_leaves_nothing_on_the_machine(tmp_path: Path, after: str) -> None:
    process = harness(tmp_path, "baseline", "--duration", "60")
    directory = begun(tmp_path, "baseline", after)
    out, err = interrupt_twice(process, signal.SIGINT)
    assert process.returncode == 255, err
    assert "already removing everything" in err
    assert "interrupted by SIGINT" in out
    assert (directory / "verdict.json").exists()
    assert left_of(directory.name) == []


def test_the_next_run_removes_what_a_killed_one_left_and_both_can_be_judged(tmp_path: Path) -> None:
    process = harness(tmp_path, "baseline", "--duration", "60", "--seed", "1")
    dead = begun(tmp_path, "baseline", "events-ops.jsonl.zst")
    process.kill()
    process.communicate()
    assert left_of(dead.name)
    words = ["run", "baseline", *GENTLY, "--duration", "2", "--seed", "2", "--out", str(tmp_path)]
    assert main(words) == 0
    assert left_of(dead.name) == []
    assert list((dead / "logs").glob("node-*.log")), "its nodes' last words were saved"
    assert main(["check", str(dead)]) == 255
    verdict = json.loads((dead / "verdict.json").read_text())
    assert "the harness died" in verdict["sentence"]


@pytest.mark.night
def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    """With the same scenario and seed, into different directories: the worst case."""
    outs = [tmp_path / "a", tmp_path / "b"]
    words = ["partition-leader", "--duration", "10", "--seed", "4"]
    runs = [harness(out, *words) for out in outs]
    for out, process in zip(outs, runs, strict=True):
        said, err = process.communicate()
        assert process.returncode == 0, said + err
        assert len(list(out.glob("*-partition-leader-4"))) == 1


def test_a_power_cut_is_refused_where_no_disk_can_lose_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the disk agent says on a machine without loop devices; the other scenarios are named."""
    why = "losetup: cannot find an unused loop device"
    monkeypatch.setattr("chaos.cluster.docker.clusters.why_no_loop_disks", lambda *_: why)
    assert main(["run", "power-off", "--out", str(tmp_path)]) == 255
    said = capsys.readouterr().err
    assert why in said
    assert "without it: baseline, partition-leader, kill-leader" in said
    assert not list(tmp_path.glob("*-power-off-*"))


@pytest.fixture
def playground(capsys: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    """The options of a cluster that is up; what it said is still to be read."""
    assert main(["up", PLAY]) == 0
    yield ["--name", PLAY]
    assert main(["down", PLAY]) == 0
    capsys.readouterr()
    assert left_of(PLAY) == []


@pytest.mark.xdist_group(PLAY)
def test_a_cluster_to_play_with(playground: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = capsys.readouterr().out
    bootstrap = re.findall(r"127\.0\.0\.1:\d+", said.split("bootstrap ")[1].splitlines()[0])
    assert len(bootstrap) == 3
    assert "kraft-chaos down test-play" in said
    assert main(["up", PLAY]) == 255
    assert "already" in capsys.readouterr().err
    for fault, found in (
        ("partition-leader", "swallowed"),
        ("kill-leader", "SIGKILL"),
        ("stop-leader", "SIGTERM"),
        ("pause-follower", "threads"),
        ("power-off-all", "canary"),
    ):
        assert main(["inject", fault, *playground]) == 0
        assert "heal: kraft-chaos heal --name test-play" in capsys.readouterr().out
        assert main(["heal", *playground]) == 0
        out = capsys.readouterr().out
        assert "healed: took effect" in out
        assert found in out
    assert main(["heal", *playground]) == 0
    assert "no fault is injected" in capsys.readouterr().out
    assert main(["inject", "kill-leader", "--node", "9", *playground]) == 254
    assert "unknown node 9" in capsys.readouterr().err


@pytest.mark.xdist_group(PLAY)
def test_a_cluster_to_play_with_is_told_to_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> dict[str, Any]:
        assert main([*words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["cluster"], found["runtime"]) == (PLAY, "docker")
        assert found["target"].startswith("node ")
        assert found.keys() >= {"scenario", "seed", "commit"}
        return dict(found)

    made = told("up", PLAY)
    assert made["bootstrap"].keys() == {"1", "2", "3"} == made["roles"].keys()
    hit = told("inject", "partition-leader", "--name", PLAY)
    assert hit["fault"]["kind"] == "partition"
    (healed,) = told("heal", "--name", PLAY)["healed"]
    assert healed["nodes"] == hit["nodes"]
    assert healed["evidence"]["bit"] is True
    assert told("down", PLAY)["removed"] is True


@pytest.mark.xdist_group(PLAY)
def test_what_is_hurt_is_not_hurt_again_and_all_of_it_is_healed(
    playground: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    node_2 = ["--node", "2", *playground]
    assert main(["inject", "partition-in-random", *node_2]) == 0
    assert main(["inject", "partition-random", *node_2]) == 255
    assert "1->2, 3->2 is cut already" in capsys.readouterr().err
    assert main(["inject", "pause-random", *node_2]) == 0
    assert main(["inject", "pause-random", *node_2]) == 255
    assert "node 2 is paused already" in capsys.readouterr().err
    assert main(["inject", "kill-random", *node_2]) == 255
    assert "node 2 is paused already" in capsys.readouterr().err
    assert main(["inject", "power-off-random", "--node", "1", *playground]) == 0
    assert main(["inject", "pause-random", "--node", "1", *playground]) == 255
    assert "node 1 is off already" in capsys.readouterr().err
    assert main(["heal", *playground]) == 0
    healed = [
        line for line in capsys.readouterr().out.splitlines() if "healed: took effect" in line
    ]
    assert [line.split(" of ")[0] for line in healed] == ["power-off", "pause", "partition-one-way"]
    assert main(["heal", "--name", "nobody-plays-here"]) == 254
    assert "no cluster 'nobody-plays-here' is up" in capsys.readouterr().err


@pytest.mark.xdist_group(PLAY)
def test_a_cluster_can_be_looked_at(
    playground: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["ps", "--json"]) == 0
    (found,) = [
        each for each in json.loads(capsys.readouterr().out)["clusters"] if each["name"] == PLAY
    ]
    assert [each["status"] for each in found["nodes"]] == ["running"] * 3
    command = ["shell", *playground, "2", "sh", "-c", "ls -R /data; exit 7"]
    shell = subprocess.run(
        [sys.executable, "-m", "chaos.cli", *command], capture_output=True, text=True, check=False
    )
    assert shell.returncode == 7, shell.stderr
    assert "meta.properties" in shell.stdout
    assert main(["logs", *playground, "2", "--last", "5"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert main(["inject", "pause", "--victim", "leader", "--dry-run", *playground]) == 0
    assert "the leader of the metadata quorum" in capsys.readouterr().out
    for words in (
        ["slow-links:latency_ms=300", "--victim", "leader"],
        ["partition", "--link", "1-2"],
    ):
        assert main(["inject", *words, *playground]) == 0
        assert main(["heal", *playground]) == 0
        assert "healed: took effect" in capsys.readouterr().out


def test_a_run_ends_at_its_first_violation_and_leaves_the_cluster_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cut.toml"
    file.write_text(CUT_FOR_LONG)
    words = ["--scenario-file", str(file), "--mutation", "A-LENIENT", "--out", str(tmp_path)]
    # In a process of its own, as users have it: what it leaves open when it stops ends with it.
    asked = ["run", *words, "--keep-on-failure", "--stop-at-first", *GENTLY]
    done = subprocess.run(
        [sys.executable, "-m", "chaos.cli", *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "stopped at the first violation while injecting faults, " in done.stderr
    assert "lasts: partition of node" in done.stderr
    heal, down = re.findall(r"kraft-chaos ((?:heal --name|down) [-\w]+)", done.stderr)
    name = ["--name", down.split()[1]]
    assert main(["logs", "1", *name, "--last", "1"]) == 0
    assert '"ev":' in capsys.readouterr().out
    assert main(heal.split()) == 0
    assert "healed: took effect: " in capsys.readouterr().out
    assert main(down.split()) == 0
    assert left_of(name[1]) == []


@pytest.mark.xdist_group(PLAY)
def test_what_an_engine_left_that_was_restarted_can_be_brought_down(
    playground: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The fixture brings it down."""
    client = docker_engine.require()
    try:
        for container in client.containers.list(filters={"name": PLAY}):
            container.kill()
    finally:
        client.close()
    assert main(["inject", "kill-leader", *playground]) == 255
    said = capsys.readouterr().err
    assert "the engine was restarted" in said
    assert "kraft-chaos down test-play" in said
