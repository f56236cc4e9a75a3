"""As many partitions as a cluster may have, on three brokers that are restarted one after another
in good order: how long replication takes to be whole again, what brokers at rest cost, and what a
write for all replicas takes beside that of an empty cluster.

    python -m tests.bench.growth [--partitions N ...] [--restarts N]

Real processes on loopback and on this machine's disk, with Kafka's time-outs. Whole is what the
brokers tell: each partition has three members in its ISR, and each broker is up; of new ones, every
broker has made the logs as well. An empty cluster runs beside, and writes to the two take turns: a
busy machine hurts both. Every step is a row of its own, so that a measurement which is interrupted
has shown what it found until then.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from node import limits
from tests.bench.row import Row, table
from tests.support.own_brokers import OwnBroker, OwnCluster, own_cluster
from tests.support.quorum_processes import wait_until

RESTARTS = 20
BAR_S = 30.0
_BROKERS = (2, 3, 4)
_OF_A_TOPIC = 100
_ONE = "one"  # the topic that is written to
_MOST = limits.MAX_PARTITIONS - 1 - _OF_A_TOPIC  # beside that, and what there may be besides
PARTITIONS = (1_000, 3_000, 5_000, _MOST)
_WRITES = 200
_IDLE_S = 20.0
# In the first seconds of its life a node loads what it may need later, a piece at a time, however
# few partitions it has (`node.server.run`): that is no rest, and nothing tells when it is over.
_STARTED_S = 20.0
_WITHIN_S = 900.0  # on a machine that others use
_LOOK_S = 1.0  # between two looks: an answer about all partitions is a good part of a broker's time
_SETTINGS = "broker.heartbeat.interval.ms=2000\nreplica.fetch.backoff.ms=1000\n"


def measure(
    partitions: Sequence[int] = PARTITIONS,
    restarts: int = RESTARTS,
    quorum: str = "broker.session.timeout.ms=9000\n",
) -> Iterator[Row]:
    """With so many partitions, one after the other, and as many restarts with the most of them."""
    with (
        TemporaryDirectory(dir=Path.cwd()) as directory,
        own_cluster(Path(directory) / "empty", 1, _BROKERS, quorum, _SETTINGS) as empty,
        own_cluster(Path(directory) / "many", 1, _BROKERS, quorum, _SETTINGS) as cluster,
    ):
        for each in (empty, cluster):
            _make(each.admin(), _ONE, 1)
        admin = cluster.admin()
        made = 0
        for count in partitions:
            yield from _grown(cluster, empty, admin, made, count)
            made = count
        for number in range(restarts):
            broker = cluster.brokers[_BROKERS[number % len(_BROKERS)]]
            yield _restarted(cluster, broker, number, made)
        if restarts:
            time.sleep(_STARTED_S)  # what a start does is over; what is measured is rest
            yield _idle(cluster, empty, f"{made:,} partitions: CPU of a broker after restarts")


def _grown(
    cluster: OwnCluster, empty: OwnCluster, admin: AdminClient, made: int, count: int
) -> Iterator[Row]:
    began = time.monotonic()
    for first in range(made, count, _OF_A_TOPIC):
        _make(admin, f"many-{first}", min(_OF_A_TOPIC, count - first))
    created_s = time.monotonic() - began
    _wait_until_whole(cluster)
    _wait_until_made(cluster, count + 1)
    whole_s = time.monotonic() - began
    yield Row(
        name=f"{count:,} partitions: until replication of {count - made:,} new ones is whole",
        value=whole_s,
        unit="s",
        note=f"created in {created_s:.0f} s",
    )
    yield _idle(cluster, empty, f"{count:,} partitions: CPU of a broker at rest")
    full_ms, empty_ms = _write_ms(cluster, empty)
    yield Row(
        name=f"{count:,} partitions: a write for all replicas, of an empty cluster's",
        value=full_ms / empty_ms,
        unit="ratio",
        bar=2,
        note=f"{full_ms:.1f} and {empty_ms:.1f} ms, medians of {_WRITES}",
    )


def _restarted(cluster: OwnCluster, broker: OwnBroker, number: int, count: int) -> Row:
    ended_s, whole_s = _restart(cluster, broker)
    return Row(
        name=f"{count:,} partitions, restart {number + 1}: until replication is whole",
        value=whole_s,
        unit="s",
        bar=BAR_S,
        note=f"broker {broker.id} ended in {ended_s:.1f} s; load {os.getloadavg()[0]:.0f}",
    )


def _make(admin: AdminClient, name: str, partitions: int) -> None:
    """One that is there was made by a request that the client gave up on."""

    def look() -> bool | None:
        try:
            topic = NewTopic(name, partitions, len(_BROKERS))
            admin.create_topics([topic], request_timeout=60)[name].result()
        except KafkaException as error:
            if "TOPIC_ALREADY_EXISTS" not in str(error):
                return None
        return True

    wait_until(look, f"topic {name} is made", _WITHIN_S)


def _restart(cluster: OwnCluster, broker: OwnBroker) -> tuple[float, float]:
    """How long it took to end, and from its start until all is whole."""
    began = time.monotonic()
    assert broker.terminate() == 0, broker.errors
    ended = time.monotonic()
    assert any(broker.data.glob(".kafka_cleanshutdown")), broker.errors
    broker.start()
    _wait_until_whole(cluster, broker)
    return ended - began, time.monotonic() - ended


def _wait_until_whole(cluster: OwnCluster, restarted: OwnBroker | None = None) -> None:
    """As those tell that were not restarted: its registration is the last thing that a broker hears
    of, and until it is fenced no ISR has shrunk."""
    told = [f"127.0.0.1:{it.port}" for it in cluster.brokers.values() if it is not restarted]
    admin = AdminClient({"bootstrap.servers": ",".join(told), "log_level": 0})
    said = 0 if restarted is None else restarted.errors.count("serving on")

    def look() -> bool | None:
        if restarted is not None and restarted.errors.count("serving on") == said:
            return None
        try:
            found = admin.list_topics(timeout=60)
        except KafkaException:
            return None
        topics = found.topics.values()
        widths = {len(each.isrs) for topic in topics for each in topic.partitions.values()}
        return (len(found.brokers) == len(_BROKERS) and widths == {len(_BROKERS)}) or None

    wait_until(look, f"all is whole\n{cluster.told()}", _WITHIN_S, _LOOK_S)


def _wait_until_made(cluster: OwnCluster, count: int) -> None:
    """A replica is in the ISR of a new partition from the start, before its broker has a log."""

    def look() -> bool | None:
        whole = "[!_]*-*/partition.metadata"  # the last file of a new log
        made = [len([*each.data.glob(whole)]) for each in cluster.brokers.values()]
        return min(made) >= count or None

    wait_until(look, f"each broker has {count:,} logs\n{cluster.told()}", _WITHIN_S, _LOOK_S)


def _write_ms(*clusters: OwnCluster) -> list[float]:
    """The median of each, of writes one after the other that take turns."""
    settings = {"acks": "all", "linger.ms": 0, "log_level": 0}
    producers = [Producer({**settings, "bootstrap.servers": it.servers()}) for it in clusters]
    took: list[list[float]] = [[] for _ in clusters]
    for _ in range(_WRITES):
        for producer, mine in zip(producers, took, strict=True):
            began = time.perf_counter()
            producer.produce(_ONE, b"v" * 100)
            assert producer.flush(60) == 0
            mine.append(time.perf_counter() - began)
    return [median(each) * 1000 for each in took]


def _idle(cluster: OwnCluster, empty: OwnCluster, name: str) -> Row:
    brokers = [*cluster.brokers.values(), *empty.brokers.values()]
    before = _cpu_s(brokers)
    time.sleep(_IDLE_S)  # what is measured is how little is done meanwhile
    spent = [now - then for now, then in zip(_cpu_s(brokers), before, strict=True)]
    shares = [each / _IDLE_S * 100 for each in spent]
    many = len(cluster.brokers)
    return Row(
        name=f"{name}, at most",
        value=max(shares[:many]),
        unit="% of a core",
        bar=10,
        note=f"{max(shares[many:]):.1f} % of an empty cluster's",
    )


def _cpu_s(brokers: Iterable[OwnBroker]) -> list[float]:
    found = []
    for broker in brokers:
        assert broker.process is not None
        fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
        found.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS, metavar="N")
    parser.add_argument("--restarts", type=int, default=RESTARTS, metavar="N")
    given = parser.parse_args()
    missed = False
    for row in measure(given.partitions, given.restarts):
        print(table([row]), flush=True)
        missed |= row.holds is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
