"""Clients and tools of Apache Kafka, unchanged, at brokers of ours in containers: they are sent to
the proxy, and go on through faults that hit while they append."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from chaos.cluster.docker.clusters import PoweredDockerCluster, new_cluster
from chaos.cluster.interface import FaultEvidence, Link, NodeId
from chaos.cluster.targets.named import layout
from chaos.probes import advertised
from chaos.run.installation import prepare
from tests.container.clusters import ONE, THREE, TWO, run, run_id
from tests.support.kafka_tools import CLUSTER, FEATURES, QUORUM, TOOLS, KafkaTools, kafka_tools

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

NAME = "foreign"
BROKERS = (ONE, TWO, THREE)
SETTINGS = {"brokers": "3", "replication": "3", "min_isr": "2"}
PATIENCE_S = 120.0  # JVMs start beside them
RECORDS, A_SECOND = 3000, 150
# What it is told to be: its own tool sends each record once, and each of them may be refused.
PRODUCER = """\
enable.idempotence=true
retries=2147483647
request.timeout.ms=5000
delivery.timeout.ms=120000
"""


class Used:
    """The tools, at these brokers."""

    def __init__(self, tools: KafkaTools, cluster: PoweredDockerCluster) -> None:
        self._tools = tools
        self.cluster = cluster
        entries = advertised(cluster, BROKERS).values()
        self.servers = ",".join(f"{each.host}:{each.port}" for each in entries)

    def said(self, tool: str, *words: str | Path, told: str = "") -> str:
        """What a tool that succeeded wrote."""
        at = ("--bootstrap-server", self.servers)
        asked = (*words, *at) if tool == CLUSTER else (*at, *words)
        done = self._tools.run(tool, *asked, told=told)
        assert done.returncode == 0, f"{tool} {words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def create(self, topic: str) -> None:
        made = ("--topic", topic, "--partitions", "1", "--replication-factor", "3")
        said = self.said(f"{TOOLS}.TopicCommand", "--create", *made)
        assert f"Created topic {topic}." in said

    def leader(self, topic: str) -> NodeId | None:
        """As any broker tells it; None: nobody leads. Each time by another client: one would stay
        with a broker that is cut off, and hears of nobody else."""
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        try:
            partition = admin.list_topics(topic, timeout=5).topics[topic].partitions[0]
        except (KafkaException, KeyError):
            return None
        return NodeId(partition.leader) if partition.leader in BROKERS else None

    def end(self, topic: str) -> int:
        consumer = self._consumer()
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=5)
        except KafkaException:
            return 0
        finally:
            consumer.close()
        return int(end)

    def records(self, topic: str) -> list[str]:
        """All of its only partition, in order."""
        consumer, found = self._consumer(), list[str]()
        end = self.end(topic)
        consumer.assign([TopicPartition(topic, 0, 0)])
        until = time.monotonic() + PATIENCE_S
        while len(found) < end and time.monotonic() < until:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                value = message.value()
                found.append("" if value is None else str(value, "utf-8"))
        consumer.close()
        return found

    def _consumer(self) -> Consumer:
        return Consumer({"bootstrap.servers": self.servers, "group.id": "readers", "log_level": 0})


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    prepare(print)
    target, nodes = layout("node", 3, SETTINGS)
    cluster = new_cluster(run_id=run_id(NAME), nodes=nodes, target=target)
    assert isinstance(cluster, PoweredDockerCluster), cluster.no_power
    try:
        run(cluster.create())
        yield Used(kafka_tools(tmp_path_factory.mktemp("tools")), cluster)
    finally:
        run(cluster.destroy())


def until(condition: Callable[[], bool], what: str) -> None:
    async def look() -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(condition):
                await asyncio.sleep(0.2)  # between two looks

    try:
        run(look())
    except TimeoutError:
        pytest.fail(f"not within {PATIENCE_S} s: {what}")


def test_tools_and_console_clients_are_answered_through_the_proxy(used: Used) -> None:
    used.create("orders")
    described = used.said(f"{TOOLS}.TopicCommand", "--describe", "--topic", "orders")
    assert "ReplicationFactor: 3" in described
    entity = ("--entity-type", "topics", "--entity-name", "orders")
    used.said("kafka.admin.ConfigCommand", "--alter", *entity, "--add-config", "retention.ms=9999")
    assert "retention.ms=9999 " in used.said("kafka.admin.ConfigCommand", "--describe", *entity)
    quorum = used.said(QUORUM, "describe", "--status")
    assert re.search(r"^LeaderId: +4$", quorum, re.MULTILINE), quorum
    assert "Feature: metadata.version" in used.said(FEATURES, "describe")
    listed = used.said(CLUSTER, "list-endpoints")
    assert len(re.findall(r" unfenced +broker", listed)) == len(BROKERS)
    numbers = [str(number) for number in range(20)]
    used.said(f"{TOOLS}.ConsoleProducer", "--topic", "orders", told="\n".join(numbers))
    asked = ("--topic", "orders", "--from-beginning", "--timeout-ms", "120000")
    group = ("--max-messages", "20", "--group", "console")
    read = used.said(f"{TOOLS}.consumer.ConsoleConsumer", *asked, *group)
    assert read.split() == numbers
    groups = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    assert used.said(groups, "--list").split() == ["console"]


def until_another_leads(used: Used, topic: str, leader: NodeId) -> None:
    until(lambda: used.leader(topic) not in (None, leader), "another one leads")
    assert used.end(topic) < RECORDS, "there was nothing left to append"


def cut_off(used: Used, leader: NodeId) -> Mapping[str, FaultEvidence]:
    """From all nodes, while clients reach it; until another one leads, and then for good."""
    others = [node for node in used.cluster.nodes if node != leader]
    links = [link for node in others for link in (Link(leader, node), Link(node, leader))]
    run(used.cluster.cut(links))
    until_another_leads(used, "partition", leader)
    return {str(link): seen for link, seen in run(used.cluster.heal(links)).items()}


def without_power(used: Used, leader: NodeId) -> Mapping[str, FaultEvidence]:
    run(used.cluster.power_off([leader]))
    until_another_leads(used, "power-off", leader)
    run(used.cluster.start(leader))
    return {str(leader): run(used.cluster.power_evidence(leader))}  # told once it starts


@pytest.mark.parametrize(
    ("topic", "hurt"),
    [
        pytest.param("partition", cut_off, marks=pytest.mark.night),
        ("power-off", without_power),
    ],
)
def test_a_verifiable_producer_appends_each_record_once_while_its_leader_is_hurt(
    used: Used,
    tmp_path: Path,
    topic: str,
    hurt: Callable[[Used, NodeId], Mapping[str, FaultEvidence]],
) -> None:
    used.create(topic)
    (tmp_path / "producer.properties").write_text(PRODUCER)
    words = ("--topic", topic, "--max-messages", str(RECORDS), "--throughput", str(A_SECOND))
    config = ("--command-config", tmp_path / "producer.properties")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(used.said, f"{TOOLS}.VerifiableProducer", *words, *config)
        until(lambda: used.end(topic) > 100 or running.done(), "it appends")
        leader = used.leader(topic)
        assert leader is not None
        evidence = hurt(used, leader)
        rows = [json.loads(line) for line in running.result().splitlines()]
    assert [each for each, seen in evidence.items() if not seen.bit] == []
    acknowledged = {
        int(row["offset"]): row["value"] for row in rows if row["name"] == "producer_send_success"
    }
    stored = used.records(topic)
    assert {offset: stored[offset] for offset in acknowledged} == acknowledged
    assert sorted(map(int, stored)) == list(range(RECORDS))
