"""Kernels are compiled once for a user, wherever the sources are; whoever waits is told why."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from checkers.linearizability import compiled

_KERNELS = """
from checkers.linearizability import compiled

@compiled.inlined
def one_more(number: int) -> int:
    return number + 1

@compiled.loop
def two_more(number: int) -> int:
    return one_more(one_more(number))

print(two_more(1))
"""


def checkout(directory: Path) -> Path:
    """Of the module under test, and of a few kernels; an editable install stands behind it."""
    package = directory / "checkers" / "linearizability"
    package.mkdir(parents=True)
    for each in (package.parent, package):
        (each / "__init__.py").touch()
    shutil.copy(str(compiled.__file__), package)
    (package.parent / "kernels.py").write_text(_KERNELS)
    return directory


def said(directory: Path, cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "checkers.kernels"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory), "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "3\n"
    return done.stderr


def test_compiling_is_said_once_and_loading_in_any_checkout_is_not(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    one, other = checkout(tmp_path / "one"), checkout(tmp_path / "other")
    told = "compiling the checkers' kernels; the first time takes a minute or more\n"
    assert said(one, cache) == told
    assert said(other, cache) == ""
    kernels = other / "checkers" / "kernels.py"
    kernels.write_text(kernels.read_text() + "\n")
    assert said(other, cache) == told, "changed sources are compiled"


def test_what_may_write_nothing_else_keeps_kernels_beside_the_sources(tmp_path: Path) -> None:
    no_directory = tmp_path / "file"
    no_directory.touch()
    directory = checkout(tmp_path / "one")
    assert said(directory, no_directory)
    beside = directory / "checkers" / "linearizability" / "__pycache__"
    assert len(list(beside.glob("kernels-*/*/kernels.*.nbi"))) == 2


def test_kernels_that_no_process_used_for_a_month_are_removed_when_others_are_made(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    old, young = (cache / "kraft-chaos" / f"kernels-{name}" for name in ("old", "young"))
    for directory, days in ((old, 31), (young, 29)):
        (directory / "inside").mkdir(parents=True)
        os.utime(directory, times=(0, time.time() - days * 86_400))
    others = cache / "kraft-chaos" / "clients"
    others.mkdir()
    os.utime(others, times=(0, 0))
    one = checkout(tmp_path / "one")
    assert said(one, cache)
    assert not old.exists()
    assert young.exists()
    assert others.exists()
    (own,) = {each.parent.parent for each in cache.glob("kraft-chaos/kernels-*/*/kernels.*.nbi")}
    os.utime(own, times=(0, 0))
    assert said(one, cache) == ""
    assert time.time() - own.stat().st_mtime < 60, "loading is use"
