"""Apache Kafka's brokers register with a quorum of our controllers, and work.

All are processes on loopback. Docker is needed where the jars were never fetched and there is no
Maven.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.controller.image import Image
from node.records.batch import DamagedBatch, split_batches
from node.records.metadata import decode_metadata
from tests.support.broker_processes import (
    CONSUMER,
    PRODUCER,
    TOPICS,
    BrokerProcess,
    broker_processes,
)
from tests.support.kafka_tools import DUMP, FEATURES, KafkaTools, kafka_tools
from tests.support.quorum_processes import (
    QuorumProcesses,
    quorum_processes,
    wait_until,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

# Leaders and sessions stay while the machine stalls.
SETTINGS = """\
controller.quorum.fetch.timeout.ms=10000
controller.quorum.request.timeout.ms=10000
broker.session.timeout.ms=15000
"""
IDS = (4, 5, 6)
LOG = "data/__cluster_metadata-0/00000000000000000000.log"
PATIENCE_S = 400.0


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> KafkaTools:
    return kafka_tools(tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumProcesses]:
    with quorum_processes(tmp_path_factory.mktemp("three"), 3, SETTINGS) as made:
        yield made


def image(quorum: QuorumProcesses) -> Image:
    """What the log of a running controller says, committed or not."""
    made = Image()
    data = (quorum.running()[0].directory / LOG).read_bytes()
    try:
        for batch in split_batches(data):
            if not batch.header.is_control:
                for record in batch.records():
                    made.replay(decode_metadata(record.value))
    except DamagedBatch as end:
        if not end.torn:  # by who writes it at this moment
            raise
    return made


def active(quorum: QuorumProcesses) -> set[int]:
    known = image(quorum).brokers
    return {broker for broker in IDS if known.is_active(broker)}


def isrs(quorum: QuorumProcesses, name: str) -> list[set[int]]:
    topics = image(quorum).topics
    found = topics.named(name)
    assert found is not None
    return [set(each.isr) for key, each in topics.partitions() if key[0] == found.id]


def elrs(quorum: QuorumProcesses, name: str) -> set[int]:
    """Of all its partitions."""
    topics = image(quorum).topics
    found = topics.named(name)
    assert found is not None
    return {
        broker for key, each in topics.partitions() if key[0] == found.id for broker in each.elr
    }


def test_topics_records_and_failures_are_as_with_kafkas_controllers(
    tmp_path: Path, tools: KafkaTools, quorum: QuorumProcesses
) -> None:
    with broker_processes(tmp_path, tools, quorum, IDS) as brokers:
        use = Use(tools, ",".join(f"127.0.0.1:{brokers[id_].port}" for id_ in IDS[:2]))
        until(lambda: active(quorum) == set(IDS), "all brokers are active", brokers)
        use.ok(FEATURES, "upgrade", "--feature", "eligible.leader.replicas.version=1")
        use.create("orders", "--config", "min.insync.replicas=2")
        use.create("narrow", "--config", "min.insync.replicas=3")
        use.produce(range(100))
        assert use.consume(100) == set(map(str, range(100)))

        brokers[6].kill()
        until(lambda: isrs(quorum, "orders") == [{4, 5}] * 3, "6 is in no ISR", brokers)
        assert elrs(quorum, "orders") == set()
        assert elrs(quorum, "narrow") == {6}

        leader = quorum.leader()
        leader.kill()
        use.produce(range(100, 200))
        use.create("later", "--replication-factor", "2")
        assert use.consume(200) == set(map(str, range(200)))

        leader.start()
        brokers[6].start(tools)
        until(lambda: isrs(quorum, "orders") == [set(IDS)] * 3, "6 is in every ISR", brokers)
        until(lambda: isrs(quorum, "narrow") == [set(IDS)] * 3, "6 is in every ISR", brokers)
        assert elrs(quorum, "narrow") == set()
        use.ok(TOPICS, "--delete", "--topic", "later")
        assert image(quorum).topics.named("later") is None
    is_read_by_kafka(tools, quorum)


def is_read_by_kafka(tools: KafkaTools, quorum: QuorumProcesses) -> None:
    """Its own decoder knows every record that ours wrote."""
    log = quorum.running()[0].directory / LOG
    done = tools.run(DUMP, "--cluster-metadata-decoder", "--skip-record-metadata", "--files", log)
    assert done.returncode == 0, done.stderr
    kinds = ("REGISTER_BROKER", "PARTITION", "PARTITION_CHANGE", "TOPIC", "PRODUCER_IDS")
    assert all(f'"type":"{kind}_RECORD"' in done.stdout for kind in kinds)
    assert "Error" not in done.stdout


def until(condition: Callable[[], bool], what: str, brokers: Mapping[int, BrokerProcess]) -> None:
    def look() -> bool | None:
        return condition() or None

    try:
        wait_until(look, what, PATIENCE_S)
    except AssertionError as vain:
        said = "\n".join(each.errors[-2000:] for each in brokers.values())
        raise AssertionError(f"{vain}\n{said}") from vain


@dataclass(frozen=True)
class Use:
    """Kafka's tools, by which users do what they do."""

    tools: KafkaTools
    servers: str

    def ok(self, tool: str, *words: str, told: str = "") -> str:
        done = self.tools.run(tool, "--bootstrap-server", self.servers, *words, told=told)
        assert done.returncode == 0, f"{done.args}\n{done.stdout}{done.stderr}"
        return done.stdout

    def create(self, name: str, *words: str) -> None:
        shape = () if "--replication-factor" in words else ("--replication-factor", "3")
        self.ok(TOPICS, "--create", "--topic", name, "--partitions", "3", *shape, *words)

    def produce(self, numbers: range) -> None:
        lines = "".join(f"{number}\n" for number in numbers)
        self.ok(PRODUCER, "--topic", "orders", "--producer-property", "acks=all", told=lines)

    def consume(self, count: int) -> set[str]:
        words = ("--from-beginning", "--max-messages", str(count), "--timeout-ms", "120000")
        return set(self.ok(CONSUMER, "--topic", "orders", *words).split())
