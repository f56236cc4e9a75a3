"""Apache Kafka in the nodes: it comes up behind the proxy, is hurt with evidence, and collected.

One cluster of three brokers and a controller for all of it, to be had in some 20 s; the image is
made where it is missing.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.clusters import WipeableDockerCluster, attached_cluster, new_cluster
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.interface import Link, NodeId, NodeStatus, PowerCutMode, Roles
from chaos.cluster.powers import Wipeable
from chaos.cluster.probe import brokers_known, until_it_knows
from chaos.cluster.targets.named import layout
from chaos.probes import advertised, driver_for
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from chaos.setup.shell import SetupError
from checkers.history.asked import TopicShape
from checkers.history.events import EventType
from tests.container.clusters import (
    ONE,
    SILENT_S,
    THREE,
    TWO,
    answered,
    containers_of,
    last_words,
    run,
    run_id,
    said_in,
)
from workloads.clients.administering import RawTopicClient
from workloads.clients.library import TopicResult
from workloads.clients.library_clients import UNWAITED, library_topic_client
from workloads.connection import Brokers
from workloads.wire.error_codes import ErrorCode
from workloads.wire.header import Api
from workloads.wire.topic_requests import create_topic, read_created

NAME = "kafka"
FOUR = NodeId(4)
BROKERS = [ONE, TWO, THREE]
UNFENCED_WITHIN_S = 120.0  # broker.session.timeout.ms is 9 s; others may use the machine too
DIRECTORIES = ("/data/kraft", "/data/kraft.second")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def cluster() -> Iterator[WipeableDockerCluster]:
    prepare(print, NEWEST)
    # A broker of a dynamic quorum may end by itself after an early power cut:
    # docs/results/findings.md, 1.
    target, nodes = layout("kafka", 3, {"quorum": "static", "log_dirs": "2"})
    made = new_cluster(run_id=run_id(NAME), nodes=nodes, target=target)
    assert isinstance(made, WipeableDockerCluster), made.no_power
    try:
        run(made.create())
        yield made
    finally:
        run(made.destroy())


def known_by(cluster: DockerCluster, broker: NodeId) -> frozenset[int]:
    return run(brokers_known(cluster.bootstrap[broker], timeout_s=5.0))


def assert_knows_all(cluster: DockerCluster, broker: NodeId) -> None:
    known = until_it_knows(cluster.bootstrap[broker], frozenset(BROKERS), UNFENCED_WITHIN_S)
    assert run(known), last_words(NAME)


def directory_id(node: NodeId) -> str:
    with containers_of(NAME) as nodes:
        text = said_in(nodes[node], "cat", "/data/kraft/meta.properties").decode()
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)["directory.id"]


def test_it_is_up_when_every_broker_knows_all_of_them(cluster: WipeableDockerCluster) -> None:
    assert [known_by(cluster, broker) for broker in BROKERS] == 3 * [frozenset({1, 2, 3})]
    assert cluster.roles == {**dict.fromkeys(BROKERS, Roles.BROKER), FOUR: Roles.CONTROLLER}
    assert cluster.settings["elr"] == "on"
    assert cluster.version.startswith(f"kafka {NEWEST} ")


def test_every_node_is_reached_through_the_proxy_only(cluster: WipeableDockerCluster) -> None:
    topology = cluster.topology
    with containers_of(NAME) as nodes:
        for link in topology.links():
            (port,) = topology.inner_ports(link.destination)
            assert answered(nodes[link.source], f"node-{link.destination}", port), link
            around = topology.networks[link.destination].address
            if link.source == ONE:
                assert not answered(nodes[link.source], around, port, SILENT_S), link


def test_another_process_finds_it_with_its_target(cluster: WipeableDockerCluster) -> None:
    other = attached_cluster(run_id(NAME))
    try:
        assert isinstance(other, Wipeable)
        assert (other.version, other.roles) == (cluster.version, cluster.roles)
        assert (other.settings, other.bootstrap) == (cluster.settings, cluster.bootstrap)
    finally:
        other.let_go()


def test_a_broker_cut_from_all_is_fenced_and_comes_back(cluster: WipeableDockerCluster) -> None:
    others = [node for node in cluster.nodes if node != THREE]
    links = [link for other in others for link in (Link(THREE, other), Link(other, THREE))]

    async def until_fenced() -> None:
        async with asyncio.timeout(UNFENCED_WITHIN_S):
            while THREE in await brokers_known(cluster.bootstrap[ONE], timeout_s=1.0):
                await asyncio.sleep(0.1)  # between two questions

    run(cluster.cut(links))
    run(until_fenced())
    evidence = run(cluster.heal(links))
    assert [str(link) for link, seen in evidence.items() if not seen.bit] == []
    assert_knows_all(cluster, ONE)


def test_a_killed_broker_is_unclean_and_starts_again(cluster: WipeableDockerCluster) -> None:
    evidence = run(cluster.kill(ONE))
    assert evidence.bit, evidence
    assert run(cluster.status(ONE)) is NodeStatus.OFF
    run(cluster.start(ONE))
    assert_knows_all(cluster, ONE)


def test_a_library_that_does_not_wait_acknowledges_what_nobody_created(
    cluster: WipeableDockerCluster,
) -> None:
    """The brokers refuse what is to take no time, and the library takes that for a success."""
    shape = TopicShape(partitions=1, replication=3, configs={})

    async def refused(name: str) -> int:
        """What the wire says to a creation that may take no time."""
        body = create_topic(name, partitions=1, replication=3, configs={}, timeout_ms=0)
        brokers = Brokers(driver_for(cluster, BROKERS), 10.0)
        try:
            return await brokers.send(
                ONE, Api.CREATE_TOPICS, body, lambda answer: read_created(answer, name)
            )
        finally:
            brokers.close()

    async def create(library: str, name: str) -> tuple[TopicResult, TopicResult]:
        """What the library says, and then the brokers, who are asked to create it once more."""
        client = library_topic_client(library, advertised(cluster, BROKERS), 10.0)
        assert client is not None
        wire = RawTopicClient(driver_for(cluster, BROKERS), 10.0)
        try:
            return await client.create(name, shape), await wire.create(name, shape)
        finally:
            await wire.close()

    waited, again = run(create("librdkafka", "waited"))
    assert (waited.outcome, again.code) == (EventType.OK, ErrorCode.TOPIC_ALREADY_EXISTS)
    assert run(refused("unwaited")) == ErrorCode.REQUEST_TIMED_OUT
    unwaited, again = run(create(UNWAITED, "unwaited"))
    assert (unwaited.outcome, again.code) == (EventType.OK, 0)


def where(node: NodeId, replica: str) -> list[str]:
    """The log directories of a node that have this replica, not counting one to be deleted."""
    with containers_of(NAME) as nodes:
        found = said_in(nodes[node], "find", *DIRECTORIES, "-type", "d", "-name", replica).decode()
    return [path.split("/")[2] for path in found.split()]


def test_replicas_move_to_the_other_log_directory_and_back(cluster: WipeableDockerCluster) -> None:
    shape = TopicShape(partitions=1, replication=3, configs={})

    async def create() -> None:
        client = RawTopicClient(driver_for(cluster, BROKERS), 10.0)
        try:
            assert (await client.create("moved", shape)).outcome is EventType.OK
        finally:
            await client.close()
        async with asyncio.timeout(UNFENCED_WITHIN_S):
            while not where(ONE, "moved-0"):
                await asyncio.sleep(0.1)  # between two looks: brokers hear of a topic later

    run(create())
    seen = []
    for _ in range(3):
        evidence = run(cluster.move_replicas(ONE))
        assert evidence.bit, evidence
        assert run(cluster.sync_disk(ONE)).bit
        seen.append(where(ONE, "moved-0"))
    assert seen[0] == seen[2] != seen[1]
    assert sorted(seen[0] + seen[1]) == ["kraft", "kraft.second"]


def test_brokers_and_controller_survive_a_power_cut(cluster: WipeableDockerCluster) -> None:
    run(cluster.power_off([TWO, FOUR], PowerCutMode.LOSE_ALL))

    async def start() -> None:
        await asyncio.gather(cluster.start(TWO), cluster.start(FOUR))

    run(start())
    for node in (TWO, FOUR):
        evidence = run(cluster.power_evidence(node))
        assert evidence.bit, evidence
    assert_knows_all(cluster, TWO)


def test_a_wiped_broker_has_another_disk_and_comes_back(cluster: WipeableDockerCluster) -> None:
    before = directory_id(THREE)
    with pytest.raises(ClusterError, match="runs"):
        run(cluster.wipe(THREE))
    run(cluster.kill(THREE))
    evidence = run(cluster.wipe(THREE))
    assert evidence.bit, evidence
    assert evidence.facts["directory_id_before"] == before
    run(cluster.start(THREE))
    assert directory_id(THREE) == evidence.facts["directory_id_after"] != before
    assert_knows_all(cluster, THREE)


def test_a_stopped_broker_leaves_in_good_order(cluster: WipeableDockerCluster) -> None:
    run(cluster.stop(TWO))
    with containers_of(NAME) as nodes:
        assert nodes[TWO].attrs["State"]["ExitCode"] == 143  # a JVM's word for SIGTERM
    run(cluster.start(TWO))


def test_what_nodes_leave_is_collected(cluster: WipeableDockerCluster, tmp_path: Path) -> None:
    run(cluster.collect(tmp_path))
    for node in cluster.nodes:
        disk = tmp_path / f"disks/node-{node}"
        assert f"node.id={node}" in (disk / "meta.properties").read_text()
        log = disk / "__cluster_metadata-0" / "00000000000000000000.log"
        assert log.stat().st_size > 1000
        assert (disk / "kraft.second" / "meta.properties").exists() is (node in BROKERS)
        assert "Kafka Server started" in (tmp_path / f"logs/node-{node}.log").read_text()


def test_an_image_that_was_never_made_is_asked_for_by_its_release() -> None:
    target, nodes = layout("kafka:4.0.999", 3, {})
    with pytest.raises(SetupError, match=r"try: kraft-chaos setup --target kafka:4\.0\.999"):
        new_cluster(run_id=run_id("unmade"), nodes=nodes, target=target)
