"""Registers: reads and writes of unique values, to be judged for linearizability.

A register is the `interval.ms` of a CLIENT_METRICS resource `r-<n>`, which a quorum of controllers
without brokers can alter and describe (DESIGN 2 and 5). Values count up from 100 in each key, so a
read names the write that it saw. Several keys live at a time; each retires after some hundreds of
operations, for a long history of one key is the worst shape for every checker. When all is healed,
fresh clients read every key once more: what was acknowledged must still be there.

Most processes follow the leader. One *wanderer* reads from any node, slowly: a correct node refuses
it or answers linearizably, and a deposed leader that still answers is found out by it.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from checkers.history.events import EventType
from checkers.history.kinds import HistoryKind
from workloads.connection import Connection, Driver, LostError, NotSentError
from workloads.frames import (
    get_interval,
    read_alter_answer,
    read_describe_answer,
    set_interval,
)
from workloads.history import FINAL, MAIN, READ, WRITE, History
from workloads.leader import LeaderFinder
from workloads.tally import Tally
from workloads.wire.fields import MalformedAnswerError
from workloads.wire.header import Api
from workloads.workload import Servers, WorkloadKind

LOWEST, HIGHEST = 100, 3_600_000  # Kafka's bounds of interval.ms

# Errors of a write that prove that it was refused before anything was appended: the request
# itself was found wanting. All others, NOT_CONTROLLER (41) among them, may come after an append:
# a leader that loses its office answers so to what it had already appended.
REFUSALS = frozenset({17, 29, 31, 35, 40, 42, 44})

_NOBODY = -1
_CONNECT_TIMEOUT_S = 1.0
_SEARCH_S = 1.0
_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2
_WANDER_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOptions:
    """`rate` limits all processes together, in operations a second; 0 lets them run."""

    concurrency: int = 20
    rate: float = 0.0
    live_keys: int = 5
    operations_per_key: int = 400
    read_share: float = 0.5
    timeout_s: float = 1.0
    most_operations: int = 0  # before the final reads; 0: until told to stop

    @property
    def interval_s(self) -> float:
        """From one operation of a process to its next, at least."""
        return self.concurrency / self.rate if self.rate else 0.0

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With what a user asked for instead; no setting of a target matters to registers."""
        del settings
        return replace(self, concurrency=concurrency or self.concurrency, rate=rate or self.rate)


@dataclass(slots=True)
class _Key:
    name: str
    operations: int = 0
    written: int = LOWEST - 1

    def next_value(self) -> int:
        self.written += 1
        assert self.written <= HIGHEST
        return self.written


@dataclass(slots=True)
class _Keys:
    """Which keys live; a key that had its share makes place for a fresh one."""

    live: list[_Key]
    share: int
    all: list[str] = field(default_factory=list)

    @classmethod
    def fresh(cls, options: RegisterOptions) -> "_Keys":
        keys = cls(live=[], share=options.operations_per_key)
        keys.live = [keys._open() for _ in range(options.live_keys)]
        return keys

    def pick(self, rng: random.Random) -> _Key:
        slot = rng.randrange(len(self.live))
        if self.live[slot].operations >= self.share:
            self.live[slot] = self._open()
        key = self.live[slot]
        key.operations += 1
        return key

    def _open(self) -> _Key:
        name = f"r-{len(self.all)}"
        self.all.append(name)
        return _Key(name=name)


class RegisterWorkload:
    """`run` until told to stop, then `read_all` once the cluster is healed."""

    def __init__(
        self, driver: Driver, history: History, *, seed: int, options: RegisterOptions
    ) -> None:
        self._driver = driver
        self._history = history
        self._seed = seed
        self._options = options
        self._keys = _Keys.fresh(options)
        self._finder = LeaderFinder(driver)
        self._stopping = False
        self._issued = 0
        self.acknowledged_writes = 0
        self.tally = Tally()

    @property
    def leader(self) -> int | None:
        """Whom the processes follow now."""
        return self._finder.current.node if self._finder.current is not None else None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._keys.all)

    @property
    def is_over(self) -> bool:
        """Whether all that it may issue was issued."""
        return 0 < self._options.most_operations <= self._issued

    def _may_go_on(self) -> bool:
        """Counts the operation that follows."""
        if self._stopping or self.is_over:
            return False
        self._issued += 1
        return True

    def stop(self) -> None:
        """Let every process finish its operation; `run` returns within one time-out."""
        self._stopping = True

    async def run(self) -> None:
        """All processes, until `stop`."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._options.concurrency - 1):
                group.create_task(self._follow(number))
            group.create_task(self._wander())

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Read every key by fresh clients; the keys that none could read within the time."""
        deadline = asyncio.get_running_loop().time() + within_s
        left = list(reversed(self._keys.all))
        unread: list[str] = []
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._options.concurrency, len(left))):
                group.create_task(self._final_reads(left, unread, deadline))
        return tuple(sorted(unread))

    async def close(self) -> None:
        await self._finder.close()

    def _client(self) -> "_Client":
        return _Client(
            self._driver, self._history, self.tally, self._finder, self._options.timeout_s
        )

    async def _follow(self, number: int) -> None:
        rng = random.Random(f"{self._seed}:process:{number}")
        client = self._client()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while self._may_go_on():
            await self._one(client, rng)
            if self._options.interval_s:
                due = max(due + self._options.interval_s, loop.time() - 1)
                await asyncio.sleep(max(0.0, due - loop.time()))
        client.close()

    async def _one(self, client: "_Client", rng: random.Random) -> None:
        node = await client.leader(_SEARCH_S)
        key = self._keys.pick(rng)
        if rng.random() < self._options.read_share:
            await client.read(key.name, node, MAIN)
        elif await client.write(key.name, key.next_value(), node):
            self.acknowledged_writes += 1

    async def _wander(self) -> None:
        rng = random.Random(f"{self._seed}:wanderer")
        client = self._client()
        while self._may_go_on():
            await client.read(self._keys.pick(rng).name, rng.choice(self._driver.nodes), MAIN)
            await asyncio.sleep(max(_WANDER_S, self._options.interval_s))
        client.close()

    async def _final_reads(self, left: list[str], unread: list[str], deadline: float) -> None:
        client = self._client()
        loop = asyncio.get_running_loop()
        while left:
            key = left.pop()
            done = False
            while not done and loop.time() < deadline:
                done = await client.read(key, await client.leader(_SEARCH_S), FINAL)
            if not done:
                unread.append(key)
        client.close()


class _Client:
    """A process and its connection. After an `info` it goes on under a new process id."""

    def __init__(
        self,
        driver: Driver,
        history: History,
        tally: Tally,
        finder: LeaderFinder,
        timeout_s: float,
    ) -> None:
        self._driver = driver
        self._history = history
        self._tally = tally
        self._finder = finder
        self._timeout_s = timeout_s
        self._process = history.new_process()
        self._connection: Connection | None = None
        self._node = _NOBODY
        self._troubled = False
        self._pause_s = _PAUSE_S

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def leader(self, within_s: float) -> int:
        """The node to send to; looked for anew, after a growing pause, if the last one erred."""
        if self._troubled:
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        found = self._finder.current
        if self._troubled or found is None:
            found = await self._finder.find(within_s)
        return found.node if found is not None else _NOBODY

    async def read(self, key: str, node: int, phase: str) -> bool:
        """Whether it succeeded. A read that erred is a `fail`: it changed nothing."""
        self._history.invoke(self._process, READ, key, None, node, phase)
        try:
            body = await self._ask(node, Api.DESCRIBE_CONFIGS, get_interval(key))
            error, value = read_describe_answer(body)
        except (NotSentError, LostError, MalformedAnswerError) as trouble:
            return self._end(EventType.FAIL, None, _reason(trouble))
        if error:
            return self._end(EventType.FAIL, None, f"error-{error}")
        return self._end(EventType.OK, value, None)

    async def write(self, key: str, value: int, node: int) -> bool:
        """Whether it was acknowledged."""
        self._history.invoke(self._process, WRITE, key, value, node, MAIN)
        try:
            body = await self._ask(node, Api.INCREMENTAL_ALTER_CONFIGS, set_interval(key, value))
            error = read_alter_answer(body)
        except NotSentError as trouble:
            return self._end(EventType.FAIL, value, _reason(trouble))
        except (LostError, MalformedAnswerError) as trouble:
            return self._end(EventType.INFO, value, _reason(trouble))
        if error in REFUSALS:
            return self._end(EventType.FAIL, value, f"error-{error}")
        if error:
            return self._end(EventType.INFO, value, f"error-{error}")
        return self._end(EventType.OK, value, None)

    async def _ask(self, node: int, api: Api, body: bytes) -> bytes:
        self._tally.invoke()
        if node == _NOBODY:
            raise NotSentError("no leader found")
        connection = self._connection
        if connection is None or connection.closed or node != self._node:
            self.close()
            connection = await self._driver.connect(node, _CONNECT_TIMEOUT_S)
            self._connection, self._node = connection, node
        return await connection.ask(api, body, self._timeout_s)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> bool:
        self._tally.complete(outcome)
        self._history.complete(self._process, outcome, value, error)
        self._troubled = outcome is not EventType.OK
        if not self._troubled:
            self._pause_s = _PAUSE_S
        elif outcome is EventType.INFO:
            self._process = self._history.new_process()
        return not self._troubled


def _reason(trouble: Exception) -> str:
    return (
        str(trouble) if not isinstance(trouble, MalformedAnswerError) else f"malformed: {trouble}"
    )


REGISTER = WorkloadKind(
    name="register",
    options=RegisterOptions,
    history=HistoryKind.REGISTERS,
    servers=Servers.CONTROLLERS,
    make=lambda options, access, history, seed: RegisterWorkload(
        access.driver, history, seed=seed, options=options
    ),
    shrinks=(("live_keys", 1), ("concurrency", 2)),
)
