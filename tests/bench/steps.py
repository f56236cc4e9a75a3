"""How long the worst frame that a client may send holds the node's only thread, and what a follower
has to catch up with (`tests.bench.behind`).

A leader without followers, but with brokers, takes each frame of `tests.support.worst_frames`, and
what follows from it: the batch is appended, flushed, replayed, and the answer written. The bar is a
tenth of the time in which a follower must hear of its leader, and for a broker, and for what an
operator asks of all partitions at once, a tenth of a broker's session. CPU time, the best of some
tries, each with a leader of its own.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from node.config import BrokerSettings, ConnectionLimits, NodeConfig, QuorumTimeouts
from node.controller.controller import Controller
from node.core import Life
from node.effects import (
    AppendBatches,
    CloseConnection,
    Effect,
    ElectionState,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    SendResponse,
    TimeoutElapsed,
)
from node.ids import (
    METADATA_LOG,
    ConnectionId,
    Endpoint,
    Epoch,
    LogId,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
)
from node.process_roles import controller_node
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.records.batch import encode_batch
from node.records.group_records import OffsetCommitKey, OffsetCommitValue, encode_versioned
from node.records.metadata import TopicRecord
from node.server.real_disk import RealDisk
from node.storage.log import Log, perform
from node.wire import broker_frames
from node.wire.apis import Request, Response
from node.wire.frames import decode_response, encode_request
from node.wire.group_descriptions import ListGroupsRequest
from tests.bench import behind
from tests.bench.row import Row
from tests.support.brought_up import bring_up
from tests.support.memory_log import BOOTSTRAP, MemoryLog
from tests.support.stepped_broker import ME, SteppedBroker, partition_of, registered
from tests.support.worst_broker_frames import worst_broker_frames
from tests.support.worst_cluster_requests import BROKERS, requests_of_all
from tests.support.worst_frames import worst_frames

TRIES = 3
SHOWN = 5
HEARTBEAT_SHARE = 0.1  # of the fetch time-out, or of a broker's session
NEW_REPLICAS = 200
LISTED_GROUPS, _OF_A_BATCH = 100_000, 1_000
_CLIENT = ConnectionId(1)
_CLUSTER = "worst"


def _leads(controller: Controller) -> bool:
    return controller.is_active


class SteppedLeader:
    """A node that is alone, and `is_ready`: leads, or what else is waited for. `longest_s` is its
    longest step."""

    def __init__(
        self, log: Log | None = None, is_ready: Callable[[Controller], bool] = _leads
    ) -> None:
        key = ReplicaKey(NodeId(1), UUID(int=1))
        endpoint = Endpoint(name="CONTROLLER", host="node-1", port=9101)
        self.log: Log | MemoryLog = log or MemoryLog()
        self.node = controller_node(
            NodeConfig(
                node_id=key.id,
                log_dirs=("",),
                listeners=(endpoint,),
                advertised=(endpoint,),
                brokers=BrokerSettings(session_ms=2**31),
            ),
            Life(
                cluster_id=_CLUSTER,
                key=key,
                directory=key.directory,
                voters=VoterHistory.formatted(((key, (endpoint,)),), DYNAMIC),
                election=ElectionState(),
                log=self.log,
                rng=random.Random(1),
                incarnation=UUID(int=1 << 64),
            ),
            BOOTSTRAP,
        )
        self.now_ns = 0
        self.longest_s = 0.0
        self._perform(self.node.start(self._now()))
        while not is_ready(self.node.core.role.controller):
            self.elapse()

    def serve(self, frame: bytes) -> bytes | None:
        """The answer, or None for a hang-up; all that follows from the frame was done as well."""
        self.longest_s = 0.0
        event = FrameReceived(connection=_CLIENT, listener="CONTROLLER", frame=frame)
        done = self._step(event)
        while not done:
            done = self.elapse()
        (last,) = done
        return last.frame if isinstance(last, SendResponse) else None

    def ask(self, request: Request) -> Response:
        header, frame = encode_request(request, correlation_id=1, client_id="worst")
        answer = self.serve(frame)
        assert answer is not None, f"hung up on {request}"
        return decode_response(header, answer)

    def bring_up(self, brokers: Iterable[int]) -> None:
        """They register, and are not fenced; nothing is heard of them any more."""
        for broker in map(NodeId, brokers):
            bring_up(self.ask, broker, _CLUSTER)

    def elapse(self) -> list[SendResponse | CloseConnection]:
        self.now_ns = max(self.now_ns, self.node.next_deadline_ns())
        return self._step(TimeoutElapsed())

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _step(self, event: Event) -> list[SendResponse | CloseConnection]:
        began = time.process_time()
        effects = self.node.step(event, self._now())
        self.longest_s = max(self.longest_s, time.process_time() - began)
        return self._perform(effects)

    def _perform(self, effects: list[Effect]) -> list[SendResponse | CloseConnection]:
        """What there is to send, after what has to be flushed before."""
        for effect in effects:
            if isinstance(effect, AppendBatches):
                self.log.append(effect.data)
        found = [effect for effect in effects if isinstance(effect, SendResponse | CloseConnection)]
        if any(isinstance(effect, FlushLog) for effect in effects):
            self.log.flush()
            found += self._step(LogFlushed(log=METADATA_LOG, end=self.log.end().offset))
        return found


def longest_steps() -> list[tuple[float, str, int, int]]:
    """Of every worst frame: its longest step in seconds, what it is, its bytes, its answer's."""
    times: dict[str, float] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for _ in range(TRIES):
        leader = SteppedLeader()
        leader.bring_up(BROKERS)
        for name, frame in worst_frames(ConnectionLimits().request_max_bytes):
            sizes[name] = len(frame), len(leader.serve(frame) or b"")
            times[name] = min(times.get(name, leader.longest_s), leader.longest_s)
    return sorted(((took_s, name, *sizes[name]) for name, took_s in times.items()), reverse=True)


def longest_steps_of_all() -> list[tuple[float, str]]:
    """Likewise, of a controller that is asked for all partitions at once."""
    times: dict[str, float] = {}
    for _ in range(TRIES):
        leader = SteppedLeader()
        leader.bring_up(BROKERS)
        for name, request in requests_of_all():
            leader.ask(request)
            times[name] = min(times.get(name, leader.longest_s), leader.longest_s)
    return sorted(((took_s, name) for name, took_s in times.items()), reverse=True)


def longest_steps_of_a_broker() -> list[tuple[float, str]]:
    """Likewise, of a broker that leads a thousand partitions."""
    times: dict[str, float] = {}
    for _ in range(TRIES):
        broker = SteppedBroker()
        for name, frame in worst_broker_frames():
            broker.serve(frame)
            times[name] = min(times.get(name, broker.longest_s), broker.longest_s)
    return sorted(((took_s, name) for name, took_s in times.items()), reverse=True)


def longest_step_of_new_replicas() -> tuple[float, float]:
    """In seconds of the clock, of a broker that is told of so many at once and makes their logs on
    this machine's disk; and how long all of it took."""
    with TemporaryDirectory(dir=Path.cwd()) as directory:
        broker = SteppedBroker(told=(registered(ME),), disk=RealDisk(Path(directory)))
        role, topic = broker.node.core.role, UUID(int=3_000)
        partitions = (partition_of(topic, index) for index in range(NEW_REPLICAS))
        broker.tell(TopicRecord(name="wide", topic_id=topic), *partitions)
        took: list[float] = []
        while role.replicas.is_unfinished:
            began = time.perf_counter()
            broker.step(TimeoutElapsed())
            took.append(time.perf_counter() - began)
            broker.now_ns += int(took[-1] * 1e9)
        assert len(broker.replicas) == NEW_REPLICAS
        for log in broker.replicas.values():
            log.close()
    return max(took), sum(took)


def longest_step_of_a_list() -> float:
    """Of groups, so many that nothing else has room in a broker's memory."""
    broker = SteppedBroker(partitions=1)
    log = broker.replicas[LogId("__consumer_offsets-0")]
    for base in range(0, LISTED_GROUPS, _OF_A_BATCH):
        pairs = [
            (
                encode_versioned(OffsetCommitKey(group=f"g{number}", topic="topic-0", partition=0)),
                encode_versioned(OffsetCommitValue(offset=5, metadata="", commit_timestamp=2**62)),
            )
            for number in range(base, base + _OF_A_BATCH)
        ]
        data = encode_batch(pairs, base_offset=Offset(base), leader_epoch=Epoch(0), timestamp_ms=0)
        perform(AppendBatches(log=LogId("__consumer_offsets-0"), data=data), log)
    again = SteppedBroker(partitions=1, disk=broker.disk)
    while again.node.next_deadline_ns() <= again.now_ns:
        again.elapse()
    _, frame = broker_frames.encode_request(
        ListGroupsRequest(), correlation_id=1, client_id="worst"
    )
    again.serve(frame)
    return again.longest_s


def measure() -> Iterator[Row]:
    bar_ms = QuorumTimeouts().fetch_ms * HEARTBEAT_SHARE
    for place, (took_s, name, size, answer) in enumerate(longest_steps()[:SHOWN]):
        yield Row(
            name="longest step for a legal frame" if place == 0 else f"  number {place + 1}",
            value=took_s * 1000,
            unit="ms",
            bar=bar_ms,
            note=f"{name}; {size:,} bytes, its answer {answer:,}",
        )
    session_ms = BrokerSettings().session_ms * HEARTBEAT_SHARE
    took_s, name = longest_steps_of_all()[0]
    yield Row(
        name="longest step of a controller that is asked for all partitions at once",
        value=took_s * 1000,
        unit="ms",
        bar=session_ms,
        note=name,
    )
    took_s, name = longest_steps_of_a_broker()[0]
    yield Row(
        name="longest step of a broker for a legal frame",
        value=took_s * 1000,
        unit="ms",
        bar=session_ms,
        note=name,
    )
    took_s, all_s = longest_step_of_new_replicas()
    yield Row(
        name=f"longest step of a broker with {NEW_REPLICAS} new replicas, on this disk",
        value=took_s * 1000,
        unit="ms",
        bar=session_ms,
        note=f"{all_s:.1f} s for all of them",
    )
    yield Row(
        name=f"longest step of a list of {LISTED_GROUPS:,} groups",
        value=longest_step_of_a_list() * 1000,
        unit="ms",
        bar=session_ms,
    )
    took_s, name = behind.longest_steps()[0]
    yield Row(
        name="longest step of a follower that is far behind",
        value=took_s * 1000,
        unit="ms",
        bar=bar_ms,
        note=name,
    )
