"""Apache Kafka's image: a Java, and the jars of one release, fetched by Maven."""

import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import docker

from chaos.container_files import copy_out
from chaos.releases import is_own_build, setup_command
from chaos.setup import images, own_build
from chaos.setup.shell import SetupError, Tell, cache_dir, found_program, repository, run

_RELEASE = re.compile(r"4\.\d+\.\d+", re.ASCII)
LIBS = "/libs"  # where the image of Debian's Maven has put the jars


def name(client: docker.DockerClient, release: str) -> str:
    """The current name of a release's image, or of that around a build of the user's. Raises
    SetupError."""
    if is_own_build(release):
        return own_build.name(client, release)
    return images.kafka_recipe(images.base_id(client), release).name


def ensure(client: docker.DockerClient, release: str, progress: Tell) -> None:
    """Have the image; the base image is there. SetupError says what was tried."""
    if is_own_build(release):
        own_build.ensure(client, release, progress)
        return
    recipe = images.kafka_recipe(images.base_id(client), release)
    if images.image_id(client, recipe.name) is not None:
        return
    libs = jars(client, release, progress)
    progress(f"building {recipe.name}")
    files = {f"libs/{jar.name}": jar.read_bytes() for jar in sorted(libs.glob("*.jar"))}
    images.build(client, replace(recipe, files={**recipe.files, **files}), recipe.name)


def jars(client: docker.DockerClient, release: str, progress: Tell) -> Path:
    """A directory of a release's jars, fetched once. SetupError says what was tried."""
    kept = cache_dir() / f"kafka-{release}"
    if kept.is_dir():
        return kept
    progress(f"fetching the jars of Apache Kafka {release}")
    scratch = Path(tempfile.mkdtemp(prefix=f"kafka-{release}-", dir=cache_dir()))
    try:
        if found_program("mvn") is not None:
            _by_host(release, scratch)
        else:
            progress("no mvn here: Debian's Maven fetches them in a container (about a minute)")
            _by_container(client, release, scratch)
        _keep(scratch, kept)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return kept


def released() -> list[str]:
    """The releases from 4.0.0 on that Maven's repository has, the newest first. Raises
    SetupError."""
    if found_program("mvn") is None:
        raise SetupError(
            "the releases of Apache Kafka cannot be looked up",
            why="there is no mvn on this machine",
            mend="install Maven (Debian: apt-get install maven)",
            without="kraft-chaos setup --target kafka:VERSION has Debian's Maven in a container",
        )
    told = run(
        [str(repository() / "compose" / "kafka-jars" / "releases")],
        what="the releases of Apache Kafka cannot be looked up",
        mend="look at what Maven said, and try again",
    )
    kept = Path(told.strip().splitlines()[-1])
    found = {
        version.text or ""
        for file in kept.glob("maven-metadata*.xml")
        for version in ElementTree.parse(file).iterfind(".//version")
    }
    numbered = [each for each in found if _RELEASE.fullmatch(each)]
    return sorted(numbered, key=lambda each: tuple(map(int, each.split("."))), reverse=True)


def is_here(release: str) -> bool:
    """Whether its jars were fetched."""
    return (cache_dir() / f"kafka-{release}").is_dir()


def _keep(scratch: Path, kept: Path) -> None:
    """A rename within the cache: a process that sees the directory sees all of it. Another process
    may have fetched it first."""
    try:
        scratch.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise


def _by_host(release: str, into: Path) -> None:
    fetch = repository() / "compose" / "kafka-jars" / "fetch"
    run(
        [str(fetch), release, str(into)],
        what=f"the jars of Apache Kafka {release} could not be fetched",
        mend=f"{setup_command(release)}, with a release that Maven's repository has",
    )


def _by_container(client: docker.DockerClient, release: str, into: Path) -> None:
    image = images.build(client, images.kafka_jars_recipe(images.base_id(client), release))
    container = client.containers.create(image, command=["true"], network_mode="none")
    try:
        copy_out(container, LIBS, into)
    finally:
        container.remove(force=True)
        client.images.remove(image)  # 400 MB that are not needed again
    if not any(into.glob("kafka_*.jar")):
        raise SetupError(
            f"the jars of Apache Kafka {release} could not be fetched",
            why=f"{image} has none in {LIBS}",
            mend=setup_command(release),
        )
