"""Requests at the limits, by the thousand, stepped through a node without sockets or a disk.

The node is the leader of a quorum of one. In a session it is asked some dozens of requests
(`tests.fuzz.drawing`). It must not raise; each request is answered, or its connection is closed;
each answer is read by kio and by the harness's clients; afterwards all that was written can be read
by the judge, described in every version, and replayed by the next node that opens the log.

    python -m tests.fuzz.requests --count 100000 --seed 1
"""

import argparse
import random
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from checkers.disk.batches import read_batches, read_records
from checkers.disk.records import decode_control, decode_metadata
from node import limits
from node.config import NodeConfig
from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    Effect,
    ElectionState,
    FlushLog,
    PersistElectionState,
    SendReply,
    SendToPeer,
    Stop,
    Trace,
    TruncateLog,
)
from node.endpoint import Endpoint
from node.events import ConnectionClosed, Event, FrameReceived, LogFlushed, TimeoutElapsed
from node.ids import METADATA_LOG, ChannelId, ConnectionId, NodeId, Now, ReplicaKey
from node.node import Node
from node.wire import MalformedFrame, decode_request, encode_request
from node.wire.configs import (
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    DescribeConfigsRequest,
    ResourceQuery,
)
from tests.fuzz.drawing import CLUSTER, DIRECTORY, Drawn, draw_request, read_answer
from tests.support.memory_log import BOOTSTRAP, MemoryLog

SESSION = 40
# Steps until a request is answered, or a node leads again.
PATIENCE = 200
PORTS = 9100  # and the id of a node


def endpoint(node: NodeId) -> Endpoint:
    return Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node)


ENDPOINT = endpoint(NodeId(1))


class Surprise(AssertionError):
    """The node did what it must not do."""


class Bench:
    """Node 1 of `size` voters, and the least that a shell does for it."""

    def __init__(
        self, log: MemoryLog, election: ElectionState, rng: random.Random, size: int = 1
    ) -> None:
        self.now_ns = 0
        self.log = log
        self.election = election
        self.answers: dict[ConnectionId, list[bytes]] = {}
        self.closed: set[ConnectionId] = set()
        self.unanswered: list[Trace] = []
        self.asked: dict[ChannelId, list[bytes]] = {}
        self.peers: dict[ChannelId, NodeId] = {}  # whom each channel leads to
        keys = [ReplicaKey(NodeId(1 + n), UUID(int=DIRECTORY.int + n)) for n in range(size)]
        key = keys[0]
        self.node = Node(
            config=NodeConfig(
                node_id=key.id, log_dir="", listeners=(ENDPOINT,), advertised=(ENDPOINT,)
            ),
            cluster_id=CLUSTER,
            key=key,
            voters=tuple((each, (endpoint(each.id),)) for each in keys),
            election=election,
            log=log,
            rng=rng,
            bootstrap=BOOTSTRAP,
        )
        self._ready: deque[Event] = deque()
        self._perform(self.node.start(self._now()))

    @property
    def is_active(self) -> bool:
        return self.node.core.controller.is_active

    def step(self, event: Event) -> None:
        self._perform(self.node.step(event, self._now()))

    def turn(self) -> None:
        """What is ready; if nothing is, the next time-out."""
        if self._ready:
            self.step(self._ready.popleft())
            return
        self.now_ns = max(self.now_ns, self.node.next_deadline_ns())
        self.step(TimeoutElapsed())

    def lead(self) -> None:
        for _ in range(PATIENCE):
            if self.is_active and not self._ready:
                return
            self.turn()
        raise Surprise(f"does not lead again: {self.node.core.raft.quorum.role}")

    def ask(self, frame: bytes, connection: ConnectionId) -> bytes | None:
        """The answer, or None after a hang-up."""
        before = len(self.answers.get(connection, []))
        self.step(FrameReceived(connection=connection, listener=ENDPOINT.name, frame=frame))
        for _ in range(PATIENCE):
            if connection in self.closed:
                self.closed.remove(connection)
                self.step(ConnectionClosed(connection=connection))
                return None
            if len(answers := self.answers.get(connection, [])) > before:
                return answers[-1]
            self.turn()
        raise Surprise("neither an answer nor a hang-up")

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AppendBatches(data=data):
                    if len(data) > limits.MAX_BATCH_BYTES:
                        raise Surprise(f"a batch of {len(data)} bytes")
                    self.log.append(data)
                case TruncateLog(end=end):
                    self.log.truncate(end)
                case FlushLog():
                    self._ready.append(LogFlushed(log=METADATA_LOG, end=self.log.flush()))
                case PersistElectionState(state=state):
                    self.election = state
                case SendReply(connection=connection, frame=frame):
                    self.answers.setdefault(connection, []).append(frame)
                case CloseConnection(connection=connection):
                    self.closed.add(connection)
                case Trace() if effect.event == "n.unanswered":
                    self.unanswered.append(effect)
                case Stop():
                    raise Surprise(f"stops: {effect.reason}")
                case SendToPeer(channel=channel, endpoint=at, frame=frame):
                    self.peers[channel] = NodeId(at.port - PORTS)
                    self.asked.setdefault(channel, []).append(frame)
                case DisconnectPeer(channel=channel):
                    self.asked.pop(channel, None)
                case Trace():
                    pass


@dataclass
class Tally:
    """What became of the requests, and how many of each kind were answered."""

    counts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    altered: Counter[int] = field(default_factory=Counter)  # by the error code of a resource
    slowest: tuple[float, str] = (0.0, "")  # seconds of CPU, and what took them


def session(seed: int, number: int, tally: Tally) -> None:
    """Raises Surprise."""
    rng = random.Random(f"{seed}:{number}")
    bench = Bench(MemoryLog(), ElectionState(), rng)
    for count in range(SESSION):
        drawn = draw_request(rng, count)
        try:
            bench.lead()
            _ask(bench, drawn, ConnectionId(rng.randint(1, 4)), tally)
        except Exception as error:
            shown = drawn.frame.hex()[:2000]
            raise Surprise(f"request {count}, {drawn.name}: {error!r}; frame {shown}") from error
    bench.lead()
    check_descriptions(bench, check_log(bench.log), tally)
    Bench(bench.log, bench.election, rng).lead()


def _ask(bench: Bench, drawn: Drawn, connection: ConnectionId, tally: Tally) -> None:
    began = time.process_time()
    answer = bench.ask(drawn.frame, connection)
    tally.slowest = max(tally.slowest, (time.process_time() - began, drawn.name))
    if answer is None:
        _check_hang_up(bench, drawn)
        tally.counts["hung up on"] += 1
        return
    told = read_answer(drawn, answer)
    if drawn.api is INCREMENTAL_ALTER_CONFIGS:
        tally.altered.update(int(result.error_code) for result in told.responses)
    tally.answered[drawn.name] += 1
    tally.counts["answered"] += 1


def _check_hang_up(bench: Bench, drawn: Drawn) -> None:
    """Only for what cannot be read: nothing is in this log that cannot be told."""
    try:
        decode_request(drawn.frame)
    except MalformedFrame:
        return
    raise Surprise(f"hung up on a sound request: {bench.unanswered}")


def check_log(log: MemoryLog) -> set[str]:
    """The judge reads what was written; the resources that have configs, or had some."""
    resources = set()
    batches = list(read_batches(log.read(log.start(), 1 << 40)))
    for batch in batches:
        for record in read_records(batch):
            found = decode_control(record) if batch.control else decode_metadata(record)
            if found.type == "Config":
                resources.add(str(found.resource))
    assert len(batches) == len(log.batches)
    return resources


def check_descriptions(bench: Bench, resources: set[str], tally: Tally) -> None:
    """All configs, in every version alike."""
    queries = tuple(ResourceQuery(type=16, name=name, keys=None) for name in sorted(resources))
    told: list[Any] = []
    for version in range(DESCRIBE_CONFIGS.min_version, DESCRIBE_CONFIGS.max_version + 1):
        request = DescribeConfigsRequest(resources=queries)
        _, frame = encode_request(request, correlation_id=9, client_id="f", version=version)
        drawn = Drawn(api=DESCRIBE_CONFIGS, version=version, correlation_id=9, frame=frame)
        answer = bench.ask(frame, ConnectionId(99))
        if answer is None:
            raise Surprise(f"{drawn.name} of {sorted(resources)}: {bench.unanswered}")
        results = read_answer(drawn, answer).results
        told.append([(r.resource_name, [(c.name, c.value) for c in r.configs]) for r in results])
    assert all(each == told[0] for each in told)
    tally.counts["resources described in every version"] += len(resources)


def fuzz(seed: int, sessions: range) -> Tally:
    """Raises Surprise, which says how to see it again."""
    tally = Tally()
    for number in sessions:
        try:
            session(seed, number, tally)
        except Exception as error:
            again = f"python -m tests.fuzz.requests --seed {seed} --first {number} --count 1"
            raise Surprise(f"{error!r}\n  try: {again}") from error
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="requests, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first session")
    options = parser.parse_args()
    sessions = range(options.first, options.first + max(options.count // SESSION, 1))
    began = time.monotonic()
    try:
        tally = fuzz(options.seed, sessions)
    except Surprise as surprise:
        print(f"seed {options.seed}: {surprise}", file=sys.stderr)
        return 1
    parts = ", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items()))
    print(
        f"seed {options.seed}: {parts}; {time.monotonic() - began:.1f} s,"
        f" dearest: {tally.slowest[0] * 1000:.0f} ms of CPU for {tally.slowest[1]}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
