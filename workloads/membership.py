"""Membership: voters are changed and described, beside clients of registers (KIP-853, KIP-856).

Some processes change voters: each asks a node for the voters, and then the same node for a change:
it removes a voter, or adds a removed one again, and now and then sends a request that must be
refused. So few voters are removed that the rest can always spare another one. Other processes only
describe the quorum, mostly at the leader, and now and then at any node: that exposes a deposed
leader that does not know it. After the heal the leader is asked once more.

    operator.py     the requests, each an operation
    register.py     the writes meanwhile
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from checkers.history.events import EventType, HistoryKind
from workloads.leader import LeaderFinder
from workloads.operation_history import ADD_VOTER, FINAL, REMOVE_VOTER, History, Tally
from workloads.operator import Changed, Voter, VoterRequests, holds_committed, voters_of
from workloads.register import RegisterWorkload
from workloads.wire.describe_quorum import LeaderClaim
from workloads.wire.error_codes import ErrorCode
from workloads.workload import Access, RegisterOptions, Servers, WorkloadKind, client

_SEARCH_S = 1.0
_FINAL_PAUSE_S = 0.2
_BACK_SHARE = 0.6  # of changes, where a voter is removed and another one may be
_WRONG_SHARE = 0.1  # ask for what is already so
_ANY_NODE_SHARE = 0.2  # of questions, to a node that need not lead


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipOptions:
    """What clients do. `changers` change voters, `describers` describe the quorum, each about once
    in its interval; the others are those of `RegisterOptions`."""

    changers: int = 2
    describers: int = 2
    change_interval_s: float = 0.4
    describe_interval_s: float = 0.5
    concurrency: int = 20
    rate: float = 0.0
    live_keys: int = 5
    timeout_s: float = 1.0
    most_operations: int = 0  # on registers, before the final reads; 0: until told to stop

    @property
    def registers(self) -> RegisterOptions:
        return RegisterOptions(
            concurrency=self.concurrency,
            rate=self.rate,
            live_keys=self.live_keys,
            timeout_s=self.timeout_s,
            most_operations=self.most_operations,
        )

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides; they concern registers, the changes of voters stay."""
        del settings
        return replace(self, concurrency=concurrency or self.concurrency, rate=rate or self.rate)


@dataclass(slots=True)
class _Away:
    """Voters that a changer here asked to remove, and that are not known to be voters again; at
    most `most` of them. All changers share it."""

    most: int
    voters: set[Voter] = field(default_factory=set)

    @property
    def in_order(self) -> Sequence[Voter]:
        return sorted(self.voters)


class MembershipWorkload:
    """Implements `Workload`."""

    def __init__(
        self, access: Access, history: History, *, seed: int, options: MembershipOptions
    ) -> None:
        self._options = options
        self._seed = seed
        self._nodes = access.driver.nodes
        self._registers = RegisterWorkload(
            access.driver, history, seed=seed, options=options.registers
        )
        self._requests = VoterRequests(access.driver, access.reached, history, self.tally)
        self._finder = LeaderFinder(access.driver)
        self._away = _Away(most=(len(self._nodes) - 1) // 2)
        self._stopped = asyncio.Event()

    @property
    def tally(self) -> Tally:
        return self._registers.tally

    @property
    def acknowledged_writes(self) -> int:
        return self._registers.acknowledged_writes

    @property
    def committed_transactions(self) -> int:
        return self._registers.committed_transactions

    @property
    def is_over(self) -> bool:
        return self._registers.is_over

    @property
    def leader(self) -> int | None:
        return self._registers.leader

    def stop(self) -> None:
        self._registers.stop()
        self._stopped.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._registers.run())
            for number in range(self._options.changers):
                changing = self._change(random.Random(f"{self._seed}:changer:{number}"))
                group.create_task(client(f"changer {number}", changing))
            for number in range(self._options.describers):
                describing = self._describe(random.Random(f"{self._seed}:describer:{number}"))
                group.create_task(client(f"describer {number}", describing))

    async def read_all(self, within_s: float) -> tuple[str, ...]:
        """Every register, and the voters."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        unread = await self._registers.read_all(within_s)
        while await self._requests.describe(await self._leading(), FINAL) is None:
            if loop.time() > deadline:
                return (*unread, "the voters")
            await asyncio.sleep(_FINAL_PAUSE_S)
        return unread

    async def close(self) -> None:
        await self._finder.close()
        await self._registers.close()

    async def _describe(self, rng: random.Random) -> None:
        while not self._stopped.is_set():
            await self._requests.describe(await self._next_node(rng))
            await self._pause(rng, self._options.describe_interval_s)

    async def _change(self, rng: random.Random) -> None:
        while not self._stopped.is_set():
            claim = await self._requests.describe(await self._next_node(rng))
            if claim is not None and not self._stopped.is_set():
                await self._change_one(claim, rng)
            await self._pause(rng, self._options.change_interval_s)

    async def _change_one(self, claim: LeaderClaim, rng: random.Random) -> None:
        """The next change after that answer, from the node that gave it."""
        assert claim.leader is not None, claim
        drawn = _next_change(claim, self._away, rng)
        if drawn is None:
            return
        f, voter = drawn
        if f == REMOVE_VOTER:
            self._away.voters.add(voter)  # before it is so: others choose meanwhile
        changed = await self._requests.change(f, voter, claim.leader)
        if not _is_away(f, changed, was=voter in self._away.voters):
            self._away.voters.discard(voter)

    async def _next_node(self, rng: random.Random) -> int:
        if rng.random() < _ANY_NODE_SHARE:
            return rng.choice(self._nodes)
        return await self._leading()

    async def _leading(self) -> int:
        """The current leader, or, where there is none, the first node, which says so."""
        found = await self._finder.find(_SEARCH_S)
        return found.node if found is not None else self._nodes[0]

    async def _pause(self, rng: random.Random, mean_s: float) -> None:
        """Until then, or until `stop`."""
        try:
            await asyncio.wait_for(self._stopped.wait(), rng.uniform(0.0, 2 * mean_s))
        except TimeoutError:
            return


def _next_change(claim: LeaderClaim, away: _Away, rng: random.Random) -> tuple[str, Voter] | None:
    """None: no voter may be removed, and none is removed."""
    voters = voters_of(claim)
    sound = [each for each in voters if holds_committed(each, claim.voters, claim)]
    may_go = [each for each in sound if each not in away.voters]
    is_free = len(away.voters) < away.most and len(voters) > 1
    if rng.random() < _WRONG_SHARE:
        return ADD_VOTER, rng.choice(voters)
    if away.voters and (not is_free or not may_go or rng.random() < _BACK_SHARE):
        return ADD_VOTER, rng.choice(away.in_order)
    return (REMOVE_VOTER, rng.choice(may_go)) if is_free and may_go else None


def _is_away(f: str, changed: Changed, *, was: bool) -> bool:
    """Whether it counts as removed after a change that ended so."""
    if f == REMOVE_VOTER:
        return changed.outcome is not EventType.FAIL
    is_voter = changed.outcome is EventType.OK or changed.error == ErrorCode.DUPLICATE_VOTER
    return was and not is_voter


MEMBERSHIP = WorkloadKind(
    name="membership",
    options=MembershipOptions,
    history=HistoryKind.REGISTERS,
    servers=Servers.CONTROLLERS,
    make=lambda options, access, history, seed: MembershipWorkload(
        access, history, seed=seed, options=options
    ),
    shrinks=(("live_keys", 1), ("concurrency", 2), ("changers", 1), ("describers", 1)),
)
