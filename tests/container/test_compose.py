"""The compose file brings up the cluster that the harness makes: same networks, links and names."""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import docker
import pytest
import tenacity
from docker.models.containers import Container

from chaos.cluster.compose_file import compose_topology
from chaos.cluster.docker import labels as label
from chaos.cluster.docker.labels import RunLabels
from chaos.cluster.interface import Address
from chaos.cluster.topology import AGAIN, API_PORT, NOWHERE, Topology, host_name
from chaos.run.installation import prepare
from chaos.setup import docker_engine
from chaos.setup.shell import repository
from tests.container.clusters import cluster_of_stand_ins, run_id, said_in

PROJECT = "kraft-chaos-compose-test"


@dataclass(frozen=True)
class Made:
    """A cluster with its addresses replaced by what they are, so that two can be compared."""

    members: Mapping[str, frozenset[str]]  # of each node's network
    internal: Mapping[str, bool]
    links: Mapping[str, tuple[str, str]]  # proxy name -> where it listens, where it leads
    names: Mapping[str, Mapping[str, str]]  # node -> name -> whose address


def compose(*words: str) -> None:
    program = shutil.which("docker-compose")
    assert program, "docker-compose is missing: .ci/test-needs installs it"
    file = str(repository() / "compose" / "docker-compose.yml")
    done = subprocess.run(
        [program, "-f", file, "-p", PROJECT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    prepare(print)
    client = docker_engine.connect()
    yield client
    client.close()


@pytest.fixture
def composed(engine: docker.DockerClient) -> Iterator[docker.DockerClient]:
    compose("down", "-v")
    try:
        compose("up", "-d")
        yield engine
    finally:
        compose("down", "-v")


def test_compose_makes_what_the_harness_makes(composed: docker.DockerClient) -> None:
    wait_for_leader(list(compose_topology().bootstrap().values()))
    by_hand = look(
        composed,
        compose_topology(),
        f"{PROJECT}_",
        f"com.docker.compose.project={PROJECT}",
        API_PORT,
    )
    with cluster_of_stand_ins("compared") as cluster:
        topology = cluster._parts.topology
        name = RunLabels(run_id=run_id("compared"), owner=label.Owner.RUN).name("")
        chosen = f"{label.RUN}={run_id('compared')}"
        by_harness = look(composed, topology, name, chosen, cluster._parts.api.server.port)
    assert by_hand == by_harness
    assert by_hand.members["node-1"] == {"node-1", "proxy"}
    assert by_hand.links["link-1-2"] == ("proxy in 1:9102", "node 2:9102")
    assert by_hand.names["node-3"]["node-1"] == "proxy in 3"


@tenacity.retry(stop=tenacity.stop_after_delay(30), wait=tenacity.wait_fixed(0.2), reraise=True)
def wait_for_leader(entrances: Sequence[Address]) -> None:
    """Through the published ports: one of them leads to the leader."""
    places = ",".join(f"{entrance.host}:{entrance.port}" for entrance in entrances)
    command = ["quorum", "--bootstrap", places, "describe"]
    done = subprocess.run(
        [sys.executable, "-m", "node.server", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    words = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    assert int(words["LeaderId"]) in (1, 2, 3), done.stdout


def look(
    client: docker.DockerClient, topology: Topology, prefix: str, chosen: str, api_port: int
) -> Made:
    """What is really there: asked of the engine, of toxiproxy, and of the nodes."""
    roles = roles_of(topology)
    containers = client.containers.list(filters={"label": chosen})
    return Made(
        members={name: members(client, prefix + name) for name in map(host_name, topology.nodes)},
        internal={
            name: bool(client.networks.get(prefix + name).attrs["Internal"])
            for name in ("front", *map(host_name, topology.nodes))
        },
        links={
            name: (said(entry["listen"], roles), said(entry["upstream"], roles))
            for name, entry in asked(api_port).items()
        },
        names={
            container.attrs["Config"]["Hostname"]: hosts(container, roles)
            for container in containers
            if container.attrs["Config"]["Hostname"].startswith("node-")
        },
    )


def roles_of(topology: Topology) -> dict[str, str]:
    places = topology.networks.values()
    return {place.address: f"node {place.node}" for place in places} | {
        place.proxy: f"proxy in {place.node}" for place in places
    }


def members(client: docker.DockerClient, network: str) -> frozenset[str]:
    inside = client.networks.get(network).attrs["Containers"].values()
    return frozenset(
        next((word for word in ("node-1", "node-2", "node-3") if word in row["Name"]), "proxy")
        for row in inside
    )


def asked(api_port: int) -> dict[str, dict[str, str]]:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://127.0.0.1:{api_port}/proxies", timeout=5) as answer:
        found: dict[str, dict[str, str]] = json.load(answer)
    return found


def said(place: str, roles: Mapping[str, str]) -> str:
    host, _, port = place.rpartition(":")
    return f"{roles.get(host, 'anywhere')}:{port}"


def hosts(container: Container, roles: Mapping[str, str]) -> dict[str, str]:
    """The node's own names, as its resolver reads them, but for those that only a fault uses."""
    found = {}
    for line in said_in(container, "cat", "/etc/hosts").decode().splitlines():
        address, _, names = line.partition("\t")
        for name in names.split():
            is_node = name.startswith("node-") and not name.endswith((AGAIN, NOWHERE))
            if is_node and address in roles:
                found[name] = roles[address]
    return found
