"""python -m tests.clients.duplicates: is a batch of an idempotent producer twice in the log, that
was refused for want of replicas while it was there?

Three brokers, a topic with min.insync.replicas=2, acks=all. The followers stand still (SIGSTOP),
and the leader appends the batch, which waits in vain. Once it is alone in the ISR the producer
sends the batch again, as every client does after a time-out. What it is told then decides: by
NOT_ENOUGH_REPLICAS it was not appended, and may be sent under the producer's next epoch (KIP-360;
librdkafka does so); by any other error it may have been, and is sent again as it is.
"""

import argparse
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.apis import Request, Response
from node.wire.entities import TopicPartition
from node.wire.frames import decode_response, encode_request
from node.wire.offsets import LATEST, ListOffsetsRequest, ListOffsetsResponse, SoughtOffset
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from node.wire.topic_metadata import MetadataRequest, MetadataResponse, SoughtTopic
from tests.clients.brokers import KAFKA, OURS
from tests.support.broker_processes import broker_processes
from tests.support.kafka_tools import kafka_tools
from tests.support.own_brokers import own_brokers
from tests.support.quorum_processes import quorum_processes, wait_until
from workloads.wire.batch import Identity, encode_batch

_IDS = (11, 12, 13)
_PATIENCE_S = 240.0
_LAG = "replica.lag.time.max.ms=3000\n"
_NAMED = {ProduceRequest: 9, MetadataRequest: 9, ListOffsetsRequest: 6}  # versions without ids


@dataclass(frozen=True, slots=True)
class Brokers:
    ports: Mapping[int, int]
    processes: Mapping[int, Popen[bytes]]

    def ask(self, broker: int, request: Request) -> Response:
        version = _NAMED[type(request)]
        header, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
        with socket.create_connection(("127.0.0.1", self.ports[broker]), _PATIENCE_S) as to:
            to.sendall(len(frame).to_bytes(4, "big") + frame)
            with to.makefile("rb") as answers:
                size = int.from_bytes(answers.read(4), "big")
                return decode_response(header, answers.read(size))

    def pause(self, broker: int) -> None:
        self.processes[broker].send_signal(signal.SIGSTOP)

    def resume(self, broker: int) -> None:
        self.processes[broker].send_signal(signal.SIGCONT)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.clients.duplicates", description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--on", choices=("ours", "kafka"), action="append")
    words = parser.parse_args()
    for target in words.on or ("ours", "kafka"):
        with tempfile.TemporaryDirectory() as scratch, _started(target, Path(scratch)) as brokers:
            found = [_twice(brokers, f"orders-{number}") for number in range(words.times)]
        told = ", ".join(sorted({error.name for error, _ in found}))
        twice = sum(records > 1 for _, records in found)
        name = OURS if target == "ours" else KAFKA
        print(f"{name}: twice in the log {twice} of {words.times}; told: {told}", flush=True)


@contextmanager
def _started(target: str, scratch: Path) -> Iterator[Brokers]:
    """Beside a controller of ours, which decides about the ISR alike."""
    with quorum_processes(scratch / "quorum", 1) as quorum:
        if target == "ours":
            with own_brokers(scratch / "brokers", quorum, _IDS, _LAG) as own:
                processes = {each.id: each.process for each in own.values() if each.process}
                yield Brokers({each.id: each.port for each in own.values()}, processes)
        else:
            tools = kafka_tools(scratch)
            with broker_processes(scratch / "brokers", tools, quorum, _IDS, _LAG) as theirs:
                processes = {each.id: each.process for each in theirs.values() if each.process}
                yield Brokers({each.id: each.port for each in theirs.values()}, processes)


def _twice(brokers: Brokers, topic: str) -> tuple[ErrorCode, int]:
    """What who sent it again was told, and how often it is in the log when that is over."""
    _make(brokers, topic)
    leader = _led(brokers, topic, 3)
    others = [each for each in _IDS if each != leader]
    batch = encode_batch(0, 1, 16, Identity(producer_id=77, epoch=0, sequence=0))
    for each in others:
        brokers.pause(each)
    try:
        first = _send(brokers, leader, topic, batch)
        assert first is ErrorCode.REQUEST_TIMED_OUT, first
        _led(brokers, topic, 1, leader)
        told = _send(brokers, leader, topic, batch)
    finally:
        for each in others:
            brokers.resume(each)
    if told is ErrorCode.NOT_ENOUGH_REPLICAS:
        batch = encode_batch(0, 1, 16, Identity(producer_id=77, epoch=1, sequence=0))
    _led(brokers, topic, 3, leader)
    wait_until(
        lambda: _send(brokers, leader, topic, batch) is ErrorCode.NONE or None,
        "it is acknowledged",
        _PATIENCE_S,
    )
    sought = (SoughtOffset(partition=TopicPartition(name=topic, index=0), timestamp_ms=LATEST),)
    ends = brokers.ask(leader, ListOffsetsRequest(partitions=sought))
    assert isinstance(ends, ListOffsetsResponse)
    return told, ends.partitions[0].offset


def _make(brokers: Brokers, topic: str) -> None:
    servers = ",".join(f"127.0.0.1:{port}" for port in brokers.ports.values())
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    settings = {"min.insync.replicas": "2"}

    def made() -> bool | None:
        known = admin.list_topics(timeout=30)
        return (len(known.brokers) == len(_IDS)) or None

    wait_until(made, "all brokers are there", _PATIENCE_S)
    new = NewTopic(topic, 1, 3, config=settings)
    for future in admin.create_topics([new], operation_timeout=60).values():
        future.result(_PATIENCE_S)


def _led(brokers: Brokers, topic: str, replicas: int, by: int | None = None) -> int:
    """Who leads it, once so many are in the ISR."""

    def look() -> int | None:
        for broker in _IDS if by is None else (by,):
            request = MetadataRequest(topics=(SoughtTopic(name=topic),))
            told = brokers.ask(broker, request)
            assert isinstance(told, MetadataResponse)
            for each in told.topics[0].partitions:
                if len(each.isr) == replicas and each.leader in (_IDS if by is None else (by,)):
                    return int(NodeId(each.leader))
        return None

    return wait_until(look, f"{replicas} are in the ISR", _PATIENCE_S)


def _send(brokers: Brokers, leader: int, topic: str, batch: bytes) -> ErrorCode:
    at = TopicPartition(name=topic, index=0)
    partitions = (ProducedPartition(partition=at, records=batch),)
    told = brokers.ask(leader, ProduceRequest(acks=-1, timeout_ms=1000, partitions=partitions))
    assert isinstance(told, ProduceResponse)
    return told.results[0].error


if __name__ == "__main__":
    main()
