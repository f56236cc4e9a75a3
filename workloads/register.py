"""Registers: reads, writes and deletes of values, to be judged for linearizability.

A register is the `interval.ms` of a CLIENT_METRICS resource `r-<n>`, which a quorum of controllers
without brokers can alter and describe. Values count up from 100 in each key, so a read names the
write that it saw; only a write that is sent again has the value of another. Several keys are in use
at a time; each retires after some hundreds of operations, for a long history of one key is the
worst case for every checker. After the heal fresh clients read every key once more: acknowledged
writes must still be there.

Most processes follow the leader. One *wanderer* reads from any node, slowly: a correct node refuses
it or answers linearizably, and it exposes a deposed leader that still answers.

    register_options.py     how many clients, and the mix of their operations
    register_keys.py        which registers are in use, and the next operations
    register_requests.py    what a request asks, and how it can be wrong
    register_client.py      a client, which records what it does
"""

import asyncio
import random
from collections.abc import Sequence

from checkers.history.events import EventType
from checkers.history.history_kinds import HistoryKind
from workloads.connection import Driver
from workloads.leader import LeaderFinder
from workloads.operation_history import FINAL, MAIN, WRITE, History
from workloads.register_client import RegisterClient
from workloads.register_keys import RegisterKeys
from workloads.register_options import RegisterOptions
from workloads.register_requests import Operation, read
from workloads.tally import Tally
from workloads.workload import Servers, WorkloadKind, client

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
