"""Registers: reads, writes and deletes of values, to be judged for linearizability.

A register is the `interval.ms` of a CLIENT_METRICS resource `r-<n>`, which a quorum of controllers
without brokers can alter and describe. Values count up from 100 in each key, so a read names the
write that it saw; only a write that is sent again has the value of another. Several keys are in use
at a time; each retires after some hundreds of operations, for a long history of one key is the
worst case for every checker. After the heal fresh clients read every key once more: acknowledged
writes must still be there.

Most processes follow the leader. One *wanderer* reads from any node, slowly: a correct node refuses
it or answers linearizably, and it exposes a deposed leader that still answers.

`RegisterOptions` says how many clients there are, and the mix of their operations; a client is in
`workloads.clients.register_client`.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from checkers.history.events import EventType, HistoryKind
from workloads.clients.register_client import (
    HIGHEST,
    LOWEST,
    Operation,
    RegisterClient,
    Wrong,
    delete,
    read,
    write,
)
from workloads.connection import Driver
from workloads.leader import LeaderFinder
from workloads.operation_history import FINAL, MAIN, WRITE, History, Tally
from workloads.workload import RegisterOptions, Servers, WorkloadKind, client

# Which registers are in use, and the next operations on them, drawn by the options' weights.


_BLANKS = 10_000  # more than two pages of a disk, or six packets


@dataclass(slots=True)
class _Key:
    """`written` and `refused` are the last values; they are never drawn again."""

    name: str
    operations: int = 0
    written: int = LOWEST - 1
    refused: int = HIGHEST

    def next_value(self) -> int:
        self.written += 1
        assert self.written <= HIGHEST
        return self.written

    def next_illegal(self) -> int:
        self.refused += 1
        return self.refused


@dataclass(slots=True)
class RegisterKeys:
    """A key that had its share of operations is replaced by a fresh one."""

    options: RegisterOptions
    all: list[str] = field(default_factory=list)
    _live: list[_Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._live = [self._open() for _ in range(self.options.live_keys)]

    def pick(self, rng: random.Random) -> Operation:
        """A read of any register."""
        return read(self._pick(rng, 1)[0].name)

    def request(self, rng: random.Random) -> tuple[Operation, ...]:
        """The next request of a process: for one register as a rule, now and then for several."""
        options = self.options
        several = rng.random() < options.several_share
        keys = self._pick(rng, rng.randint(2, options.most_in_request) if several else 1)
        if rng.random() < options.read_share:
            return tuple(read(key.name) for key in keys)
        return tuple(self._alteration(rng, key, alone=len(keys) == 1) for key in keys)

    def _alteration(self, rng: random.Random, key: _Key, *, alone: bool) -> Operation:
        chance = rng.random()
        if chance < self.options.delete_share:
            return delete(key.name)
        wrong_share = self.options.wrong_share
        if chance >= self.options.delete_share + wrong_share:
            wide = chance < self.options.delete_share + wrong_share + self.options.wide_share
            return write(key.name, key.next_value(), blanks=_BLANKS if wide else 0)
        wrong = rng.choice([each for each in Wrong if alone or each is not Wrong.VALIDATE_ONLY])
        if wrong is Wrong.NULL:
            return delete(key.name, wrong)
        illegal = wrong is Wrong.OUT_OF_RANGE
        return write(key.name, key.next_illegal() if illegal else key.next_value(), wrong)

    def _pick(self, rng: random.Random, count: int) -> list[_Key]:
        slots = range(len(self._live))
        taken = [rng.choice(slots)] if count == 1 else rng.sample(slots, min(count, len(slots)))
        for slot in taken:
            if self._live[slot].operations >= self.options.operations_per_key:
                self._live[slot] = self._open()
            self._live[slot].operations += 1
        return [self._live[slot] for slot in taken]

    def _open(self) -> _Key:
        name = f"r-{len(self.all)}"
        self.all.append(name)
        return _Key(name=name)


_WANDER_S = 0.05
_READ_TOGETHER = 16  # keys in one of the final requests


class RegisterWorkload:
    """`run` until told to stop, then `read_all` once the cluster is healed."""

    def __init__(
        self, driver: Driver, history: History, *, seed: int, options: RegisterOptions
    ) -> None:
        self._driver = driver
        self._history = history
        self._seed = seed
        self._options = options
        self._keys = RegisterKeys(options)
        self._finder = LeaderFinder(driver)
        self._stopping = False
        self._issued = 0
        self.acknowledged_writes = 0
        self.tally = Tally()

    @property
    def leader(self) -> int | None:
        """The node that the processes follow now."""
        return self._finder.current.node if self._finder.current is not None else None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._keys.all)

    @property
    def committed_transactions(self) -> int:
        """Registers have none."""
        return 0

    @property
    def is_over(self) -> bool:
        """Whether all operations that it may issue were issued."""
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
        """All processes, until `stop`. Raises ClientError."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._options.concurrency - 1):
                group.create_task(client(f"client {number}", self._follow(number), self._may_end))
            group.create_task(client("the wanderer", self._wander(), self._may_end))

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Read every key by fresh clients; the keys that none could read within the time."""
        deadline = asyncio.get_running_loop().time() + within_s
        keys = self._keys.all
        left = [keys[at : at + _READ_TOGETHER] for at in range(0, len(keys), _READ_TOGETHER)]
        unread: list[str] = []
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._options.concurrency, len(left))):
                group.create_task(self._final_reads(left, unread, deadline))
        return tuple(sorted(unread))

    async def close(self) -> None:
        await self._finder.close()

    async def _follow(self, number: int) -> None:
        rng = random.Random(f"{self._seed}:process:{number}")
        client = self._client()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while self._may_go_on():
            request = self._keys.request(rng)
            while request:
                request = await self._one(client, request, rng)
            if self._options.interval_s:
                due = max(due + self._options.interval_s, loop.time() - 1)
                await asyncio.sleep(max(0.0, due - loop.time()))
        client.close()

    async def _one(
        self, client: RegisterClient, request: Sequence[Operation], rng: random.Random
    ) -> tuple[Operation, ...]:
        """What is to be sent again: the whole request, or nothing."""
        node = await client.leader()
        outcomes = await client.send(request, node, MAIN)
        written = [
            outcome for each, outcome in zip(request, outcomes, strict=True) if each.f == WRITE
        ]
        self.acknowledged_writes += written.count(EventType.OK)
        if not written or self._stopping or any(each.wrong is not None for each in request):
            return ()
        doubtful = EventType.INFO in written
        share = self._options.retry_share if doubtful else self._options.repeat_share
        return tuple(request) if rng.random() < share else ()

    def _may_end(self) -> bool:
        return self._stopping or self.is_over

    async def _wander(self) -> None:
        rng = random.Random(f"{self._seed}:wanderer")
        client = self._client()
        while self._may_go_on():
            await client.send([self._keys.pick(rng)], rng.choice(self._driver.nodes), MAIN)
            await asyncio.sleep(max(_WANDER_S, self._options.interval_s))
        client.close()

    async def _final_reads(self, left: list[list[str]], unread: list[str], deadline: float) -> None:
        client = self._client()
        loop = asyncio.get_running_loop()
        while left:
            keys = left.pop()
            while keys and loop.time() < deadline:
                outcomes = await client.send(list(map(read, keys)), await client.leader(), FINAL)
                told = zip(keys, outcomes, strict=True)
                keys = [key for key, outcome in told if outcome is not EventType.OK]
            unread += keys
        client.close()

    def _client(self) -> RegisterClient:
        return RegisterClient(
            self._driver, self._history, self.tally, self._finder, self._options.timeout_s
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
