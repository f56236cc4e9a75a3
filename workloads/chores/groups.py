"""Chores of groups: one commits offsets of a group, one has members that join and leave; and the
search for a group's coordinator.

Makes brokers sync the log of transaction coordinators: sets `flush.messages=1` on
`__transaction_state`, which exists once a client has asked for a coordinator.
"""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from itertools import count

from checkers.history.asked import CONFIG_OF_A_TOPIC
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.clients.log_driver import NO_NODE
from workloads.connection import Brokers, Driver, LostError, NotSentError, Response
from workloads.operation_history import (
    COMMIT_OFFSET,
    COMMITTED_OFFSET,
    FINAL,
    GROUP_HEARTBEAT,
    MAIN,
    SET_CONFIG,
)
from workloads.wire.client_metrics import TOPIC, Alteration, ConfigChange, alter, read_altered
from workloads.wire.error_codes import error_name
from workloads.wire.group_members import (
    COORDINATOR_NOT_AVAILABLE,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    GroupOffset,
    Joined,
    KeyType,
    MemberTimeouts,
    commit_as_member,
    commit_offset,
    fetch_offset,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    read_commit,
    read_coordinator,
    read_group_offset,
    read_heartbeat,
    read_joined,
    read_left,
    read_synced,
    sync_group,
)
from workloads.wire.header import Api

# The coordinator of a group: any broker is asked for it, another one after an error.


class GroupCoordinator:
    """The view of one client. `node` is None until a broker has answered."""

    def __init__(self, driver: Driver, group: str, timeout_s: float) -> None:
        self.node: int | None = None
        self._driver = driver
        self._group = group
        self._brokers = Brokers(driver, timeout_s)
        self._turn = 0

    async def find(self) -> None:
        """Look it up unless it is known; without an answer it stays unknown."""
        if self.node is not None:
            return
        nodes = self._driver.nodes
        node = nodes[self._turn % len(nodes)]
        self._turn += 1
        body = find_coordinator(self._group, KeyType.GROUP)
        try:
            found = await self._brokers.send(node, Api.FIND_COORDINATOR, body, read_coordinator)
        except (NotSentError, LostError):
            return
        if found.error == 0:
            self.node = found.node

    async def send(self, api: Api, body: bytes, read: Callable[[bytes], Response]) -> Response:
        """Ask it. Raises NotSentError or LostError."""
        return await self._brokers.send(self.node, api, body, read)

    def close(self) -> None:
        self._brokers.close()


# Commits offsets of a group without members, and asks after each for the committed one.
#
# The offset grows by one each time: a smaller one than was last acknowledged in an answer shows
# that the group forgot a commit.


_PAUSE_S = 0.05
_TOLD_WITHIN_S = 30.0


class CommittingOffsets:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._group = f"{tools.prefix}-committed"
        self._place = tools.partitions[0]
        self._coordinator = GroupCoordinator(tools.driver, self._group, tools.timeout_s)
        self._process = tools.history.new_process()
        self._next = 1

    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Commits nothing more before it has the answer: a new commit would replace a lost one."""
        has_told = True
        while goes_on():
            await self._coordinator.find()
            if self._coordinator.node is not None and has_told:
                await self._commit()
                has_told = False
            elif self._coordinator.node is not None:
                has_told = await self._fetch(MAIN)
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _TOLD_WITHIN_S
        while True:
            await self._coordinator.find()
            if await self._fetch(FINAL):
                return ()
            if loop.time() > deadline:
                return (f"the committed offset of {self._group}",)
            await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        self._coordinator.close()

    async def _commit(self) -> None:
        topic, index = self._place.topic, self._place.partition
        value, self._next = self._next, self._next + 1
        body = commit_offset(self._group, topic, index, value)
        self._begin(COMMIT_OFFSET, value, MAIN)
        try:
            error = await self._coordinator.send(
                Api.OFFSET_COMMIT,
                body,
                lambda response: read_commit(response, topic, index),
            )
        except NotSentError as trouble:
            self._end(EventType.FAIL, value, str(trouble))
        except LostError as trouble:
            self._end(EventType.INFO, value, str(trouble))
        else:
            outcome = EventType.INFO if error else EventType.OK
            self._end(outcome, value, error_name(error) if error else None)

    async def _fetch(self, phase: str) -> bool:
        """Whether the coordinator returned the committed offset."""
        topic, index = self._place.topic, self._place.partition
        self._begin(COMMITTED_OFFSET, None, phase)
        try:
            found = await self._coordinator.send(
                Api.OFFSET_FETCH,
                fetch_offset(self._group, topic, index),
                lambda response: read_group_offset(response, self._group, topic, index),
            )
        except (NotSentError, LostError) as trouble:
            return self._end(EventType.FAIL, None, str(trouble))
        return self._told(found)

    def _told(self, found: GroupOffset) -> bool:
        if found.error:
            return self._end(EventType.FAIL, None, error_name(found.error))
        return self._end(EventType.OK, found.offset, None)

    def _begin(self, f: str, value: int | None, phase: str) -> None:
        self._tools.tally.invoke()
        node = NO_NODE if self._coordinator.node is None else self._coordinator.node
        self._tools.history.invoke(self._process, f, self._group, value, node, phase)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> bool:
        """Whether it succeeded; after an error the coordinator is looked up again."""
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self._tools.history.new_process()
        if outcome is not EventType.OK:
            self._coordinator.node = None
        return outcome is EventType.OK


# Members of one group: they join, get their assignments, send heartbeats, and commit.
#
# One stays as long as it may, and commits; one joins and leaves again and again. One is careless:
# in turn it is silent for longer than a session, and ignores a rebalance; then it is no member any
# more, and joins again. So generations follow one another, and a member meets each possible error
# for its proper reason.


_OF_OTHERS = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)
_TIMEOUTS = MemberTimeouts(session_ms=6000, rebalance_ms=1500)
_ANSWERED_WITHIN_S = 8.0  # a JoinGroup waits for others
_HEARTBEAT_S = 0.3
_JOIN_PAUSE_S = 0.1
_STAYS, _ABSENT = 6, 1.0  # heartbeats, and seconds, of the one that comes and goes
_CARELESS_AFTER = 4  # heartbeats
_SILENT_S = 7.0  # longer than a session


class _Manner(Enum):
    STAYING = auto()
    COMING_AND_GOING = auto()
    CARELESS = auto()


class JoiningGroups:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._members = [_Member(tools, f"{tools.prefix}-members", manner) for manner in _Manner]

    async def run(self, goes_on: Callable[[], bool]) -> None:
        async with asyncio.TaskGroup() as group:
            for member in self._members:
                group.create_task(member.run(goes_on))

    async def look_back(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        for member in self._members:
            member.close()


class _Member:
    """A member on one connection to its coordinator. `run` ends in time, however long others are
    waited for: a member that waits for longer than a session gives up."""

    def __init__(self, tools: Tools, group: str, manner: _Manner) -> None:
        self._tools = tools
        self._group = group
        self._manner = manner
        self._place = tools.partitions[0]
        self._coordinator = GroupCoordinator(tools.driver, group, _ANSWERED_WITHIN_S)
        self._process = tools.history.new_process()
        self._id = ""
        self._offsets = count(1)

    async def run(self, goes_on: Callable[[], bool]) -> None:
        turns = count()
        work = asyncio.create_task(self._belong_for_ever(goes_on, turns))
        while goes_on() and not work.done():
            await asyncio.wait([work], timeout=_JOIN_PAUSE_S)
        work.cancel()
        await asyncio.wait([work])
        if not work.cancelled():
            work.result()

    def close(self) -> None:
        self._coordinator.close()

    async def _belong_for_ever(self, goes_on: Callable[[], bool], turns: "count[int]") -> None:
        while goes_on():
            try:
                await self._belong(next(turns))
            except (NotSentError, LostError):
                self._coordinator.node = None
            await asyncio.sleep(_JOIN_PAUSE_S)

    async def _belong(self, turn: int) -> None:
        """From joining until it is no member, or has to join again. Raises NotSentError,
        LostError."""
        await self._coordinator.find()
        if self._coordinator.node is None:
            return
        joined = await self._join()
        if joined is None or not await self._share(joined):
            return
        await self._look_up()
        match self._manner:
            case _Manner.STAYING:
                while not await self._say_that_it_lives(joined.generation):
                    await self._commit(joined.generation)
            case _Manner.COMING_AND_GOING:
                for _ in range(_STAYS):
                    if await self._say_that_it_lives(joined.generation):
                        return
                await self._leave()
                await asyncio.sleep(_ABSENT)
            case _Manner.CARELESS:
                await self._be_careless(joined.generation, falls_silent=turn % 2 == 1)

    async def _be_careless(self, generation: int, *, falls_silent: bool) -> None:
        """Ignore rebalances, until it is no member any more."""
        for beat in count():
            error = await self._say_that_it_lives(generation)
            if error not in (0, REBALANCE_IN_PROGRESS):
                self._id = ""
                return
            if falls_silent and beat == _CARELESS_AFTER:
                await asyncio.sleep(_SILENT_S)

    async def _join(self) -> Joined | None:
        """None: it was refused."""
        joined = await self._join_as(self._id)
        if joined.error == MEMBER_ID_REQUIRED:
            joined = await self._join_as(joined.member)
        self._heed(joined.error)
        self._id = "" if joined.error else joined.member
        return None if joined.error else joined

    async def _join_as(self, member: str) -> Joined:
        body = join_group(self._group, member, _TIMEOUTS)
        return await self._coordinator.send(Api.JOIN_GROUP, body, read_joined)

    async def _share(self, joined: Joined) -> bool:
        """Whether it got its assignment. A member that has to join again keeps its id."""
        body = sync_group(self._group, joined.generation, self._id, joined.members)
        error, _ = await self._coordinator.send(Api.SYNC_GROUP, body, read_synced)
        self._heed(error)
        if error not in (0, REBALANCE_IN_PROGRESS):
            self._id = ""
        return error == 0

    async def _look_up(self) -> None:
        """Fetch the group's committed offset, as a consumer does when it begins."""
        topic, index = self._place.topic, self._place.partition
        await self._coordinator.send(
            Api.OFFSET_FETCH,
            fetch_offset(self._group, topic, index),
            lambda response: read_group_offset(response, self._group, topic, index),
        )

    async def _say_that_it_lives(self, generation: int) -> int:
        """The error code of the answer."""
        await asyncio.sleep(_HEARTBEAT_S)
        body = heartbeat(self._group, generation, self._id)
        is_told = self._manner is _Manner.STAYING
        if is_told:
            self._begin(generation)
        try:
            error = await self._coordinator.send(Api.HEARTBEAT, body, read_heartbeat)
        except (NotSentError, LostError, asyncio.CancelledError) as lost:
            if is_told:
                self._end(EventType.INFO, generation, str(lost) or "given up")
            raise
        self._heed(error)
        is_well = error in (0, REBALANCE_IN_PROGRESS)
        if is_told:
            outcome = EventType.OK if is_well else EventType.FAIL
            self._end(outcome, generation, None if is_well else error_name(error))
        if not is_well and self._manner is not _Manner.CARELESS:
            self._id = ""
        return error

    async def _commit(self, generation: int) -> None:
        topic, index = self._place.topic, self._place.partition
        body = commit_as_member(
            self._group, generation, self._id, topic, index, next(self._offsets)
        )
        await self._coordinator.send(
            Api.OFFSET_COMMIT, body, lambda response: read_commit(response, topic, index)
        )

    async def _leave(self) -> None:
        member, self._id = self._id, ""
        body = leave_group(self._group, member)
        await self._coordinator.send(
            Api.LEAVE_GROUP, body, lambda response: read_left(response, member)
        )

    def _heed(self, error: int) -> None:
        """Look the coordinator up again after an error that no coordinator returns to members."""
        if error in _OF_OTHERS:
            self._coordinator.node = None

    def _begin(self, generation: int) -> None:
        self._tools.tally.invoke()
        node = NO_NODE if self._coordinator.node is None else self._coordinator.node
        history = self._tools.history
        history.invoke(self._process, GROUP_HEARTBEAT, self._group, generation, node, MAIN)

    def _end(self, outcome: EventType, generation: int, error: str | None) -> None:
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, generation, error)
        if outcome is EventType.INFO:
            self._process = self._tools.history.new_process()


_TRANSACTIONS = "__transaction_state"
_EACH_MESSAGE = 1
_SYNC_PAUSE_S = 0.2
_TIMEOUT_S = 5.0  # of a request that the broker forwards to the controllers


class SyncingCoordinators:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        change = ConfigChange(name=CONFIG_OF_A_TOPIC[SET_CONFIG], value=str(_EACH_MESSAGE))
        self._body = alter([Alteration(resource=_TRANSACTIONS, changes=(change,), type=TOPIC)])
        self._brokers = Brokers(tools.driver, _TIMEOUT_S)
        self._process = tools.history.new_process()
        self._turn = 0
        self._is_set = False

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while goes_on() and not self._is_set:
            await self._set()
            await asyncio.sleep(_SYNC_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return () if self._is_set else (f"flush.messages of {_TRANSACTIONS} (it was not set)",)

    async def close(self) -> None:
        self._brokers.close()

    async def _set(self) -> None:
        nodes, history = self._tools.driver.nodes, self._tools.history
        node = nodes[self._turn % len(nodes)]
        self._tools.tally.invoke()
        history.invoke(self._process, SET_CONFIG, _TRANSACTIONS, _EACH_MESSAGE, node, MAIN)
        trouble = await self._trouble_of(node)
        self._is_set = trouble is None
        outcome = EventType.OK if self._is_set else EventType.INFO
        self._tools.tally.complete(outcome)
        history.complete(self._process, outcome, _EACH_MESSAGE, trouble)
        if not self._is_set:
            self._process = history.new_process()
            self._turn += 1

    async def _trouble_of(self, node: int) -> str | None:
        """Why it is not set, if it is not."""
        try:
            errors = await self._brokers.send(
                node,
                Api.INCREMENTAL_ALTER_CONFIGS,
                self._body,
                lambda response: read_altered(response, [_TRANSACTIONS]),
            )
        except (NotSentError, LostError) as trouble:
            return str(trouble)
        return error_name(errors[0]) if errors[0] else None
