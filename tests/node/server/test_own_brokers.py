"""A controller and three brokers of ours as processes on loopback, with librdkafka as client."""

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from node.controller.image import Image, Partition
from node.errors import ErrorCode
from node.records.batch import CODECS, DamagedBatch, split_batches
from node.records.metadata import decode_metadata
from node.server.property_values import LONG
from node.server.tool_client import Client
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicSetting,
)
from tests.support.own_brokers import BROKER_PATIENCE_S, OwnBroker, OwnCluster, own_cluster
from tests.support.quorum_processes import QuorumProcesses, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Leaders and sessions stay while the machine stalls.
SETTINGS = """\
controller.quorum.fetch.timeout.ms=10000
controller.quorum.request.timeout.ms=10000
broker.session.timeout.ms=6000
"""
IDS = (4, 5, 6)
LOG = "data/__cluster_metadata-0/00000000000000000000.log"
SEGMENT = "orders-0/00000000000000000000.log"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path, 1, IDS, SETTINGS) as made:
        yield made


def image(quorum: QuorumProcesses) -> Image:
    """What the log of the controller says, committed or not."""
    made = Image()
    data = (quorum.running()[0].directory / LOG).read_bytes()
    try:
        for batch in split_batches(data):
            if not batch.header.is_control:
                for value in batch.values():
                    made.replay(decode_metadata(value))
    except DamagedBatch as end:
        if not end.torn:  # by who writes it at this moment
            raise
    return made


def orders(quorum: QuorumProcesses) -> Partition:
    topics = image(quorum).topics
    found = topics.named("orders")
    assert found is not None
    partition = topics.partition(found.id, 0)
    assert partition is not None
    return partition


def until(condition: Callable[[], bool], what: str, cluster: OwnCluster) -> None:
    try:
        wait_until(lambda: condition() or None, what, BROKER_PATIENCE_S)
    except AssertionError as vain:
        raise AssertionError(f"{vain}\n{cluster.told()}") from vain


def create(quorum: QuorumProcesses) -> None:
    topic = NewTopic(
        name="orders",
        partitions=1,
        replication=3,
        configs=(TopicSetting(name="min.insync.replicas", value="2"),),
    )

    def ask(client: Client) -> bool | None:
        answer = client.send(CreateTopicsRequest(topics=(topic,)))
        assert isinstance(answer, CreateTopicsResponse)
        return True if answer.results[0].error is ErrorCode.NONE else None

    quorum.told("create orders", ask)


def produce(cluster: OwnCluster, numbers: range, codec: str = "none") -> None:
    """Every one acknowledged by all of the ISR, and written once."""
    errors: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.servers(),
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": codec,
            "message.timeout.ms": int(BROKER_PATIENCE_S * 1000),
            "log_level": 0,
        }
    )
    for number in numbers:
        producer.produce(
            "orders", value=str(number), on_delivery=lambda error, _: errors.append(error)
        )
    assert producer.flush(BROKER_PATIENCE_S) == 0
    assert errors == [None] * len(numbers)


def consume(cluster: OwnCluster, count: int) -> list[int]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.servers(),
            "group.id": "readers",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition("orders", 0, 0)])
    read: list[int] = []

    def look() -> bool | None:
        for message in consumer.consume(count, timeout=1.0):
            if message.error() is None:
                value = message.value()
                assert isinstance(value, bytes)
                read.append(int(value))
        return True if len(read) >= count else None

    try:
        wait_until(look, f"{count} records are read", BROKER_PATIENCE_S)
    finally:
        consumer.close()
    return read


def shutdown_file(broker: OwnBroker) -> Path:
    return broker.data / ".kafka_cleanshutdown"


def test_what_was_acknowledged_is_read_back_whoever_ends(
    cluster: OwnCluster,
) -> None:
    quorum, brokers = cluster.quorum, cluster.brokers
    until(lambda: all(map(image(quorum).brokers.is_active, IDS)), "all are active", cluster)
    create(quorum)
    produce(cluster, range(100))
    assert consume(cluster, 100) == list(range(100))

    first = brokers[orders(quorum).leader]
    first.kill()
    produce(cluster, range(100, 200))
    assert orders(quorum).leader != first.id
    assert first.id not in orders(quorum).isr
    assert consume(cluster, 200) == list(range(200))
    first.start()
    until(lambda: set(orders(quorum).isr) == set(IDS), "the killed one is in the ISR", cluster)

    second = brokers[orders(quorum).leader]
    registered = image(quorum).brokers.find(second.id)
    assert registered is not None
    assert second.terminate() == 0
    assert json.loads(shutdown_file(second).read_text())["brokerEpoch"] == registered.broker_epoch
    assert orders(quorum).leader not in (-1, second.id)
    produce(cluster, range(200, 300))
    second.start()
    until(lambda: set(orders(quorum).isr) == set(IDS), "the stopped one is in the ISR", cluster)
    assert not shutdown_file(second).exists()
    assert consume(cluster, 300) == list(range(300))

    contents = [(each.data / SEGMENT).read_bytes() for each in brokers.values()]
    assert all(content == contents[0] for content in contents)


def test_what_came_compressed_is_kept_as_it_came(cluster: OwnCluster) -> None:
    """Of every codec: replicated, found whole by a broker that was killed, and read back."""
    quorum, brokers = cluster.quorum, cluster.brokers
    until(lambda: all(map(image(quorum).brokers.is_active, IDS)), "all are active", cluster)
    create(quorum)
    codecs = [codec for codec in CODECS.values() if codec != "none"]
    for place, codec in enumerate(codecs):
        produce(cluster, range(100 * place, 100 * (place + 1)), codec)
    leader = brokers[orders(quorum).leader]
    leader.kill()
    leader.start()
    until(lambda: set(orders(quorum).isr) == set(IDS), "all are in the ISR again", cluster)
    assert consume(cluster, 400) == list(range(400))
    contents = [(each.data / SEGMENT).read_bytes() for each in brokers.values()]
    assert all(content == contents[0] for content in contents)
    kept = [batch.header.codec for batch in split_batches(contents[0])]
    assert [codec for codec, _ in groupby(kept)] == codecs


def test_a_cluster_whose_every_long_setting_is_as_large_as_can_be_works(tmp_path: Path) -> None:
    """What is due in 292 million years stands in the clocks of the same loop as the next Fetch."""
    widest = "".join(f"{key}={2**63 - 1}\n" for key in sorted(LONG))
    with own_cluster(tmp_path, 1, IDS, SETTINGS + widest, widest) as cluster:
        quorum = cluster.quorum
        until(lambda: all(map(image(quorum).brokers.is_active, IDS)), "all are active", cluster)
        create(quorum)
        produce(cluster, range(100))
        assert consume(cluster, 100) == list(range(100))
        assert [broker.terminate() for broker in cluster.brokers.values()] == [0, 0, 0]
        assert [node.terminate() for node in quorum.nodes.values()] == [0]


def test_what_a_client_deleted_stays_deleted_whoever_ends(cluster: OwnCluster) -> None:
    """As its answer says, which comes once all replicas have written it down."""
    quorum, brokers = cluster.quorum, cluster.brokers
    until(lambda: all(map(image(quorum).brokers.is_active, IDS)), "all are active", cluster)
    create(quorum)
    produce(cluster, range(20))
    admin = AdminClient({"bootstrap.servers": cluster.servers(), "log_level": 0})
    (deletion,) = admin.delete_records([TopicPartition("orders", 0, 10)]).values()
    assert deletion.result(BROKER_PATIENCE_S).low_watermark == 10
    for each in brokers.values():
        each.kill()
    for each in brokers.values():
        each.start()
    until(lambda: set(orders(quorum).isr) == set(IDS), "all are in the ISR again", cluster)
    assert consume(cluster, 10) == list(range(10, 20))
    starts = {(each.data / "log-start-offset-checkpoint").read_text() for each in brokers.values()}
    assert starts == {"0\n1\norders 0 10\n"}
