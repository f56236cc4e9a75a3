"""The node's wheels, for the Python of the container."""

import platform
from importlib.metadata import version
from pathlib import Path

import docker

from chaos.setup.base_image import python_version
from chaos.setup.images import MEND, Recipe, base_id, node_recipe
from chaos.setup.shell import SetupError, Tell, cache_dir, pip, run

# No Hypothesis beside them: kio imports it when present, slowly.
LIBRARIES = ("kio", "crc32c", "zstandard")


def recipe(client: docker.DockerClient, beside: str = "") -> Recipe:
    """The current node image; SetupError if its inputs were never fetched.

    `beside`: the name of an image with the same base, the program of which is added.
    """
    base = base_id(client)
    wheels = _directory(python_version(client, base))
    if not wheels.is_dir():
        raise SetupError("the node's libraries are missing", why=f"no {wheels}", mend=MEND)
    return node_recipe(beside or base, wheels)


def fetch_wheels(client: docker.DockerClient, progress: Tell) -> None:
    """Download the node's libraries once, in the versions that the harness itself uses."""
    python = python_version(client, base_id(client))
    wheels = _directory(python)
    if wheels.is_dir():
        return
    progress(f"fetching the node's libraries for Python {python}")
    scratch = wheels.with_suffix(".partial")
    machine = platform.machine()
    wanted = [f"{name}=={version(name)}" for name in LIBRARIES]
    platforms = [f"manylinux2014_{machine}", f"manylinux_2_28_{machine}"]
    command = pip("download", "-q", "--dest", str(scratch), "--only-binary", ":all:")
    command += ["--implementation", "cp", "--python-version", python]
    command += [word for name in platforms for word in ("--platform", name)]
    run([*command, *wanted], what="the node's libraries could not be fetched", mend=MEND)
    scratch.rename(wheels)


def _directory(python: str) -> Path:
    versions = "-".join(version(name) for name in LIBRARIES)
    return cache_dir() / f"wheels-{python}-{platform.machine()}-{versions}"
