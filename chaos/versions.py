"""Of what a run was made: the program's commit, versions, and the images that its nodes ran."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("confluent-kafka", "kafka-python", "kio", "numpy", "pyarrow")
_GIT_WITHIN_S = 5.0


def made_of(*, this_machine: bool) -> dict[str, str]:
    """The program, by commit and version. Of `this_machine` as well what else a run rests on: left
    out where a seed gives the same bytes on every one."""
    told = {"kraft-chaos": _version("kraft-chaos"), **_commit()}
    if this_machine:
        told |= {"python": platform.python_version(), "kernel": platform.release()}
        told |= {package: _version(package) for package in _PACKAGES}
    return told


def made_of_images(images: Mapping[str, str]) -> dict[str, str]:
    """The ids of images, by what their containers do."""
    return {f"image of {what}": image for what, image in sorted(images.items())}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _commit() -> dict[str, str]:
    """Of the checkout that this program runs from; nothing where it was installed without one."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return {}
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": f"{commit} with changes" if changed else commit} if commit else {}


def _git(root: Path, *words: str) -> str:
    """What git says; "" where there is no git, or it does not like to be asked here."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=_GIT_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
