"""Kills, stops and pauses while idempotent producers write and a group reads: nothing is lost.

A storm is a topic of its own in a cluster that stays: three controllers beside three brokers, or
three nodes that are both. For so many seconds one node after the other is killed, asked to end, or
stands still (SIGSTOP), and is started or goes on soon after. Meanwhile producers of librdkafka
write with acks=all and idempotence, each at a bounded rate, and a group consumes.

Afterwards every record that was acknowledged is read, at the offset of its acknowledgement, each
once, those of a producer in the order in which it sent them, and the group is given all of them.
(A record twice: `docs/results/duplicates.md`.) No node ends unasked, none takes more memory than it
may, the replicas of each partition are one log, the logs of the controllers are one, and no epoch
had two leaders.

    python -m tests.fuzz.storms --storms 19 --seconds 12 --seed 1
"""

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count as numbers
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.fuzz.aftermath import check_logs, check_one_leader_an_epoch
from tests.fuzz.broker_processes import check_replicas
from tests.fuzz.processes import highest_memory
from tests.fuzz.sessions import Surprise
from tests.support.own_brokers import OwnBroker, combined_nodes, own_cluster
from tests.support.quorum_processes import NodeProcess, QuorumProcesses, wait_until

BROKERS = (11, 12, 13)
CONTROLLERS = 3
SETTINGS = """\
min.insync.replicas=2
unclean.leader.election.enable=false
offsets.topic.num.partitions=3
offsets.topic.replication.factor=3
group.initial.rebalance.delay.ms=100
"""
PARTITIONS, PRODUCERS = 6, 2
PAUSE_S = 0.005  # of a producer between two records
GAPS_S, OFF_S, PAUSES_S = (0.5, 3.0), (0.0, 2.0), (0.5, 2.0, 5.0)
_SERVES = "serving on"
PATIENCE_S = 150.0
# Of a process: an idle one has some 60 MiB. What clients send here is little.
MEMORY_LIMIT_BYTES = 256 * 1024 * 1024


class How(StrEnum):
    KILL = "kill"
    TERMINATE = "terminate"
    PAUSE = "pause"


Node = OwnBroker | NodeProcess


@dataclass(frozen=True, kw_only=True)
class Stormed:
    """`nodes`: every process that there is; `quorum`: the controllers, some of the same processes
    where nodes are both."""

    nodes: Mapping[int, Node]
    brokers: Mapping[int, OwnBroker]
    quorum: QuorumProcesses

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{each.port}" for each in self.brokers.values())


@contextmanager
def separate(directory: Path) -> Iterator[Stormed]:
    with own_cluster(directory, CONTROLLERS, BROKERS, SETTINGS, SETTINGS) as cluster:
        nodes: dict[int, Node] = {**cluster.quorum.nodes, **cluster.brokers}
        yield Stormed(nodes=nodes, brokers=cluster.brokers, quorum=cluster.quorum)


@contextmanager
def combined(directory: Path) -> Iterator[Stormed]:
    with combined_nodes(directory, CONTROLLERS, SETTINGS) as (quorum, brokers):
        yield Stormed(nodes=dict(brokers), brokers=brokers, quorum=quorum)


LAYOUTS: Mapping[str, Callable[[Path], AbstractContextManager[Stormed]]] = {
    "separate": separate,
    "combined": combined,
}


@dataclass
class Report:
    storms: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    memory_bytes: int = 0

    def line(self) -> str:
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        return (
            f"{self.storms} storms: {told}; 0 lost, 0 accused; at most"
            f" {self.memory_bytes / 2**20:.0f} MiB a process"
        )


# --- clients ---


@dataclass
class Written:
    """What producers know of their records, by key: partition and offset, once acknowledged."""

    sent: Counter[int] = field(default_factory=Counter)  # by producer
    acknowledged: dict[str, tuple[int, int]] = field(default_factory=dict)

    def told(self, key: str, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self.acknowledged[key] = partition, offset


def _write(servers: str, topic: str, number: int, written: Written, over: threading.Event) -> None:
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": int(PATIENCE_S * 1000),
            "linger.ms": 10,
            "log_level": 0,
        }
    )
    for sequence in numbers():
        if over.is_set():
            break
        key = f"{number}-{sequence}"
        producer.produce(
            topic,
            key.encode(),
            partition=(3 * number + sequence % 3) % PARTITIONS,
            on_delivery=partial(written.told, key),
        )
        written.sent[number] += 1
        producer.poll(PAUSE_S)
    producer.flush(PATIENCE_S)


class Group:
    """A consumer of a group, and what it was given."""

    def __init__(self, servers: str, topic: str) -> None:
        self.given: set[str] = set()
        self._over = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": f"of-{topic}",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.5):
                value = message.value()
                if message.error() is None and value is not None:
                    self.given.add(value.decode())

    def close(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)
        self._consumer.close()


def _stored(servers: str, topic: str) -> dict[str, list[tuple[int, int]]]:
    """Where each record is, in the order of its partition. Raises Surprise."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "all",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([Position(topic, index, 0) for index in range(PARTITIONS)])
    found: dict[str, list[tuple[int, int]]] = {}
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS:
        if time.monotonic() > deadline:
            raise Surprise(f"{topic} cannot be read to its end: of {sorted(ended)} alone")
        for message in consumer.consume(500, 1.0):
            partition, offset, value = message.partition(), message.offset(), message.value()
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                assert partition is not None
                ended.add(partition)
            elif error is None:
                assert partition is not None
                assert offset is not None
                assert value is not None
                found.setdefault(value.decode(), []).append((partition, offset))
    consumer.close()
    return found


# --- a storm ---


def _make(cluster: Stormed, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.servers, "log_level": 0})

    def made() -> bool | None:
        """What was created by a try whose answer was lost is there as well."""
        try:
            if set(admin.list_topics(timeout=10).brokers) != set(cluster.brokers):
                return None
            (done,) = admin.create_topics([NewTopic(topic, PARTITIONS, 3)]).values()
            done.result(30)
        except KafkaException as refused:
            return refused.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS or None
        return True

    wait_until(made, f"{topic} is created", PATIENCE_S)


def _hurt(cluster: Stormed, how: How, rng: random.Random, until: float) -> int:
    """How often, in turn. All nodes run and go on afterwards. Raises Surprise."""
    hits = 0
    before: dict[int, int] = {}  # what a node had said when it was started last
    while time.monotonic() < until:
        time.sleep(rng.uniform(*GAPS_S))  # part of what is drawn
        node = cluster.nodes[rng.choice(sorted(cluster.nodes))]
        _check_runs(node)
        if how is How.PAUSE:
            assert node.process is not None
            node.process.send_signal(signal.SIGSTOP)
            time.sleep(rng.choice(PAUSES_S))  # how long it is paused is the fault itself
            node.process.send_signal(signal.SIGCONT)
        else:
            code = node.end(signal.SIGKILL if how is How.KILL else signal.SIGTERM)
            # Until it serves, a signal ends it as it does any process.
            has_served = _SERVES in node.errors[before.get(node.id, 0) :]
            if how is How.TERMINATE and has_served and code != 0:
                raise Surprise(f"node {node.id} ended with {code}: {node.errors[-2000:]}")
            time.sleep(rng.uniform(*OFF_S))  # how long it is off is the fault itself
            before[node.id] = len(node.errors)
            node.start()
        hits += 1
    return hits


def _check_runs(node: Node) -> None:
    if node.process is None or node.process.poll() is not None:
        raise Surprise(f"node {node.id} ended by itself: {node.errors[-2000:]}")


def storm(cluster: Stormed, topic: str, how: How, seconds: float, seed: str) -> Counter[str]:
    """Raises Surprise."""
    _make(cluster, topic)
    written, over = Written(), threading.Event()
    group = Group(cluster.servers, topic)
    producers = [
        threading.Thread(target=_write, args=(cluster.servers, topic, number, written, over))
        for number in range(PRODUCERS)
    ]
    for each in producers:
        each.start()
    try:
        hits = _hurt(cluster, how, random.Random(seed), time.monotonic() + seconds)
    finally:
        over.set()
        for each in producers:
            each.join()
    for node in cluster.nodes.values():
        _check_runs(node)
    if not written.acknowledged:
        raise Surprise(f"no record was acknowledged of {written.sent.total()}")
    check_stored(written, _stored(cluster.servers, topic))
    try:
        wait_until(
            lambda: group.given.issuperset(written.acknowledged) or None,
            f"the group is given all of {topic}",
            PATIENCE_S,
        )
    finally:
        group.close()
    acknowledged = len(written.acknowledged)
    # A machine that stalls keeps them waiting for longer than a producer does.
    given_up = written.sent.total() - acknowledged
    return Counter(
        {"hits": hits, "records acknowledged": acknowledged, "records given up": given_up}
    )


def check_stored(written: Written, stored: Mapping[str, list[tuple[int, int]]]) -> None:
    """Each acknowledged record once, where it was said to be, in the order of its producer. Raises
    Surprise."""
    lost = sorted(written.acknowledged.keys() - stored.keys())
    if lost:
        raise Surprise(f"LOST: {len(lost)} acknowledged records, {lost[:5]}")
    moved = {k: v for k, v in written.acknowledged.items() if v not in stored[k]}
    if moved:
        raise Surprise(f"{len(moved)} records are elsewhere than was said, {list(moved)[:5]}")
    twice = {key: at for key, at in stored.items() if len(at) > 1}
    if twice:
        raise Surprise(f"{len(twice)} records are there twice: {list(twice.items())[:5]}")
    ways: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for key, ((partition, offset),) in stored.items():
        producer, _, sequence = key.partition("-")
        ways.setdefault((producer, partition), []).append((offset, int(sequence)))
    for (producer, partition), way in ways.items():
        if any(one > other for (_, one), (_, other) in pairwise(sorted(way))):
            raise Surprise(f"producer {producer} is out of order in partition {partition}")


# --- the whole ---


def _check_memory(cluster: Stormed, report: Report) -> None:
    """Of those that run now, since they were started. Raises Surprise."""
    for node in cluster.nodes.values():
        assert node.process is not None
        report.memory_bytes = max(report.memory_bytes, highest_memory(node.process.pid))
    if report.memory_bytes > MEMORY_LIMIT_BYTES:
        raise Surprise(f"a node took {report.memory_bytes:,} bytes of memory")


def _check_disks(cluster: Stormed, report: Report) -> None:
    """All nodes are ended. Raises Surprise."""
    for node in reversed(list(cluster.nodes.values())):
        if (code := node.terminate()) != 0:
            raise Surprise(f"node {node.id} ended with {code}: {node.errors[-2000:]}")
    places: dict[str, list[Path]] = {}
    for broker in cluster.brokers.values():
        for at in sorted(broker.data.iterdir()):
            if at.name.rpartition("-")[0] in ("__consumer_offsets", *_topics(report.storms)):
                places.setdefault(at.name, []).append(at)
    for name, paths in sorted(places.items()):
        check_replicas(name, paths)
        report.counts["replicas read"] += len(paths)
    check_logs(cluster.quorum)
    check_one_leader_an_epoch(cluster.quorum)


def _topics(storms: int) -> tuple[str, ...]:
    return tuple(f"storm-{number}" for number in range(storms))


def run(names: Mapping[str, int], seconds: float, seed: int) -> Report:
    """So many storms of each layout. Raises Surprise."""
    report, drawn = Report(), iter(numbers())
    for layout, storms in names.items():
        with (
            tempfile.TemporaryDirectory(prefix="kraft-storms-") as directory,
            LAYOUTS[layout](Path(directory)) as cluster,
        ):
            for _ in range(storms):
                number = next(drawn)
                how = tuple(How)[number % len(How)]
                began = time.monotonic()
                what = f"storm {number}, {layout}, {how}, seed {seed}"
                try:
                    found = storm(cluster, f"storm-{number}", how, seconds, f"{seed}:{number}")
                    _check_memory(cluster, report)
                except (Surprise, AssertionError) as surprise:
                    raise Surprise(f"{what}: {surprise}") from surprise
                report.storms += 1
                report.counts += found
                told = ", ".join(f"{value:,} {name}" for name, value in sorted(found.items()))
                print(f"{what}: {told}; {time.monotonic() - began:.1f} s", flush=True)
            _check_disks(cluster, report)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storms", type=int, default=19)
    parser.add_argument("--seconds", type=float, default=12.0, help="of hurting, a storm")
    parser.add_argument("--layout", action="append", choices=sorted(LAYOUTS), default=[])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    layouts = options.layout or list(LAYOUTS)
    share, rest = divmod(options.storms, len(layouts))
    names = {layout: share + (place < rest) for place, layout in enumerate(layouts)}
    began = time.monotonic()
    try:
        report = run(names, options.seconds, options.seed)
    except Surprise as surprise:
        print(f"seed {options.seed}: {surprise}", file=sys.stderr)
        return 1
    print(f"seed {options.seed}: {report.line()}; {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
