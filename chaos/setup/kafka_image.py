"""Apache Kafka's image: a Java, and the jars of one release, fetched by Maven."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import docker

from chaos.container_files import copy_out
from chaos.releases import setup_command
from chaos.setup import images
from chaos.setup.shell import SetupError, Tell, cache_dir, found_program, repository, run

LIBS = "/libs"  # where the image of Debian's Maven has put the jars


def name(client: docker.DockerClient, release: str) -> str:
    """The current name of a release's image; SetupError without a base image."""
    return images.kafka_recipe(images.base_id(client), release).name


def ensure(client: docker.DockerClient, release: str, progress: Tell) -> None:
    """Have the image; the base image is there. SetupError says what was tried."""
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
