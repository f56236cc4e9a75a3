"""Kafka's admin clients at brokers of ours, which hand on to the controllers what is theirs: as
processes on loopback, with librdkafka and kafka-python."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kafka import KafkaAdminClient

from tests.support.own_brokers import BROKER_PATIENCE_S, OwnCluster, own_cluster
from tests.support.quorum_processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IDS = (4, 5)
# Whoever is killed is missed soon, and nobody else on a machine that stalls.
SETTINGS = """\
controller.quorum.fetch.timeout.ms=5000
broker.session.timeout.ms=20000
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path, 3, IDS, SETTINGS) as made:
        yield made


def test_librdkafka_administers_by_brokers_alone(cluster: OwnCluster) -> None:
    admin = cluster.admin()
    described = admin.describe_cluster().result(BROKER_PATIENCE_S)
    assert {each.id for each in described.nodes} == set(IDS)
    assert described.cluster_id == cluster.quorum.cluster_id
    orders = NewTopic("orders", 2, 2, config={"min.insync.replicas": "2"})
    admin.create_topics([orders])["orders"].result(BROKER_PATIENCE_S)
    with pytest.raises(Exception, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topics([orders])["orders"].result(BROKER_PATIENCE_S)
    admin.create_partitions([NewPartitions("orders", 3)])["orders"].result(BROKER_PATIENCE_S)
    resource = ConfigResource(
        ResourceType.TOPIC,
        "orders",
        incremental_configs=[
            ConfigEntry("retention.ms", "5000", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    admin.incremental_alter_configs([resource])[resource].result(BROKER_PATIENCE_S)
    asked = ConfigResource(ResourceType.TOPIC, "orders")

    def configured() -> bool | None:
        found = admin.describe_configs([asked])[asked].result(BROKER_PATIENCE_S)
        told = {name: found[name].value for name in ("retention.ms", "min.insync.replicas")}
        return told == {"retention.ms": "5000", "min.insync.replicas": "2"} or None

    def partitions() -> int | None:
        topics = admin.list_topics(timeout=10).topics
        return len(topics["orders"].partitions) if "orders" in topics else None

    wait_until(configured, "a broker tells what was set", BROKER_PATIENCE_S)
    wait_until(lambda: partitions() == 3 or None, "it has three partitions", BROKER_PATIENCE_S)
    admin.delete_topics(["orders"])["orders"].result(BROKER_PATIENCE_S)
    wait_until(lambda: partitions() is None or None, "it is gone", BROKER_PATIENCE_S)


def test_kafka_python_does_and_outlives_the_active_controller(cluster: OwnCluster) -> None:
    cluster.admin()
    admin = KafkaAdminClient(bootstrap_servers=cluster.addresses(), request_timeout_ms=60_000)
    try:
        admin.create_topics({"orders": {"num_partitions": 1, "replication_factor": 2}})
        described = admin.describe_metadata_quorum()
        (partition,) = described["topics"][0]["partitions"]
        assert {each["replica_id"] for each in partition["current_voters"]} == {1, 2, 3}
        assert {each["replica_id"] for each in partition["observers"]} == set(IDS)
        cluster.quorum.leader().kill()
        admin.create_topics({"bills": {"num_partitions": 2, "replication_factor": 2}})
        told = wait_until(lambda: _described(admin), "a broker tells of both", BROKER_PATIENCE_S)
        assert told == {"orders": 1, "bills": 2}
        elected = admin.elect_leaders(0, raise_errors=False)
        assert elected.error_code == 0
        assert admin.list_partition_reassignments() == {}
    finally:
        admin.close()


def _described(admin: KafkaAdminClient) -> dict[str, int] | None:
    """Topics, and how many partitions each has; None where one has no leader with its ISR."""
    topics = admin.describe_topic_partitions(["orders", "bills"])["topics"]
    rows = [row for topic in topics for row in topic["partitions"]]
    if any(row["leader_id"] < 0 or len(row["isr_nodes"]) != len(IDS) for row in rows):
        return None
    found = {topic["name"]: len(topic["partitions"]) for topic in topics}
    return found if all(found.values()) else None
