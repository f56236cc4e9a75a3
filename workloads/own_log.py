"""The log of a chore: a topic with one partition, to which no other client sends.

What is put there is recorded without its value: it is never read.
"""

from collections.abc import Callable

from checkers.history.asked_topics import OWN_LOGS, TopicShape, own_log
from checkers.history.events import EventType
from workloads.administering import Topics, have_topics
from workloads.broker_connections import Brokers
from workloads.chore import Tools
from workloads.connection import LostError, NotSentError, Response
from workloads.log_driver import NOBODY
from workloads.operation_history import MAIN, PUT
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.raw_topics import RawTopicClient
from workloads.wire.batch import keyed_batch
from workloads.wire.error_codes import error_name, send_outcome
from workloads.wire.fetch import list_offset, read_listed
from workloads.wire.header import Api
from workloads.wire.produce import ALL, produce, read_produce

_TOPICS_WITHIN_S = 60.0
_SEARCH_S = 1.0


class OwnLog:
    """One process; `name` is one of `OWN_LOGS`. After an error it looks the leader up again."""

    def __init__(self, tools: Tools, name: str) -> None:
        self.tools = tools
        self.place = TopicPartition(own_log(tools.prefix, name), 0)
        self._configs = OWN_LOGS[name]
        self._leaders = PartitionLeaders(tools.driver, [self.place])
        self._brokers = Brokers(tools.driver, tools.timeout_s)
        self._process = tools.history.new_process()

    async def make(self) -> None:
        """Raises NoTopicsError."""
        tools = self.tools
        shape = TopicShape(partitions=1, replication=tools.replication, configs=self._configs)
        client = RawTopicClient(tools.driver, tools.timeout_s)
        topics = Topics(client, tools.history, shape, tools.tally)
        try:
            await have_topics(topics, self._leaders, (self.place.topic,), _TOPICS_WITHIN_S)
        finally:
            await topics.close()

    async def close(self) -> None:
        self._brokers.close()
        await self._leaders.close()

    async def put(self, key: bytes, value: bytes) -> bool:
        """Whether it was acknowledged by all replicas in sync."""
        topic, index = self.place.topic, self.place.partition
        body = produce(
            topic,
            index,
            keyed_batch((key, value)),
            acks=ALL,
            timeout_ms=int(self.tools.timeout_s * 1000),
        )
        self.begin(PUT, None, MAIN)
        try:
            produced = await self.send(
                Api.PRODUCE, body, lambda response: read_produce(response, topic, index)
            )
        except NotSentError as trouble:
            return await self.end(EventType.FAIL, None, str(trouble))
        except LostError as trouble:
            return await self.end(EventType.INFO, None, str(trouble))
        error = error_name(produced.error) if produced.error else None
        return await self.end(send_outcome(produced), None, error)

    async def offset(self, f: str, which: int, phase: str) -> int | None:
        """The leader's answer to a ListOffsets; None without one."""
        topic, index = self.place.topic, self.place.partition
        self.begin(f, None, phase)
        try:
            listed = await self.send(
                Api.LIST_OFFSETS,
                list_offset(topic, index, which),
                lambda response: read_listed(response, topic, index),
            )
        except (NotSentError, LostError) as trouble:
            await self.end(EventType.FAIL, None, str(trouble))
            return None
        if listed.error:
            await self.end(EventType.FAIL, None, error_name(listed.error))
            return None
        await self.end(EventType.OK, listed.offset, None)
        return listed.offset

    async def send(self, api: Api, body: bytes, read: Callable[[bytes], Response]) -> Response:
        """Ask its leader. Raises NotSentError or LostError."""
        return await self._brokers.send(self._leaders.known(self.place), api, body, read)

    def begin(self, f: str, value: int | None, phase: str) -> None:
        node = self._leaders.known(self.place)
        self.tools.tally.invoke()
        at = NOBODY if node is None else node
        self.tools.history.invoke(self._process, f, self.place.key, value, at, phase)

    async def end(self, outcome: EventType, value: int | None, error: str | None) -> bool:
        """Whether it succeeded."""
        self.tools.tally.complete(outcome)
        self.tools.history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self.tools.history.new_process()
        if outcome is not EventType.OK:
            await self._leaders.find(self.place, _SEARCH_S)
        return outcome is EventType.OK
