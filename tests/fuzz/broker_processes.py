"""Three brokers as real processes under many clients at once, good and bad, beside a controller.

As `tests.fuzz.processes` does to a quorum: requests of all that brokers serve, to each of them, by
clients of every kind, beside one that writes records and reads them. Processes live within their
memory, answers are read by kio, who is hung up on sent what cannot be read, and whoever behaves is
served. What these clients leave alone takes from a cluster what others need, in Kafka too: they do
not fetch in the name of a broker, which would count as its promise to hold what it has not got;
they delete no topic that others use, and remove no broker and no voter; nor do they ask to wait
for longer than a few seconds.

Afterwards the replicas of each partition are one log as far as the shortest goes, the judge reads
them, and brokers that are started again give the client that behaves what it wrote.

    python -m tests.fuzz.broker_processes --count 10000 --seed 1
"""

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import count as numbers
from itertools import pairwise
from pathlib import Path
from uuid import UUID

from checkers.disk.batches import read_batches
from checkers.disk.segments import LogFiles
from node.errors import ErrorCode
from node.ids import NodeId
from node.server.tool_client import Client
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import FindCoordinatorRequest, FindCoordinatorResponse
from node.wire.partition_fetch import FetchedPartition, PartitionsFetchRequest
from node.wire.produce import ProducedPartition, ProduceRequest
from node.wire.topic_changes import Assignment, CreateTopicsRequest, CreateTopicsResponse, NewTopic
from tests.fuzz.broker_storm import IDS, STEADY, draw, draw_each
from tests.fuzz.broker_values import GROUPS, OFFSETS, PARTITIONS, TOPICS
from tests.fuzz.callers import Exchange, takes_all
from tests.fuzz.drawing import Drawn
from tests.fuzz.processes import (
    QUIET_OPERATIONS,
    Report,
    check_exchanges,
    check_processes,
    check_waits,
    command,
)
from tests.fuzz.sessions import Surprise
from tests.fuzz.steady import Ask, HungUp, Refused, Steady
from tests.fuzz.storm import TAKING, Storm
from tests.support.batches import timed_batch
from tests.support.own_brokers import OwnBroker, OwnCluster, own_cluster
from tests.support.quorum_processes import PATIENCE_S, wait_until

OF_CONTROLLERS = """\
controller.quorum.fetch.timeout.ms=10000
controller.quorum.request.timeout.ms=10000
broker.session.timeout.ms=20000
"""
OF_BROKERS = """\
group.initial.rebalance.delay.ms=100
offsets.topic.num.partitions=2
offsets.topic.replication.factor=3
"""
WARMING_OPERATIONS = 10  # replicas find each other, which takes a while
LATE_S = 1.0  # a machine that keeps a timer or a sync waiting for so long proves nothing


# --- the client that behaves ---


class Records:
    """Writes a record that all of the ISR have, and reads it."""

    def __init__(self, at: TopicPartition) -> None:
        self._at = at
        self._steps = numbers()
        self.written: list[bytes] = []  # what was acknowledged, in order

    async def __call__(self, ask: Ask) -> None:
        if next(self._steps) % 2:
            await self._read(ask)
        else:
            await self._write(ask)

    async def _write(self, ask: Ask) -> None:
        batch = timed_batch(time.time_ns() // 1_000_000)  # old ones are deleted
        produced = (ProducedPartition(partition=self._at, records=batch),)
        answer = await ask(ProduceRequest(acks=-1, timeout_ms=30_000, partitions=produced))
        (result,) = answer.responses[0].partition_responses
        if result.error_code != 0:
            raise Refused(f"a write: {result}")
        assert result.base_offset == len(self.written), result
        self.written.append(batch)

    async def _read(self, ask: Ask) -> None:
        last = len(self.written) - 1
        fetch = FetchedPartition(partition=self._at, offset=last, max_bytes=1 << 20)
        answer = await ask(
            PartitionsFetchRequest(
                max_wait_ms=30_000, min_bytes=1, max_bytes=1 << 20, partitions=(fetch,)
            )
        )
        (result,) = answer.responses[0].partitions
        if result.error_code != 0:
            raise Refused(f"a read: {result}")
        assert bytes(result.records)[21:] == self.written[last][21:], result

    async def is_kept(self, ask: Ask) -> bool:
        """Does whoever is asked tell all that was acknowledged?"""
        fetch = FetchedPartition(partition=self._at, offset=0, max_bytes=1 << 30)
        request = PartitionsFetchRequest(
            max_wait_ms=0, min_bytes=1, max_bytes=1 << 30, partitions=(fetch,)
        )
        (result,) = (await ask(request)).responses[0].partitions
        if result.error_code != 0:
            return False
        told, at = bytes(result.records), 0
        for batch in self.written:
            if told[at + 21 : at + len(batch)] != batch[21:]:
                return False
            at += len(batch)
        return True


async def ask_each(
    ports: Sequence[int], requests: Sequence[Drawn], rng: random.Random
) -> list[Exchange]:
    """All of them are asked all of that, by some clients at once."""
    async with asyncio.TaskGroup() as tasks:
        asking = [
            tasks.create_task(takes_all(port, requests[first::TAKING], rng))
            for port in ports
            for first in range(TAKING)
        ]
    return [exchange for task in asking for exchange in task.result()]


# --- the whole ---


def prepare(cluster: OwnCluster) -> dict[str, UUID]:
    """The topics, whose ids are returned, and that of the groups."""
    cluster.admin()
    every = tuple(map(NodeId, IDS))
    assignments = (Assignment(index=0, brokers=every),)
    topics = [NewTopic(name=name, partitions=PARTITIONS, replication=3) for name in TOPICS]
    topics.append(NewTopic(name=STEADY, partitions=-1, replication=-1, assignments=assignments))
    with _client(cluster, IDS[0]) as client:
        made = client.send(CreateTopicsRequest(topics=tuple(topics)))
        assert isinstance(made, CreateTopicsResponse)
        assert all(each.error is ErrorCode.NONE for each in made.results), made
        wait_until(lambda: _has_coordinators(client) or None, "coordinators of groups")
    return {each.name: each.id for each in made.results}


def _has_coordinators(client: Client) -> bool:
    answer = client.send(FindCoordinatorRequest(keys=GROUPS))
    assert isinstance(answer, FindCoordinatorResponse)
    return all(each.error is ErrorCode.NONE for each in answer.coordinators)


def _client(cluster: OwnCluster, broker: int) -> Client:
    return Client("127.0.0.1", cluster.brokers[broker].port, PATIENCE_S)


def fuzz(cluster: OwnCluster, seed: int, count: int) -> Report:
    """Raises Surprise. The brokers are stopped and started in the end."""
    report, rng = Report(), random.Random(seed)
    ids = prepare(cluster)
    nodes = list(cluster.brokers.values())
    pids = [node.process.pid for node in nodes if node.process is not None]
    records = Records(TopicPartition(name=STEADY, id=ids[STEADY], index=0))
    steady = Steady(nodes[0].port, nodes[0].directory / "synced", records)
    asyncio.run(steady.work(lambda done: done < WARMING_OPERATIONS))
    ports = [node.port for node in nodes]
    fuzzed = {name: ids[name] for name in TOPICS}
    # Whoever asks first for an API in a version waits for its codec, and others with him.
    check_exchanges(asyncio.run(ask_each(ports, draw_each(rng, fuzzed), rng)), report)
    report.quiet = asyncio.run(steady.work(lambda done: done < QUIET_OPERATIONS))
    requests = draw(rng, fuzzed, count)

    async def storm() -> list[Exchange]:
        report.loaded, exchanges = await Storm(ports, rng).beside(steady, requests)
        return exchanges

    check_exchanges(asyncio.run(storm()), report)
    check_processes(nodes, pids, report)
    _check_refusals(report)
    report.counts["requests"] = count
    check_kept(cluster, records, report)
    return report


def _check_refusals(report: Report) -> None:
    check_waits(report.quiet, report.loaded)
    latest_s = max(report.quiet.latest, report.loaded.latest)
    refusals = [each.refusal for each in (report.quiet, report.loaded) if each.refusal]
    if refusals and latest_s < LATE_S:
        raise Surprise(f"a client that behaves was refused {refusals}; late by {latest_s} s")


def check_kept(cluster: OwnCluster, records: Records, report: Report) -> None:
    """Logs are one, and what was acknowledged is told, also when brokers were started again. Raises
    Surprise."""
    for node in cluster.brokers.values():
        if (code := node.terminate()) != 0:
            raise Surprise(f"broker {node.id} ended with {code}: {node.errors[-2000:]}")
    logs = Counter[str]()
    for name in sorted(_names(cluster.brokers[IDS[0]])):
        check_replicas(name, [broker.data / name for broker in cluster.brokers.values()])
        logs["replicas read"] += len(IDS)
    report.counts += logs
    for broker in cluster.brokers.values():
        broker.start()
    cluster.admin()
    _check_read(cluster, records)


def _names(broker: OwnBroker) -> list[str]:
    used = (*TOPICS, OFFSETS, STEADY)
    return [at.name for at in broker.data.iterdir() if at.name.rpartition("-")[0] in used]


def check_replicas(name: str, paths: Sequence[Path]) -> None:
    """The judge reads each, and they are one log as far as the shortest goes. Raises Surprise."""
    found = []
    for path in paths:
        files = LogFiles(path, problems=[])
        data = b"".join(data for _, data, _ in files.segments())
        batches = read_batches(data)
        found.append({b.base_offset: data[b.position : b.position + b.size] for b in batches})
        if files.problems:
            raise Surprise(f"the judge cannot read {path}: {files.problems}")
    for one, other in pairwise(found):
        if any(other.get(at, batch) != batch for at, batch in one.items()):
            raise Surprise(f"{name}: different logs of {[len(each) for each in found]} batches")


def _check_read(cluster: OwnCluster, records: Records) -> None:
    """All that was acknowledged, by whoever leads now."""

    def read() -> bool | None:
        for broker in IDS:
            if asyncio.run(_read_all(cluster.brokers[broker], records)):
                return True
        return None

    wait_until(read, "what was acknowledged is told")


async def _read_all(broker: OwnBroker, records: Records) -> bool:
    """False: it does not lead, or does not listen yet, or is silent since it has not replayed its
    registration yet."""
    told: list[bool] = []

    async def look(ask: Ask) -> None:
        told.append(await records.is_kept(ask))

    steady = Steady(broker.port, broker.directory / "synced", look)
    try:
        await steady.work(lambda done: done < 1)
    except (ConnectionError, HungUp):
        return False
    return told == [True]


def three_brokers(directory: Path) -> AbstractContextManager[OwnCluster]:
    """And the controller beside them."""
    return own_cluster(directory, 1, IDS, OF_CONTROLLERS, OF_BROKERS)


if __name__ == "__main__":
    sys.exit(command(__doc__, 10_000, three_brokers, fuzz))
