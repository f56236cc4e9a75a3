"""Kafka's own tools and Java clients, unchanged, at brokers of ours, as processes on loopback."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.kafka_tools import CLUSTER, FEATURES, QUORUM, TOOLS, KafkaTools, kafka_tools
from tests.support.own_brokers import OwnCluster, own_cluster

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

IDS = (4, 5, 6)
SETTINGS = "controller.quorum.fetch.timeout.ms=10000\n"  # JVMs start beside them
TOPIC, CONFIG = f"{TOOLS}.TopicCommand", "kafka.admin.ConfigCommand"
PRODUCER, CONSUMER = f"{TOOLS}.ConsoleProducer", f"{TOOLS}.consumer.ConsoleConsumer"
GROUPS, OFFSETS = f"{TOOLS}.consumer.group.ConsumerGroupCommand", f"{TOOLS}.GetOffsetShell"


@dataclass(frozen=True)
class Used:
    """The tools, at these brokers."""

    tools: KafkaTools
    cluster: OwnCluster

    def said(self, tool: str, *words: str | Path, told: str = "") -> str:
        """What a tool that succeeded wrote."""
        at = ("--bootstrap-server", self.cluster.servers())
        # Options of a command stand behind its name; of others, before.
        asked = (*words, *at) if tool == CLUSTER else (*at, *words)
        done = self.tools.run(tool, *asked, told=told)
        assert done.returncode == 0, f"{tool} {words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def create(self, name: str, *words: str) -> None:
        made = ("--partitions", "2", "--replication-factor", "3", *words)
        assert f"Created topic {name}." in self.said(TOPIC, "--create", "--topic", name, *made)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    tools = kafka_tools(tmp_path_factory.mktemp("tools"))
    with own_cluster(tmp_path_factory.mktemp("cluster"), 3, IDS, SETTINGS) as cluster:
        cluster.admin()
        yield Used(tools, cluster)


def test_topics_are_made_configured_described_and_deleted(used: Used) -> None:
    used.create("bills", "--config", "min.insync.replicas=2")
    described = used.said(TOPIC, "--describe", "--topic", "bills")
    assert "PartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2" in described
    isrs = re.findall(r"Isr: ([0-9,]+)\tElr: \t", described)
    assert [sorted(map(int, isr.split(","))) for isr in isrs] == [list(IDS)] * 2
    used.said(TOPIC, "--alter", "--topic", "bills", "--partitions", "3")
    entity = ("--entity-type", "topics", "--entity-name", "bills")
    used.said(CONFIG, "--alter", *entity, "--add-config", "retention.ms=3600000")
    configured = used.said(CONFIG, "--describe", *entity)
    assert "min.insync.replicas=2 " in configured
    assert "retention.ms=3600000 " in configured
    used.said(TOPIC, "--delete", "--topic", "bills")
    assert "bills" not in used.said(TOPIC, "--list").split()


def test_console_clients_and_what_a_group_has_committed(used: Used) -> None:
    used.create("orders")
    used.said(PRODUCER, "--topic", "orders", told="\n".join(map(str, range(50))))
    asked = ("--topic", "orders", "--from-beginning", "--timeout-ms", "120000")
    read = used.said(CONSUMER, *asked, "--max-messages", "50", "--group", "readers")
    assert sorted(map(int, read.split())) == list(range(50))
    assert used.said(GROUPS, "--list").split() == ["readers"]
    assert lags(used) == (50, 0)
    back = ("--reset-offsets", "--topic", "orders", "--to-earliest", "--execute")
    used.said(GROUPS, "--group", "readers", *back)
    assert lags(used) == (0, 50)


def lags(used: Used) -> tuple[int, int]:
    """How far the group is in all partitions together, and how far behind."""
    rows = re.findall(
        r"^readers +orders +\d+ +(\d+) +\d+ +(\d+) ",
        used.said(GROUPS, "--describe", "--group", "readers"),
        re.MULTILINE,
    )
    return sum(int(at) for at, _ in rows), sum(int(lag) for _, lag in rows)


def test_verifiable_and_performance_clients(used: Used) -> None:
    used.create("loads")
    count = ("--max-messages", "500")
    sent = used.said(f"{TOOLS}.VerifiableProducer", "--topic", "loads", *count, "--acks", "-1")
    told = [json.loads(line) for line in sent.splitlines()]
    acknowledged = {
        (row["partition"], row["offset"]) for row in told if row["name"] == "producer_send_success"
    }
    assert len(acknowledged) == 500
    consumer = f"{TOOLS}.VerifiableConsumer"
    got = used.said(consumer, "--topic", "loads", *count, "--group-id", "verifiers")
    rows = [json.loads(line) for line in got.splitlines()]
    consumed = sum(row["count"] for row in rows if row["name"] == "records_consumed")
    assert consumed >= 500
    assert all(row["success"] for row in rows if row["name"] == "offsets_committed")
    size = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
    assert "5000 records sent" in used.said(
        f"{TOOLS}.ProducerPerformance", "--topic", "loads", *size
    )
    performance = ("--topic", "loads", "--num-records", "5500", "--timeout", "120000")
    assert ", 5500, " in used.said(f"{TOOLS}.ConsumerPerformance", *performance)


def test_offsets_and_records_that_are_deleted(used: Used, tmp_path: Path) -> None:
    used.create("notes")
    used.said(PRODUCER, "--topic", "notes", told="\n".join(map(str, range(40))))
    ends = offsets(used, "-1")
    assert sum(ends.values()) == 40
    longest = max(ends, key=lambda partition: ends[partition])
    wanted = tmp_path / "wanted.json"
    row = {"topic": "notes", "partition": longest, "offset": 1}
    wanted.write_text(json.dumps({"version": 1, "partitions": [row]}))
    said = used.said(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", wanted)
    assert f"partition: notes-{longest}\tlow_watermark: 1" in said
    assert offsets(used, "-2") == {partition: int(partition == longest) for partition in ends}


def offsets(used: Used, time: str) -> dict[int, int]:
    """By partition: where the log ends (-1), or where it begins (-2)."""
    said = used.said(OFFSETS, "--topic", "notes", "--time", time)
    return {int(row.split(":")[1]): int(row.split(":")[2]) for row in said.split()}


def test_brokers_tell_of_the_cluster_and_its_quorum(used: Used) -> None:
    assert used.cluster.quorum.cluster_id in used.said(CLUSTER, "cluster-id")
    listed = used.said(CLUSTER, "list-endpoints")
    assert re.findall(r"^(\d+) +\S+ +\d+ +\S+ +unfenced +broker", listed, re.MULTILINE) == [
        str(id_) for id_ in IDS
    ]
    replicas = used.said(QUORUM, "describe", "--replication")
    observers = re.findall(r"^(\d+) .*Observer", replicas, re.MULTILINE)
    assert {int(id_) for id_ in observers} == set(IDS)
    assert "Feature: eligible.leader.replicas.version" in used.said(FEATURES, "describe")
    usable = used.said(f"{TOOLS}.BrokerApiVersionsCommand")
    assert usable.count("Produce(0): 3 to 13 [usable: 13]") == len(IDS)
    election = ("--election-type", "preferred", "--all-topic-partitions")
    used.said(f"{TOOLS}.LeaderElectionCommand", *election)
