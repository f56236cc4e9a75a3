"""The releases of Apache Kafka by name, and the versions of all that takes part in a run."""

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

KAFKA = "kafka"
NEWEST = "4.3.1"


IMAGE = "kafka-image"  # before a colon and the name of an image: a build of the user's


def is_own_build(release: str) -> bool:
    """Whether this is no release, but a directory of jars or an image of the user's."""
    return release.startswith(("/", f"{IMAGE}:"))


def setup_command(release: str, target: str = KAFKA) -> str:
    """The command that makes the image of a release, alone or together with our node."""
    if release.startswith(f"{IMAGE}:"):
        return f"kraft-chaos setup --target {release}"
    return "kraft-chaos setup --target " + (target if release == NEWEST else f"{target}:{release}")


# The versions in a run: the program's commit, packages, and the images of its nodes.


_PACKAGES = ("confluent-kafka", "kafka-python", "kio", "numpy", "pyarrow")
_GIT_WITHIN_S = 5.0
BUILT_FROM = "commit.txt"  # a wheel's, beside its packages


def made_of(*, this_machine: bool) -> dict[str, str]:
    """The program, by commit and version. With `this_machine` also the versions of this machine:
    left out where a seed gives the same bytes on every machine."""
    told = {"kraft-chaos": _version("kraft-chaos"), **_commit()}
    if this_machine:
        told |= {"python": platform.python_version(), "kernel": platform.release()}
        told |= {package: _version(package) for package in _PACKAGES}
    return told


def made_of_images(images: Mapping[str, str]) -> dict[str, str]:
    """The ids of images, by the purpose of their containers."""
    return {f"image of {what}": image for what, image in sorted(images.items())}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _commit() -> dict[str, str]:
    """The commit of this program's checkout, or the one that its wheel was built from; empty where
    neither is known."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        built = root / BUILT_FROM
        return {"commit": built.read_text().strip()} if built.exists() else {}
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": f"{commit} with changes" if changed else commit} if commit else {}


def _git(root: Path, *words: str) -> str:
    """The output of git; "" where there is no git, or it refuses."""
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
