"""A member of a group that transforms its share, one transaction after another, and its output.

What a transaction processes is recorded before it is sent anywhere, an operation for each record:
`fail` if its commit was never requested, `info` if it was requested and not confirmed. After
trouble the member begins anew: another epoch of its producer, which ends the open transaction,
its place in the group, and the offsets that the group has committed.
"""

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count

from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.chores.groups import GroupCoordinator
from workloads.clients.log_driver import NO_NODE
from workloads.clients.raw_clients import end, initialize
from workloads.connection import Brokers, LostError, NotSentError
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import (
    MAIN,
    TRANSFORM,
)
from workloads.wire.batch import (
    Identity,
    KeyedRecord,
    keyed_batch,
    read_batches,
)
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.fetch import fetch, read_fetch
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.group_members import (
    COORDINATOR_NOT_AVAILABLE,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    Joined,
    MemberTimeouts,
    fetch_offset,
    heartbeat,
    join_group,
    leave_group,
    read_commit,
    read_group_offset,
    read_heartbeat,
    read_joined,
    read_left,
    read_synced,
    share_out,
)
from workloads.wire.header import Api
from workloads.wire.produce import (
    ALL,
    GroupMember,
    ProducerId,
    commit_in_transaction,
    produce,
    read_produce,
)

# The output of a transformation: which record of its input it processed, in which transaction.
#
# A record of the output names the log of the input in its key, and in its value the number of the
# transaction (`History.new_request`) and the offset that it processed. No reader takes it for a
# record of the load.


_VALUE = struct.Struct(">qqb")  # a byte more than two words: values of the load are whole words


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """The record at `offset` of the log `key`, by the transaction of that number."""

    key: str
    offset: int
    transaction: int


def output_batch(key: str, offsets: Iterable[int], transaction: int, identity: Identity) -> bytes:
    """One record for each record of the input."""
    records = [(key.encode(), _VALUE.pack(transaction, offset, 0)) for offset in offsets]
    return keyed_batch(*records, identity=identity)


def processed(record: KeyedRecord) -> Processed:
    """Raises MalformedResponseError for what no transformation of ours put out."""
    try:
        transaction, offset, _ = _VALUE.unpack(record.value)
        key = record.key.decode()
    except (struct.error, UnicodeDecodeError):
        raise MalformedResponseError(f"offset {record.offset} is not of a transformation") from None
    return Processed(key=key, offset=offset, transaction=transaction)


_TIMEOUTS = MemberTimeouts(session_ms=6000, rebalance_ms=3000)
_ANSWERED_WITHIN_S = 10.0  # a JoinGroup waits for others
_SEARCH_S = 1.0
_PAUSE_S, _BEAT_S = 0.05, 0.2
_SILENT_S = 7.0  # longer than a session
_MOST_RECORDS = 20  # of a transaction
_MOST_BYTES = 1 << 16
_WAIT_MS = 50
_ABORTS_EACH = 9  # transactions
_STAYS, _ABSENT_S = 40, 1.0  # turns of the one that comes and goes, and seconds
_CARELESS_AFTER = 30  # transactions
_TRIES = 30  # of what is refused for now

# Refused for now: the previous transaction is not yet complete everywhere, or the node does not
# lead any more or not yet.
_NOT_NOW = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class Manner(Enum):
    STAYING = "staying"
    COMING_AND_GOING = "coming-and-going"
    CARELESS = "careless"  # falls silent in the midst of a transaction now and then


class _RefusedError(Exception):
    """Kafka's error."""


class TransformingMember:
    """`owner`: its transactional id. `run` ends in time, however long others are waited for."""

    def __init__(
        self,
        tools: Tools,
        output_leaders: PartitionLeaders,
        output: TopicPartition,
        *,
        group: str,
        owner: str,
        manner: Manner,
    ) -> None:
        self.owner = owner
        self._tools = tools
        self._group = group
        self._manner = manner
        self._output = output
        self._output_leaders = output_leaders
        self._coordinator = GroupCoordinator(tools.driver, group, _ANSWERED_WITHIN_S)
        self._brokers = Brokers(tools.driver, tools.timeout_s)
        self._id = ""
        self._producer: ProducerId | None = None
        self._turn = 0
        self._begun = count(1)  # transactions
        self._processes: list[int] = []

    def close(self) -> None:
        self._coordinator.close()
        self._brokers.close()

    async def run(self, goes_on: Callable[[], bool]) -> None:
        work = asyncio.create_task(self._belong_for_ever(goes_on))
        while goes_on() and not work.done():
            await asyncio.wait([work], timeout=_BEAT_S)
        work.cancel()
        await asyncio.wait([work])
        if not work.cancelled():
            work.result()

    async def _belong_for_ever(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            try:
                await self._belong()
            except (NotSentError, LostError, _RefusedError):
                self._coordinator.node = None
            await asyncio.sleep(_PAUSE_S)

    async def _belong(self) -> None:
        """From when it joins to when it is no member, or has to join again. Raises NotSentError,
        LostError, _RefusedError."""
        await self._coordinator.find()
        if self._coordinator.node is None:
            return
        joined = await self._join()
        share = await self._share(joined)
        positions = {place: await self._committed(place) for place in share}
        for turn in count(1):
            if await self._is_to_join_again(joined.generation):
                return
            for place in share:
                offsets = await self._poll(place, positions[place])
                if offsets and await self._transact(place, offsets, joined.generation):
                    positions[place] = offsets[-1] + 1
            if self._manner is Manner.COMING_AND_GOING and turn >= _STAYS:
                await self._leave()
                await asyncio.sleep(_ABSENT_S)
                return
            await asyncio.sleep(_PAUSE_S)

    # --- the group ---

    async def _join(self) -> Joined:
        joined = await self._join_as(self._id)
        if joined.error == MEMBER_ID_REQUIRED:
            joined = await self._join_as(joined.member)
        self._id = "" if joined.error else joined.member
        _require(joined.error)
        return joined

    async def _join_as(self, member: str) -> Joined:
        body = join_group(self._group, member, _TIMEOUTS)
        return await self._coordinator.send(Api.JOIN_GROUP, body, read_joined)

    async def _share(self, joined: Joined) -> Sequence[TopicPartition]:
        """The logs that it is to read; the leader of the group deals them out in turn."""
        places = sorted(self._tools.partitions)
        members = sorted(joined.members)
        dealt = {
            member: json.dumps([place.key for place in places[at :: len(members)]]).encode()
            for at, member in enumerate(members)
        }
        body = share_out(self._group, joined.generation, self._id, dealt)
        error, share = await self._coordinator.send(Api.SYNC_GROUP, body, read_synced)
        if error:
            self._id = ""
        _require(error)
        keys = json.loads(share) if share else []
        return [place for place in places if place.key in keys]

    async def _is_to_join_again(self, generation: int) -> bool:
        body = heartbeat(self._group, generation, self._id)
        error = await self._coordinator.send(Api.HEARTBEAT, body, read_heartbeat)
        if error and error != ErrorCode.REBALANCE_IN_PROGRESS:
            self._id = ""
        return error != 0

    async def _leave(self) -> None:
        member, self._id = self._id, ""
        body = leave_group(self._group, member)
        await self._coordinator.send(
            Api.LEAVE_GROUP, body, lambda response: read_left(response, member)
        )

    async def _committed(self, place: TopicPartition) -> int:
        """Where the group has come to, once no open transaction changes that; 0 at first."""
        body = fetch_offset(self._group, place.topic, place.partition, stable=True)
        for _ in range(_TRIES):
            found = await self._coordinator.send(
                Api.OFFSET_FETCH,
                body,
                lambda response: read_group_offset(
                    response, self._group, place.topic, place.partition
                ),
            )
            if found.error != ErrorCode.UNSTABLE_OFFSET_COMMIT:
                _require(found.error)
                return max(found.offset, 0)
            await asyncio.sleep(_BEAT_S)
        raise _RefusedError(error_name(found.error))

    # --- the logs ---

    async def _poll(self, place: TopicPartition, position: int) -> Sequence[int]:
        """The offsets of some records, in their order."""
        leaders, topic, index = self._tools.leaders, place.topic, place.partition

        def read(body: bytes) -> tuple[int, list[int]]:
            fetched = read_fetch(body, topic, index)
            found = () if fetched.error else read_batches(fetched.data, position)
            return fetched.error, [
                each.offset + number for each in found for number in range(each.records)
            ]

        request = fetch(topic, index, position, most_bytes=_MOST_BYTES, wait_ms=_WAIT_MS)
        try:
            error, offsets = await self._brokers.send(
                leaders.known(place), Api.FETCH, request, read
            )
        except (NotSentError, LostError):
            await leaders.find(place, _SEARCH_S)
            return ()
        if error:
            await leaders.find(place, _SEARCH_S)
        return offsets[:_MOST_RECORDS]

    # --- transactions ---

    async def _transact(
        self, place: TopicPartition, offsets: Sequence[int], generation: int
    ) -> bool:
        """Whether it is committed. False: it was aborted, and the member may go on; raises
        NotSentError, LostError, _RefusedError where it has to begin anew."""
        producer = await self._initialized()
        number, transaction = next(self._begun), self._tools.history.new_request()
        outcome, error = EventType.FAIL, "given up"
        self._begin(place, offsets, transaction)
        self._producer = None  # unless this ends well
        try:
            identity = Identity(
                producer_id=producer.producer_id,
                epoch=producer.epoch,
                sequence=0,
                transactional=True,
            )
            await self._produce(output_batch(place.key, offsets, transaction, identity))
            if self._manner is Manner.CARELESS and number % _CARELESS_AFTER == 0:
                await asyncio.sleep(_SILENT_S)
            member = GroupMember(group=self._group, generation=generation, member=self._id)
            await self._commit_offset(producer, member, place, offsets[-1] + 1)
            if number % _ABORTS_EACH == 0:
                error = "aborted"
                await self._end(producer, commits=False)
                return False
            outcome = EventType.INFO
            await self._end(producer, commits=True)
            outcome, error = EventType.OK, ""
        except NotSentError as trouble:
            outcome, error = EventType.FAIL, str(trouble)
            raise
        except (LostError, _RefusedError) as trouble:
            error = str(trouble)
            raise
        finally:
            self._complete(outcome, len(offsets), error or None)
        return True

    async def _initialized(self) -> ProducerId:
        """The epoch of the producer that begins next."""
        if self._producer is None:
            nodes = self._tools.driver.nodes
            self._turn += 1
            node = nodes[self._turn % len(nodes)]
            found = await initialize(self._brokers, node, self.owner)
            _require(found.error)
            self._producer = found
        return self._producer

    async def _produce(self, batch: bytes) -> None:
        output = self._output
        body = produce(
            output.topic,
            output.partition,
            batch,
            acks=ALL,
            timeout_ms=int(self._tools.timeout_s * 1000),
            transactional_id=self.owner,
        )

        async def send() -> int:
            node = self._output_leaders.known(output)
            if node is None:
                node = await self._output_leaders.find(output, _SEARCH_S)
            try:
                told = await self._brokers.send(
                    node,
                    Api.PRODUCE,
                    body,
                    lambda response: read_produce(response, output.topic, output.partition),
                )
            except (NotSentError, LostError):
                await self._output_leaders.find(output, _SEARCH_S)
                raise
            if told.error in _NOT_NOW and told.error != ErrorCode.CONCURRENT_TRANSACTIONS:
                await self._output_leaders.find(output, _SEARCH_S)
            return told.error

        await _until_it_is_done(send)

    async def _commit_offset(
        self, producer: ProducerId, member: GroupMember, place: TopicPartition, offset: int
    ) -> None:
        body = commit_in_transaction(
            self.owner,
            (producer.producer_id, producer.epoch),
            member,
            place.topic,
            place.partition,
            offset,
        )

        async def send() -> int:
            await self._coordinator.find()
            error = await self._coordinator.send(
                Api.TXN_OFFSET_COMMIT,
                body,
                lambda response: read_commit(response, place.topic, place.partition),
            )
            if error in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE):
                self._coordinator.node = None
            return error

        await _until_it_is_done(send)

    async def _end(self, producer: ProducerId, *, commits: bool) -> None:
        nodes = self._tools.driver.nodes
        node = nodes[self._turn % len(nodes)]
        ended = await end(self._brokers, node, self.owner, producer, commits=commits)
        _require(ended.error)
        if ended.producer_id >= 0:
            self._producer = ProducerId(error=0, producer_id=ended.producer_id, epoch=ended.epoch)

    # --- what is recorded ---

    def _begin(self, place: TopicPartition, offsets: Sequence[int], transaction: int) -> None:
        history = self._tools.history
        node = self._output_leaders.known(self._output)
        at = NO_NODE if node is None else node
        while len(self._processes) < len(offsets):
            self._processes.append(history.new_process())
        for process, offset in zip(self._processes, offsets, strict=False):
            self._tools.tally.invoke()
            history.invoke(process, TRANSFORM, place.key, offset, at, MAIN, transaction)

    def _complete(self, outcome: EventType, records: int, error: str | None) -> None:
        for process in self._processes[:records]:
            self._tools.tally.complete(outcome)
            self._tools.history.complete(process, outcome, None, error)
        if outcome is EventType.INFO:
            del self._processes[:records]


def _require(error: int) -> None:
    """Raises _RefusedError."""
    if error:
        raise _RefusedError(error_name(error))


async def _until_it_is_done(send: Callable[[], Awaitable[int]]) -> None:
    """Again, as long as it is refused for now: within a transaction nothing is done twice. Raises
    _RefusedError."""
    for _ in range(_TRIES):
        error = await send()
        if error not in _NOT_NOW:
            _require(error)
            return
        await asyncio.sleep(_PAUSE_S)
    _require(error)
