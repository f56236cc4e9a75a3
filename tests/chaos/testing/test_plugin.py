"""The plug-in of pytest, as `docs/how-to/pytest.md` has it, in a session of its own."""

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
        command, cwd=directory, capture_output=True, text=True, check=False, timeout=240
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
