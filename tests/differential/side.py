"""One of the two clusters: what it is asked goes to its brokers, one request at a time.

Brokers hear of what controllers decide a little later. So that both clusters are asked in the same
state, a request that changed topics is not followed by another one before all brokers tell of it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chaos.cluster.interface import Address
from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID
from node.server.framing import FrameCutter, with_size
from node.wire.apis import Request, Response
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_offsets import OffsetFetchRequest, OffsetFetchResponse, SoughtOffsets
from node.wire.offsets import (
    LATEST,
    ListOffsetsRequest,
    ListOffsetsResponse,
    SoughtOffset,
)
from node.wire.reassignments import ListReassignmentsRequest, ListReassignmentsResponse
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse
from node.wire.topic_metadata import (
    DescribedTopic,
    MetadataRequest,
    MetadataResponse,
)
from tests.differential.model import SILENCE, Known, reassigned
from tests.differential.requests import Asked
from tests.differential.topics import BROKERS, KEPT, MOVED, OFFSETS, OFFSETS_LED_BY
from tests.fuzz.callers import NoAnswer
from tests.fuzz.drawing import read_answer
from tests.support.assigned_topic import assigned_topic

PATIENCE_S = 40.0  # of one that answers late, on a machine that others use too
PAUSE_S = 0.02  # between two looks
HUNG_UP, NO_ANSWER = "the connection was closed", "no answer in time"
_ABSENT = 0
_BY_NAME, _ONE_GROUP = 7, 7  # versions of ListOffsets and OffsetFetch
# A topic's configuration, where it is not the cluster's.
_CONFIGURED: Mapping[str, Mapping[str, str]] = {
    "few": {"min.insync.replicas": "2"},
    OFFSETS: {"cleanup.policy": "compact"},
}


@dataclass
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    cutter: FrameCutter = field(default_factory=FrameCutter)


@dataclass
class Side:
    """`addresses` of brokers."""

    name: str
    addresses: Mapping[int, Address]
    known: Known = field(default_factory=Known)
    _connections: dict[int, Connection] = field(default_factory=dict)

    async def ask(self, asked: Asked) -> Any:
        """kio's answer, or one of the three that are none."""
        frames = [asked.drawn.frame]
        if not asked.kind.answered:
            probe = MetadataRequest(topics=())
            frames.append(encode_request(probe, correlation_id=0, client_id="probe")[1])
        try:
            answer = await self._exchange(asked.broker, *frames)
        except NoAnswer:
            return NO_ANSWER
        if answer is None:
            return HUNG_UP
        return read_answer(asked.drawn, answer) if asked.kind.answered else SILENCE

    async def settle(self, asked: Asked, answer: Any) -> None:
        """Until every broker tells of what a request for topics has done."""
        expected = _done_to_topics(asked.request, answer, asked.kind.api)
        if expected:
            await self._until_told(expected)
        if asked.kind.api == "AlterPartitionReassignments":
            for name, index in sorted(reassigned(answer)):
                await self._until(partial(self._has_moved, name, index), f"{name} {index}: moved")
        if asked.kind.api in ("AlterPartitionReassignments", "ElectLeaders"):
            await self._until_told(dict.fromkeys(MOVED))

    async def make_kept_topics(self) -> None:
        """And the one in which groups keep what they committed."""
        kept = {**KEPT, **MOVED, OFFSETS: ((OFFSETS_LED_BY, 2, 3),)}
        topics = [assigned_topic(name, at, _CONFIGURED.get(name, {})) for name, at in kept.items()]
        answer = await self._ask(1, CreateTopicsRequest(topics=tuple(topics)))
        assert isinstance(answer, CreateTopicsResponse)
        assert all(not result.error for result in answer.results), f"{self.name}: {answer}"
        await self._until_told({topic.name: len(topic.assignments) for topic in topics})
        await self._until(self._coordinates, "the coordinator of groups")

    def close(self) -> None:
        for connection in self._connections.values():
            connection.writer.transport.abort()
        self._connections.clear()

    async def _until_told(self, expected: Mapping[str, int | None]) -> None:
        """The number of partitions, _ABSENT, or None for any number of them."""
        for broker in BROKERS:
            await self._until(partial(self._is_told, broker, expected), f"{broker}: {expected}")
        topics = await self._topics(BROKERS[0])
        self.known.topics = {name: topic.id for name, topic in topics.items()}
        self.known.partitions = {name: len(topic.partitions) for name, topic in topics.items()}
        for name in expected.keys() & topics.keys():
            for at in topics[name].partitions:
                led = partial(self._is_led, name, at.index)
                await self._until(led, f"{name} {at.index}: its leader serves")

    async def _until(self, done: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not await done():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{self.name}: waited in vain for {what}")
            await asyncio.sleep(PAUSE_S)

    async def _is_told(self, broker: int, expected: Mapping[str, int | None]) -> bool:
        return _tells(await self._topics(broker), expected)

    async def _is_led(self, name: str, index: int) -> bool:
        """Brokers tell of a leader before it serves, and of one that has just been replaced."""
        partitions = (await self._topics(BROKERS[0]))[name].partitions
        (found,) = (each for each in partitions if each.index == index)
        if found.leader not in BROKERS:
            return False
        at = TopicPartition(name=name, id=ZERO_UUID, index=index)
        request = ListOffsetsRequest(
            version=_BY_NAME, partitions=(SoughtOffset(partition=at, timestamp_ms=LATEST),)
        )
        answer = await self._ask(found.leader, request, _BY_NAME)
        assert isinstance(answer, ListOffsetsResponse)
        return all(each.error is ErrorCode.NONE for each in answer.partitions)

    async def _has_moved(self, name: str, index: int) -> bool:
        """To where it was to be: nobody adds or removes a replica any more, and all are in sync."""
        answer = await self._ask(BROKERS[0], ListReassignmentsRequest(partitions=None))
        assert isinstance(answer, ListReassignmentsResponse)
        for broker in BROKERS:
            topic = (await self._topics(broker))[name]
            (found,) = (each for each in topic.partitions if each.index == index)
            if sorted(found.isr) != sorted(found.replicas):
                return False
        return not answer.ongoing

    async def _coordinates(self) -> bool:
        """The leader of the offsets has loaded them."""
        sought = SoughtOffsets(group="nobody", partitions=None)
        answer = await self._ask(OFFSETS_LED_BY, OffsetFetchRequest(groups=(sought,)), _ONE_GROUP)
        assert isinstance(answer, OffsetFetchResponse)
        return all(each.error is ErrorCode.NONE for each in answer.groups)

    async def _topics(self, broker: int) -> dict[str, DescribedTopic]:
        answer = await self._ask(broker, MetadataRequest())
        assert isinstance(answer, MetadataResponse)
        return {topic.name: topic for topic in answer.topics if topic.name is not None}

    async def _ask(self, broker: int, request: Request, version: int | None = None) -> Response:
        header, frame = encode_request(
            request, correlation_id=0, client_id="setting-up", version=version
        )
        answer = await self._exchange(broker, frame)
        assert answer is not None, f"{self.name}: broker {broker} hung up on {request}"
        return decode_response(header, answer)

    async def _exchange(self, broker: int, *frames: bytes) -> bytes | None:
        """The one answer to all of them; None where the connection was closed instead."""
        with suppress(ConnectionError):
            connection = await self._connected(broker)
            connection.writer.write(b"".join(map(with_size, frames)))
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while data := await connection.reader.read(1 << 16):
                        for answer in connection.cutter.cut(data):
                            return answer
            except TimeoutError:
                self._hang_up(broker)
                raise NoAnswer(f"{self.name}: broker {broker} was silent") from None
        self._hang_up(broker)
        return None

    def _hang_up(self, broker: int) -> None:
        if broker in self._connections:
            self._connections.pop(broker).writer.transport.abort()

    async def _connected(self, broker: int) -> Connection:
        if broker not in self._connections:
            at = self.addresses[broker]
            self._connections[broker] = Connection(*await asyncio.open_connection(at.host, at.port))
        return self._connections[broker]


def _tells(topics: Mapping[str, DescribedTopic], expected: Mapping[str, int | None]) -> bool:
    """All of it, and a leader of every partition."""
    for name, count in expected.items():
        partitions = topics[name].partitions if name in topics else ()
        if not partitions or any(each.error or each.leader == NO_NODE for each in partitions):
            if count != _ABSENT or name in topics:
                return False
        elif count is not None and len(partitions) != count:
            return False
    return True


def _done_to_topics(request: Any, answer: Any, api: str) -> dict[str, int | None]:
    """What has become of the topics for which it was not refused."""
    if getattr(request, "validate_only", False):
        return {}
    match api:
        case "CreateTopics":
            done = [each.name for each in answer.topics if each.error_code == ErrorCode.NONE]
            return dict.fromkeys(done)
        case "DeleteTopics":
            done = [each.name for each in answer.responses if each.error_code == ErrorCode.NONE]
            return dict.fromkeys(done, _ABSENT)
        case "CreatePartitions":
            counts = {each.name: each.count for each in request.topics}
            done = [each.name for each in answer.results if each.error_code == ErrorCode.NONE]
            return {name: counts[name] for name in done}
        case _:
            return {}
