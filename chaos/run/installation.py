"""`prepare` installs what is missing. The second time it only looks, in well under a second."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import docker

from chaos.cluster.docker.loop_disks import why_no_loop_disks
from chaos.setup import docker_engine, images, kafka_image, node_image
from chaos.setup.shell import Tell, cache_dir, repository, runtime_dir


def prepare(
    progress: Tell, release: str = "", *, of_both: bool = False, pcap: bool = False
) -> None:
    """Engine, images, warm caches. Safe when two run at once; SetupError says what failed.

    With a `release` of Apache Kafka, its image as well; `of_both`: and one with both it and our
    node. `pcap`: and one that records packets.
    """
    with _alone("setup", progress):
        docker_engine.ensure(progress)
        client = docker_engine.connect()
        try:
            _images(client, progress)
            if release:
                kafka_image.ensure(client, release, progress)
            if of_both:
                _ensure(
                    client, node_image.recipe(client, kafka_image.name(client, release)), progress
                )
            if pcap:
                _ensure(client, images.pcap_recipe(images.base_id(client)), progress)
            _power(client, progress)
        finally:
            client.close()
    _warm(progress)


def _images(client: docker.DockerClient, progress: Tell) -> None:
    """The proxy's binary and the base take half a minute each, and do not need each other."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        proxy = pool.submit(images.ensure, client, progress)
        base = pool.submit(node_image.ensure, client, progress)
        base.result()
        node_image.fetch_wheels(client, progress)
        for recipe in (images.agent_recipe(images.base_id(client)), node_image.recipe(client)):
            _ensure(client, recipe, progress)
        client.images.get(node_image.recipe(client).name).tag(images.NODE_LATEST)
        proxy.result()


def _ensure(client: docker.DockerClient, recipe: images.Recipe, progress: Tell) -> None:
    if images.image_id(client, recipe.name) is None:
        progress(f"building {recipe.name}")
        images.build(client, recipe)


def _power(client: docker.DockerClient, progress: Tell) -> None:
    """Tested each time: loop devices can disappear, with a module or a container's rights."""
    agent = images.agent_recipe(images.base_id(client)).name
    why = why_no_loop_disks(client, agent, again=True)
    if why:
        progress(f"power cuts are not possible here, power-off will be refused: {why}")
        progress("  try: kraft-chaos doctor")
        progress("  without it: baseline, partition-leader, kill-leader")


def _warm(progress: Tell) -> None:
    """Compile the checkers' kernels once, so that the first verdict is as quick as the next. That
    takes minutes on a busy machine; other checkouts get their images meanwhile."""
    name = f"warm-{_digest(repository() / 'checkers' / 'linearizability')}"
    stamp = cache_dir() / name
    with _alone(name, progress):
        if stamp.exists():
            return
        from checkers.linearizability import warm

        progress("warming the checkers' caches")
        warm()
        stamp.touch()


def _digest(package: Path) -> str:
    sha = hashlib.sha256(str(package).encode())
    for path in sorted(package.rglob("*.py")):
        sha.update(path.read_bytes())
    return sha.hexdigest()[:12]


@contextmanager
def _alone(name: str, progress: Tell) -> Iterator[None]:
    """One at a time for a user; the second waits and then finds everything there."""
    with (runtime_dir() / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another set-up that is running")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))
        yield
