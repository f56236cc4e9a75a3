"""Groups of foreign consumers at brokers of ours, as processes on loopback: librdkafka's and
kafka-python's, unchanged."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient, KafkaConsumer

from tests.support.own_brokers import BROKER_PATIENCE_S, OwnCluster, own_cluster
from tests.support.quorum_processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IDS = (4, 5, 6)
PARTITIONS = 4
SETTINGS = "controller.quorum.fetch.timeout.ms=10000\nbroker.session.timeout.ms=6000\n"
OF_BROKERS = """\
offsets.topic.num.partitions=3
min.insync.replicas=2
group.initial.rebalance.delay.ms=500
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path, 1, IDS, SETTINGS, OF_BROKERS) as made:
        topic = NewTopic("orders", PARTITIONS, 3, config={"min.insync.replicas": "2"})
        admin = made.admin()
        admin.create_topics([topic])["orders"].result(BROKER_PATIENCE_S)
        yield made


class Librdkafka:
    def __init__(self, cluster: OwnCluster) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.servers(),
                "group.id": "readers",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 20_000,
                "heartbeat.interval.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe(["orders"])

    def poll(self) -> list[int]:
        """What it was given; all of it is committed."""
        given = [each for each in self._consumer.consume(100, timeout=0.5) if not each.error()]
        if given:
            self._consumer.commit(asynchronous=False)
        return [int(each.value() or b"") for each in given]

    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    def __init__(self, cluster: OwnCluster) -> None:
        self._consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=cluster.addresses(),
            group_id="readers",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=20_000,
            heartbeat_interval_ms=500,
        )

    def poll(self) -> list[int]:
        """What it was given; all of it is committed."""
        given = [each for batch in self._consumer.poll(timeout_ms=500).values() for each in batch]
        if given:
            self._consumer.commit()
        return [int(each.value) for each in given]

    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def close(self) -> None:
        self._consumer.close()


def produce(cluster: OwnCluster, numbers: range) -> None:
    producer = Producer(
        {"bootstrap.servers": cluster.servers(), "enable.idempotence": True, "log_level": 0}
    )
    for number in numbers:
        producer.produce("orders", value=str(number), partition=number % PARTITIONS)
    assert producer.flush(BROKER_PATIENCE_S) == 0


def read(
    consumers: Sequence[Librdkafka | KafkaPython], numbers: range, cluster: OwnCluster
) -> list[set[int]]:
    """All of these, each once, and nothing else: what each consumer was given."""
    given: list[list[int]] = [[] for _ in consumers]

    def look() -> bool | None:
        for each, consumer in zip(given, consumers, strict=True):
            each.extend(consumer.poll())
        return True if sum(map(len, given)) >= len(numbers) else None

    until(look, f"{numbers} are read", cluster)
    assert sorted(number for each in given for number in each) == list(numbers)
    return [set(each) for each in given]


def share(consumers: Sequence[Librdkafka | KafkaPython], cluster: OwnCluster) -> None:
    """Wait until each has as many partitions as any."""
    wanted = PARTITIONS // len(consumers)

    def look() -> bool | None:
        assert not any(number for consumer in consumers for number in consumer.poll())
        return all(len(each.assigned()) == wanted for each in consumers) or None

    until(look, "they share the partitions", cluster)


def until(look: Callable[[], bool | None], what: str, cluster: OwnCluster) -> None:
    try:
        wait_until(look, what, BROKER_PATIENCE_S)
    except AssertionError as vain:
        raise AssertionError(f"{vain}\n{cluster.told()}") from vain


@pytest.mark.parametrize("kind", [Librdkafka, KafkaPython])
def test_a_group_shares_partitions_and_who_is_left_goes_on_where_the_other_stopped(
    cluster: OwnCluster, kind: type[Librdkafka | KafkaPython]
) -> None:
    with ExitStack() as open_:
        first = open_.enter_context(closing(kind(cluster)))
        share([first], cluster)
        produce(cluster, range(100))
        read([first], range(100), cluster)
        with closing(kind(cluster)) as second:
            share([first, second], cluster)
            produce(cluster, range(100, 200))
            by_first, by_second = read([first, second], range(100, 200), cluster)
            assert by_first
            assert by_second
        share([first], cluster)
        produce(cluster, range(200, 300))
        read([first], range(200, 300), cluster)


@pytest.mark.parametrize("kind", [Librdkafka, pytest.param(KafkaPython, marks=pytest.mark.night)])
def test_offsets_are_kept_whichever_broker_ends(
    cluster: OwnCluster, kind: type[Librdkafka | KafkaPython]
) -> None:
    produce(cluster, range(100))
    with closing(kind(cluster)) as consumer:
        read([consumer], range(100), cluster)
    for number, broker in enumerate(cluster.brokers.values(), start=1):
        numbers = range(100 * number, 100 * number + 100)
        broker.kill()
        produce(cluster, numbers)
        with closing(kind(cluster)) as consumer:
            read([consumer], numbers, cluster)
        broker.start()
        cluster.admin()


def test_tools_describe_groups_and_their_offsets(cluster: OwnCluster) -> None:
    produce(cluster, range(100))
    with closing(Librdkafka(cluster)) as consumer:
        read([consumer], range(100), cluster)
        admin = cluster.admin()
        found = admin.list_consumer_groups().result(BROKER_PATIENCE_S)
        assert [(each.group_id, each.state.name) for each in found.valid] == [("readers", "STABLE")]
        described = admin.describe_consumer_groups(["readers"])["readers"].result(BROKER_PATIENCE_S)
        assert described.partition_assignor == "range"
        (member,) = described.members
        assert member.client_id == "rdkafka"
        given = {each.partition for each in member.assignment.topic_partitions}
        assert given == set(range(PARTITIONS))
        python = KafkaAdminClient(bootstrap_servers=cluster.addresses())
        try:
            offsets = python.list_group_offsets("readers")["readers"]
        finally:
            python.close()
        assert {at.partition: each.offset for at, each in offsets.items()} == dict.fromkeys(
            range(PARTITIONS), 100 // PARTITIONS
        )
    outside = Consumer({"bootstrap.servers": cluster.servers(), "group.id": "readers"})
    at = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    assert {each.offset for each in outside.committed(at, timeout=60)} == {100 // PARTITIONS}
    outside.close()
