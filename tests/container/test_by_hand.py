"""What a finding's script shows without the harness: Kafka's own tools, a loop device, an ioctl."""

from collections.abc import Iterator

import docker
import pytest

from chaos.cluster.docker.agent import CAPABILITIES, DEVICES
from chaos.labs.findings import FINDINGS
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from chaos.setup import docker_engine, images, kafka_image

pytestmark = [pytest.mark.night, pytest.mark.timeout(900)]

# Where the base image comes without them.
DOCKERFILE = b"""\
ARG BASE
FROM ${BASE}
USER root
RUN command -v mkfs.ext4 && command -v losetup && command -v mount || { \\
      apt-get update && apt-get install -y --no-install-recommends e2fsprogs mount; }
"""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    prepare(print, NEWEST)
    found = docker_engine.require()
    yield found
    found.close()


@pytest.fixture(scope="module")
def machine(client: docker.DockerClient) -> Iterator[str]:
    """An image with Java, Apache Kafka, and what makes disks."""
    recipe = images.Recipe(
        repository="kraft-chaos/by-hand",
        base=kafka_image.name(client, NEWEST),
        files={"Dockerfile": DOCKERFILE},
    )
    yield images.build(client, recipe, recipe.name)
    client.images.remove(recipe.name)


def test_the_script_of_a_clean_stop_shows_the_loss_by_itself(
    client: docker.DockerClient, machine: str
) -> None:
    printed = by_hand(client, machine, FINDINGS["clean-stop-power-off"].script())
    assert "exit code 143" in printed
    assert "LOST: 100 of 100 acknowledged records" in printed, printed
    assert "due to log retention time 604800000ms breach" in printed


def by_hand(client: docker.DockerClient, machine: str, script: str) -> str:
    """What a script prints in a container of its own; no loop device stays."""
    before = attached(client, machine)
    container = client.containers.run(
        machine,
        ["-c", script],
        entrypoint=["sh"],
        environment={"KAFKA": "/opt/kafka"},
        network_mode="none",
        cap_add=CAPABILITIES,
        device_cgroup_rules=DEVICES,
        security_opt=["apparmor=unconfined"],
        volumes={"/dev": {"bind": "/dev"}},
        detach=True,
    )
    try:
        code = container.wait()["StatusCode"]
        printed = container.logs().decode()
    finally:
        container.remove(force=True)
    assert code == 0, printed
    assert attached(client, machine) == before
    return printed


def attached(client: docker.DockerClient, machine: str) -> bytes:
    """Loop devices over images that scripts make."""
    look = ["-c", "cat /sys/block/loop*/loop/backing_file | grep /image- || true"]
    found: bytes = client.containers.run(
        machine, look, entrypoint=["sh"], network_mode="none", remove=True
    )
    return found
