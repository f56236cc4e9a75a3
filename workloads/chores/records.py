"""Chores with records in a log of their own: one deletes records, one looks up offsets by time.

Such a log is a topic with one partition, to which no other client sends. Its records are recorded
without their values: they are never read.

Asks leaders where the epochs of their logs end, as consumers do to detect that what they read
was truncated (KIP-320).
"""

import asyncio
from collections.abc import Callable
from itertools import count

from checkers.history.asked import OWN_LOGS, TopicShape, own_log
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.clients.administering import RawTopicClient, Topics, have_topics
from workloads.clients.log_driver import NO_NODE
from workloads.connection import Brokers, LostError, NotSentError, Response
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import (
    DELETE_RECORDS,
    EPOCH_END,
    FINAL,
    LOG_START,
    LOOK_UP,
    MAIN,
    PUT,
)
from workloads.wire.batch import keyed_batch
from workloads.wire.error_codes import error_name, send_outcome
from workloads.wire.fetch import (
    EARLIEST,
    EpochEnd,
    delete_records,
    end_of_epoch,
    list_offset,
    read_deleted_records,
    read_end_of_epoch,
    read_listed,
)
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
        at = NO_NODE if node is None else node
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


# Deletes the first records of its own log (KIP-107), and asks for the log start at the end.


_PAUSE_S = 0.05
_RECORDS = 20
_DELETED = 10  # of those
_ANSWERED_WITHIN_S = 10.0


class DeletingRecords:
    """Implements `Chore`. After the deletion it goes on putting records, ever more slowly."""

    def __init__(self, tools: Tools) -> None:
        self._log = OwnLog(tools, "shortened")

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        put, deleted = 0, False
        while goes_on():
            if put < _RECORDS or deleted:
                put += await self._log.put(b"key", b"value")
            else:
                deleted = await self._delete()
            await asyncio.sleep(_PAUSE_S if not deleted else 10 * _PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _ANSWERED_WITHIN_S
        while await self._log.offset(LOG_START, EARLIEST, FINAL) is None:
            if loop.time() > deadline:
                return (f"the log start offset of {self._log.place.key}",)
            await asyncio.sleep(_PAUSE_S)
        return ()

    async def close(self) -> None:
        await self._log.close()

    async def _delete(self) -> bool:
        """Whether it was acknowledged: the leader waits for all live replicas."""
        topic, index = self._log.place.topic, self._log.place.partition
        timeout_ms = int(self._log.tools.timeout_s * 1000)
        body = delete_records(topic, index, _DELETED, timeout_ms=timeout_ms)
        self._log.begin(DELETE_RECORDS, _DELETED, MAIN)
        try:
            error = await self._log.send(
                Api.DELETE_RECORDS,
                body,
                lambda response: read_deleted_records(response, topic, index),
            )
            trouble = error_name(error) if error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        outcome = EventType.INFO if trouble else EventType.OK
        return await self._log.end(outcome, _DELETED, trouble)


# Puts records with keys into its own log, and looks up the first offset with a timestamp after
# 1970, as a consumer does that starts from a time (ListOffsets by timestamp).
#
# Brokers set the timestamps, so every record is younger. A few keys are written again and again: if
# the broker's default policy is to compact logs, old segments soon have no record left.


_KEYS = 3
_PUTS = 4  # between two look-ups
_IN_1970 = 1  # a timestamp, in ms
# Ten of them fill a segment (`OWN_LOGS`).
_VALUE = bytes(110_000)


class LookingUp:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._log = OwnLog(tools, "looked-up")

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        for number in count():
            if not goes_on():
                return
            if number % (_PUTS + 1) < _PUTS:
                await self._log.put(b"%d" % (number % _KEYS), _VALUE)
            else:
                await self._log.offset(LOOK_UP, _IN_1970, MAIN)
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        await self._log.close()


_EPOCHS_PAUSE_S = 0.2
_BACK = 3  # epochs, before the newest that any broker reported


class AskingEpochs:
    """Implements `Chore`. Asks for the newest known epoch, for those right before it, and for the
    next one, which does not exist yet."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._brokers = Brokers(tools.driver, tools.timeout_s)
        self._process = tools.history.new_process()
        self._newest = dict.fromkeys(tools.partitions, 0)

    async def run(self, goes_on: Callable[[], bool]) -> None:
        turn = 0
        while goes_on():
            places = self._tools.partitions
            place = places[turn % len(places)]
            back = turn // len(places) % (_BACK + 2) - 1
            await self._ask(place, max(self._newest[place] - back, 0))
            turn += 1
            await asyncio.sleep(_EPOCHS_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        self._brokers.close()

    async def _ask(self, place: TopicPartition, epoch: int) -> None:
        tools, (topic, index) = self._tools, (place.topic, place.partition)
        node = tools.leaders.known(place)
        tools.tally.invoke()
        at = NO_NODE if node is None else node
        tools.history.invoke(self._process, EPOCH_END, place.key, None, at, MAIN)
        found: EpochEnd | None = None
        try:
            found = await self._brokers.send(
                node,
                Api.OFFSET_FOR_LEADER_EPOCH,
                end_of_epoch(topic, index, epoch),
                lambda response: read_end_of_epoch(response, topic, index),
            )
            trouble = error_name(found.error) if found.error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        if found is None or trouble is not None:
            self._end(EventType.FAIL, None, trouble)
            await tools.leaders.find(place, _SEARCH_S)
            return
        self._newest[place] = max(self._newest[place], found.epoch)
        self._end(EventType.OK, found.end, None)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> None:
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
