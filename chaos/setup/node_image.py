"""The node's wheels, for the Python of the container.

The base image: pulled where a registry answers, else made with debootstrap.

It must hold a full python3: Debian's python3-minimal has no asyncio.
"""

import os
import platform
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import docker
from docker.errors import APIError, ContainerError, DockerException

from chaos.setup.docker_engine import apt_install
from chaos.setup.images import BASE, MEND, Recipe, base_id, image_id, node_recipe
from chaos.setup.shell import SetupError, Tell, cache_dir, found_program, pip, run

PULLED = "python:3.12-slim-bookworm"
PULLED_VARIABLE = "KRAFT_CHAOS_BASE_IMAGE"
PACKAGES = "python3,e2fsprogs,mount,util-linux,strace"
_BASE_MEND = (
    f"set {PULLED_VARIABLE} to an image with python3 that the engine can pull, or run as root"
)


def ensure(client: docker.DockerClient, progress: Tell) -> None:
    """Have the base image; SetupError says what was tried."""
    if image_id(client, BASE) is not None:
        return
    wanted = os.environ.get(PULLED_VARIABLE, PULLED)
    progress(f"pulling {wanted}")
    try:
        image = client.images.pull(wanted)
    except DockerException as error:
        progress("no registry answers: making a base image with debootstrap (about a minute)")
        _bootstrap(client, why_not_pulled=str(error))
    else:
        image.tag(BASE)


def python_version(client: docker.DockerClient, base: str) -> str:
    """The base's Python, as "3.11": the wheels of the node must fit it, not the host's."""
    known = cache_dir() / f"python-of-{base.removeprefix('sha256:')[:16]}"
    if known.exists():
        return known.read_text()
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    what = f"the base image {BASE} has no working python3"
    mend = f"docker rmi {BASE}; {_BASE_MEND}"
    command = ["python3", "-c", code]
    try:
        output = client.containers.run(base, command, remove=True, network_mode="none")
    except (ContainerError, APIError) as error:
        raise SetupError(what, why=str(error), mend=mend) from error
    version = output.decode().strip()
    if not version:
        raise SetupError(what, why="it printed no version", mend=mend)
    known.write_text(version)
    return version


def _bootstrap(client: docker.DockerClient, why_not_pulled: str) -> None:
    if os.geteuid() != 0:
        why = f"no image could be pulled ({why_not_pulled}) and debootstrap needs root"
        raise SetupError("no base image is available", why=why, mend=_BASE_MEND)
    if found_program("debootstrap") is None:
        apt_install("debootstrap", mend=_BASE_MEND)
    suite, mirror = _suite(), _mirror()
    with tempfile.TemporaryDirectory(prefix="kraft-chaos-base-") as scratch:
        root = Path(scratch) / "root"
        command = [found_program("debootstrap") or "debootstrap", "--variant=minbase"]
        command += [f"--include={PACKAGES}", suite, str(root), *([mirror] if mirror else [])]
        run(command, what=f"debootstrap of {suite} failed", mend=_BASE_MEND)
        _import(client, root)


def _import(client: docker.DockerClient, root: Path) -> None:
    """Import the tree into the engine, without files that only a package manager needs."""
    skipped = ("./var/cache/apt/*", "./var/lib/apt/lists/*", "./usr/share/doc/*", "./proc/*")
    command = ["tar", "-C", str(root), *(f"--exclude={path}" for path in skipped), "-c", "."]
    name, tag = BASE.split(":")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        if tar.stdout is None:
            raise AssertionError("tar was started with a pipe")
        client.api.import_image_from_stream(tar.stdout, repository=name, tag=tag)
    if tar.returncode != 0 or image_id(client, BASE) is None:
        raise SetupError(
            "the base image was not imported", why="see the engine's log", mend=_BASE_MEND
        )


def _suite() -> str:
    """The machine's own release: its mirror is known to work here."""
    release = platform.freedesktop_os_release()
    return release.get("VERSION_CODENAME", "bookworm")


def _mirror() -> str | None:
    """The mirror of this machine's apt; None leaves the choice to debootstrap."""
    form = "$(CODENAME) $(REPO_URI)"
    listed = run(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
        what="apt's sources could not be read",
        mend="apt-get update",
    )
    for line in listed.splitlines():
        codename, _, uri = line.partition(" ")
        if codename == _suite():
            return uri
    return None


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
