"""The plug-in of pytest, as `docs/how-to/pytest.md` has it, in a session of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.readme import ROOT

PAGE = (ROOT / "docs" / "how-to" / "pytest.md").read_text()
FAILS = """

@pytest.mark.parametrize("mutation", ["R-STALE-READ", ""], ids=["a b", "a-b"])
@pytest.mark.chaos(runtime="sim", duration_s=3)
def test_that_fails(chaos_run, mutation):
    first = chaos_run("partition-leader", seed=1, mutation=mutation)
    print("seeds", first.seed, chaos_run("baseline", duration_s=1).seed)
    assert first.verdict.word == "valid", first


def test_that_needs_no_run():
    pass
"""


def session(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """`no:kraft-chaos`: an editable install may have the plug-in by its name already."""
    command = [sys.executable, "-m", "pytest", "-p", "no:kraft-chaos", "-p", "chaos.testing.plugin"]
    command += ["-p", "no:cacheprovider", "--strict-markers", "--rootdir", str(directory), *words]
    return subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.mark.slow
def test_a_failed_test_shows_its_runs_and_a_seed_repeats_them(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_mine.py").write_text(text + FAILS)
    done = session(tmp_path, "test_mine.py", "--junit-xml", "junit.xml")
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    (seed,) = re.findall(r"chaos: seed (\d+); the same runs again: --chaos-seed \1", done.stdout)
    assert "- chaos run, seed 1 -" in done.stdout

    kept = sorted((tmp_path / "runs" / "tests").glob("*"))
    (name,) = (each.name for each in kept)
    assert name.startswith("test_mine.py--test_that_fails-a-b--")
    shown = re.findall(r"  page: (.*)", done.stdout)
    assert {path for path in shown if (tmp_path / path).is_file()} == set(shown) != set()
    properties = ElementTree.parse(tmp_path / "junit.xml").iter("property")
    assert {each.get("value") for each in properties} == set(shown)

    again = session(tmp_path, "test_mine.py", "-k", "that_fails", "--chaos-seed", seed)
    seeds = [re.search(r"seeds \d+ \d+", each.stdout) for each in (done, again)]
    assert seeds[0] is not None
    assert seeds[1] is not None
    assert seeds[0][0] == seeds[1][0]


@pytest.mark.slow
def test_a_scenario_that_there_is_not_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "def test(chaos_run):\n    chaos_run('partition-leeder')"
    )
    done = session(tmp_path, "test_mine.py", "--chaos-seed", "1")
    assert done.returncode == 1
    assert "unknown scenario 'partition-leeder'; like it: partition-leader" in done.stdout


FAKES = """
from chaos.run.runtimes import RUNTIMES
from tests.support.fake_harness import FakeRuntime

FAKE = RUNTIMES["docker"] = FakeRuntime()


def pytest_unconfigure():
    print("left", [made.run_id for made in FAKE.made if not made.destroyed], "of", len(FAKE.made))
"""
SHARING = """
import pytest
from chaos.testing import controller_leader


def test_first(kraft_cluster):
    kraft_cluster.kill(controller_leader())  # healed, and proved, after the test


def test_second_has_the_same(kraft_cluster):
    assert kraft_cluster.name.endswith("-1")
    assert not kraft_cluster.faults
    assert all(kraft_cluster.status(node) == "running" for node in kraft_cluster.nodes)


@pytest.mark.kraft(nodes=5)
def test_third_asks_for_another(kraft_cluster):
    assert len(kraft_cluster.nodes) == 5


@pytest.mark.kraft(nodes=5, fresh=True)
def test_fourth_has_one_of_its_own(kraft_cluster):
    assert kraft_cluster.name.endswith("-3")
    kraft_cluster.wipe(2)


@pytest.mark.kraft(nodes=5)
def test_fifth_does_not_get_what_was_wiped(kraft_cluster):
    assert kraft_cluster.name.endswith("-4")
"""
FAILING = """
import os
import signal
import pytest
from conftest import FAKE


def test_that_fails(kraft_cluster):
    with kraft_cluster.pause(2):
        assert "mine" == "yours"


def test_after_it(kraft_cluster):
    assert kraft_cluster.name.endswith("-2")


@pytest.mark.kraft(nodes=4)
def test_of_what_there_is_not(kraft_cluster):
    pass


def test_under_a_fault_without_effect(kraft_cluster):
    FAKE.made[-1].bites = False
    kraft_cluster.kill(2)


def test_that_is_interrupted(kraft_cluster):
    kraft_cluster.kill(2)
    os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.slow
def test_tests_that_ask_for_the_same_share_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FAKES)
    (tmp_path / "test_mine.py").write_text(SHARING)
    done = session(tmp_path, "test_mine.py", "-s")
    assert "5 passed" in done.stdout, done.stdout + done.stderr
    assert "left [] of 4" in done.stdout
    assert not (tmp_path / "runs").exists(), "nothing of tests that passed"


@pytest.mark.slow
def test_a_failed_test_keeps_logs_and_an_interrupted_one_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FAKES)
    (tmp_path / "test_mine.py").write_text(FAILING)
    done = session(tmp_path, "test_mine.py", "--junit-xml", "junit.xml", "--chaos-seed", "1")
    shown = done.stdout
    assert "left [] of 3" in shown, shown + done.stderr
    assert "1 failed, 2 passed, " in shown, shown
    assert ", 2 errors in" in shown
    assert "- kraft cluster, seed " in shown
    assert "began: pause of node 2" in shown
    assert "healed: pause of node 2; it took effect: node 2: all threads" in shown
    (kept,) = re.findall(r"logs and disks: (.*)", shown)
    assert (tmp_path / kept / "logs" / "node-3.log").is_file()
    properties = ElementTree.parse(tmp_path / "junit.xml").iter("property")
    assert [each.get("value") for each in properties] == [kept]
    assert "--nodes 4: a quorum of our own nodes has 3 or 5" in shown
    assert "kill of node 2 took no effect: node 2: exit code 137" in shown
    assert "KeyboardInterrupt" in shown
