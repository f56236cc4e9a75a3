"""Requests at the limits, by the thousand, stepped through a broker without sockets or controller.

It leads partitions, alone and with a follower that is silent, follows others, and coordinates
groups (`tests.fuzz.broker_values`). In a session it is asked some dozens of requests on several
connections, of which some wait, and some are gone before they are answered. It must not raise, nor
go on for ever at one time; each request is answered, in a form that kio reads, or its connection is
closed because it cannot be read, or is refused and wants no answer. Afterwards it serves a client
that behaves, and the judge and the next broker that opens the logs read all of them.

    python -m tests.fuzz.broker_requests --count 100000 --seed 1
"""

import random
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from checkers.disk.batches import read_batches
from node import limits
from node.effects import CloseConnection, ConnectionClosed, NoResponse, SendResponse
from node.ids import ConnectionId, LogId
from node.wire import MalformedFrame
from node.wire.api import Api
from node.wire.apis import BROKER_APIS, Request, Response
from node.wire.broker_frames import decode_request, decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_membership import JOIN_GROUP
from node.wire.group_offsets import OffsetFetchRequest, OffsetFetchResponse, SoughtOffsets
from node.wire.offsets import LATEST, ListOffsetsRequest, ListOffsetsResponse, SoughtOffset
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from tests.fuzz.broker_values import GROUPS, TOPICS, Members, cluster, values
from tests.fuzz.drawing import LIKELY, Drawn, draw_request, read_answer
from tests.fuzz.sessions import Surprise, command, run_sessions
from tests.support.batches import timed_batch
from tests.support.stepped_broker import Done, SteppedBroker

SESSION = 100
CONNECTIONS = 8
# A time-out after each request, or the end of its connection.
TURN, HANG_UP = 0.25, 0.03
# Steps until whoever waits for the broker alone is answered, and at one time.
# A Produce of as many partitions as can be named is appended 64 of them a step.
PATIENCE, AT_ONE_TIME = 2_000, 1_000
STEP_S = 2.0  # of CPU: a tenth of it is the bar, on a machine that is quiet (`tests.bench steps`)
# That all sessions take together, at the highest: each begins with a new broker.
MEMORY_LIMIT_BYTES = 200 * 1024 * 1024
WITNESS = TopicPartition(name="t0", id=TOPICS["t0"], index=0)
# Groups and what waits for others; the rest is drawn as often as half of all.
OFTEN: tuple[Api, ...] = tuple(
    api
    for api in BROKER_APIS
    if api.name in ("Produce", "Fetch", "JoinGroup", "SyncGroup", "OffsetCommit", "DeleteRecords")
)


@dataclass
class Tally:
    """What became of the requests, and how many of each API and version were answered."""

    counts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)  # by API: no error in the answer
    given_up: Counter[str] = field(default_factory=Counter)  # by API: the client did
    appended: int = 0  # batches that are in logs of clients' topics
    slowest: tuple[float, str] = (0.0, "")  # seconds of CPU of a step, and what it was
    memory_bytes: int = 0


class Session:
    """`_waiting`: what was asked on each connection and is not answered yet. A connection that ends
    is followed by another one, as a shell numbers them."""

    def __init__(self, rng: random.Random, tally: Tally) -> None:
        self.broker = SteppedBroker(told=cluster())
        self._rng = rng
        self._tally = tally
        self._members = Members()
        self._likely = {**LIKELY, **values(self._members)}
        self._waiting: dict[ConnectionId, Drawn] = {}
        self._open = [ConnectionId(number) for number in range(CONNECTIONS)]
        self._next = CONNECTIONS

    def run(self) -> None:
        for number in range(SESSION):
            self._ask(self._drawn(number))
            chance = self._rng.random()
            if chance < TURN:
                self._elapse()
            elif chance < TURN + HANG_UP and self._waiting:
                self._hang_up(self._rng.choice(sorted(self._waiting)))
        for connection in sorted(self._waiting):
            self._hang_up(connection)
        self._check_rest()

    def _drawn(self, number: int) -> Drawn:
        apis: Sequence[Api] = self._rng.choice((BROKER_APIS, OFTEN))
        return draw_request(self._rng, number, self._likely, apis)

    def _ask(self, drawn: Drawn) -> None:
        free = [each for each in self._open if each not in self._waiting]
        if not free:
            self._hang_up(self._rng.choice(sorted(self._waiting)))
            return
        connection = self._rng.choice(free)
        self._waiting[connection] = drawn
        try:
            self._take(self.broker.ask(connection, drawn.frame))
            self._check_step(drawn.name)
        except Exception as error:
            shown = drawn.frame.hex()[:2000]
            raise Surprise(f"{drawn.name}: {error!r}; frame {shown}") from error

    def _elapse(self) -> None:
        self._take(self.broker.elapse())
        self._check_step("a time-out")

    def _hang_up(self, connection: ConnectionId) -> None:
        """By the client: nobody waits for the answer any more."""
        drawn = self._waiting.pop(connection)
        self._tally.given_up[drawn.api.name] += 1
        self._close(connection)

    def _close(self, connection: ConnectionId) -> None:
        self._open[self._open.index(connection)] = ConnectionId(self._next)
        self._next += 1
        self._take(self.broker.step(ConnectionClosed(connection=connection)))

    def _take(self, done: Sequence[Done]) -> None:
        for each in done:
            drawn = self._waiting.pop(each.connection)
            match each:
                case SendResponse(frame=frame):
                    self._read(drawn, frame)
                case NoResponse():
                    assert drawn.api.name == "Produce", f"no answer to {drawn.name}"
                    self._tally.counts["no answer wanted"] += 1
                case CloseConnection(reason=reason):
                    self._check_hang_up(drawn, reason)
                    self._close(each.connection)

    def _read(self, drawn: Drawn, frame: bytes) -> None:
        assert len(frame) <= limits.MAX_FRAME_BYTES
        answer = read_answer(drawn, frame)
        if drawn.api is JOIN_GROUP:
            self._members.hear(answer)
        self._tally.done[drawn.api.name] += _is_done(answer)
        self._tally.answered[drawn.name] += 1
        self._tally.counts["answered"] += 1

    def _check_hang_up(self, drawn: Drawn, reason: str) -> None:
        """Only on what cannot be read, and where records are refused that nobody is to acknowledge:
        who sent them hears of it so."""
        try:
            _, request = decode_request(drawn.frame)
        except MalformedFrame:
            self._tally.counts["hung up on"] += 1
            return
        if isinstance(request, ProduceRequest) and request.acks == 0:
            self._tally.counts["refused without an answer"] += 1
            return
        raise Surprise(f"hung up on a sound request: {reason}")

    # --- judging ---

    def _check_step(self, name: str) -> None:
        """None is long, and time goes on once nothing is due any more."""
        longest_s, self.broker.longest_s = self.broker.longest_s, 0.0
        self._tally.slowest = max(self._tally.slowest, (longest_s, name))
        if longest_s > STEP_S:
            raise Surprise(f"a step of {longest_s:.1f} s of CPU for {name}")
        now_ns, turns = self.broker.now_ns, 0
        while self.broker.node.next_deadline_ns() <= now_ns:
            self._take(self.broker.elapse())
            turns += 1
            if turns > AT_ONE_TIME:
                raise Surprise(f"something is due for ever after {name}")

    def _check_rest(self) -> None:
        """Others are served, and logs can be read."""
        end = check_served(self.broker)
        kept = read_logs(self.broker)
        self._tally.appended += sum(kept.values())
        again = SteppedBroker(told=cluster(), disk=self.broker.disk)
        if read_logs(again) != kept or check_served(again) != end + 1:
            raise Surprise("the next broker that opens the logs reads others")


def _is_done(answer: Any) -> bool:
    """Does nothing in it tell of an error?"""
    if isinstance(answer, tuple):
        return all(map(_is_done, answer))
    if not is_dataclass(answer):
        return True
    return not getattr(answer, "error_code", 0) and all(
        _is_done(getattr(answer, each.name)) for each in fields(answer)
    )


def check_served(broker: SteppedBroker) -> int:
    """A client that behaves writes and reads, and asks how far a group has come: where the record
    is that it wrote. Raises Surprise."""
    records = timed_batch(1000)
    written = _ask(
        broker,
        ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            partitions=(ProducedPartition(partition=WITNESS, records=records),),
        ),
    )
    assert isinstance(written, ProduceResponse)
    (result,) = written.results
    fetch = FetchedPartition(partition=WITNESS, offset=result.base_offset, max_bytes=1 << 20)
    read = _ask(
        broker,
        PartitionsFetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, partitions=(fetch,)),
    )
    assert isinstance(read, PartitionsFetchResponse)
    sought = (SoughtOffset(partition=WITNESS, timestamp_ms=LATEST),)
    listed = _ask(broker, ListOffsetsRequest(partitions=sought))
    assert isinstance(listed, ListOffsetsResponse)
    committed = _ask(broker, OffsetFetchRequest(groups=(SoughtOffsets(group=GROUPS[0]),)))
    assert isinstance(committed, OffsetFetchResponse)
    errors = (
        result.error,
        read.partitions[0].error,
        listed.partitions[0].error,
        committed.groups[0].error,
    )
    got = read.partitions[0].records[21:] == records[21:]  # behind what the leader writes
    if any(errors) or not got or listed.partitions[0].offset != result.base_offset + 1:
        raise Surprise(f"a client that behaves is not served: {errors}, {listed.partitions[0]}")
    return result.base_offset


def _ask(broker: SteppedBroker, request: Request) -> Response:
    """Until it is answered. Raises Surprise."""
    header, frame = encode_request(request, correlation_id=1, client_id="behaves")
    done = broker.ask(ConnectionId(1 << 20), frame)
    turns = 0
    while not done:
        done = broker.elapse()
        turns += 1
        if turns > PATIENCE:
            raise Surprise(f"no answer to {request}")
    (only,) = done
    if not isinstance(only, SendResponse):
        raise Surprise(f"{only} to {request}")
    return decode_response(header, only.frame)


def read_logs(broker: SteppedBroker) -> dict[LogId, int]:
    """How many batches each has, by the judge's reading, which agrees with where it ends."""
    found = {}
    for name, log in broker.replicas.items():
        data = b"".join(segment.file.read(0, segment.size) for segment in log.segments)
        batches = list(read_batches(data))
        end = batches[-1].last_offset + 1 if batches else log.start
        assert end == log.next_offset, f"{name} ends at {end}, not {log.next_offset}"
        found[name] = len(batches)
    return found


def session(rng: random.Random, tally: Tally) -> None:
    """Raises Surprise."""
    before = _highest_memory()
    Session(rng, tally).run()
    tally.memory_bytes += _highest_memory() - before
    if tally.memory_bytes > MEMORY_LIMIT_BYTES:
        raise Surprise(f"sessions took {tally.memory_bytes:,} bytes of memory")


def _highest_memory() -> int:
    """Of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(seed: int, numbers: range) -> Tally:
    """Raises Surprise."""
    tally = Tally()
    run_sessions("broker_requests", seed, numbers, lambda rng: session(rng, tally))
    return tally


def told(seed: int, numbers: range) -> str:
    tally = fuzz(seed, numbers)
    parts = ", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items()))
    dearest_s, name = tally.slowest
    return (
        f"{parts}, {tally.given_up.total()} given up; {tally.appended} batches in logs;"
        f" dearest step: {dearest_s * 1000:.0f} ms of CPU for {name};"
        f" {tally.memory_bytes / 2**20:.0f} MiB"
    )


if __name__ == "__main__":
    sys.exit(command(__doc__, SESSION, told))
