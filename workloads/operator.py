"""An operator, who changes the voters of a quorum (KIP-853, KIP-856); each request is an operation.

It works as a person does with `kraft-node quorum` or Kafka's own tools: describe the quorum, ask
its leader, and where the answer is lost, or the leader with it, describe and ask again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from checkers.verdict import counted
from workloads.connection import ClientEntry, Driver
from workloads.leader import Survey
from workloads.operation_history import ADD_VOTER, REMOVE_VOTER, History, Tally
from workloads.voter_requests import Voter, VoterRequests, holds_committed, voters_of
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.header import Api

_PAUSE_S = 0.2


class NeverChangedError(Exception):
    """The voters did not become what an operator asked for; the message has the current ones."""


class QuorumRecord(Protocol):
    """Where an operator records what controllers answer to DescribeQuorum."""

    def now_ns(self) -> int: ...

    def add(self, sent_ns: int, claims: Mapping[int, LeaderClaim]) -> None:
        """Answers by node, to a request sent at that time; they have just arrived."""


class Operator:
    """`reached`: the address by which the others reach each node; `answers`: records what they say
    of the quorum."""

    def __init__(
        self,
        driver: Driver,
        reached: Mapping[int, ClientEntry],
        history: History,
        tally: Tally,
        record: QuorumRecord,
    ) -> None:
        self._record = record
        self._requests = VoterRequests(driver, reached, history, tally)
        self._survey = Survey(driver, Api.DESCRIBE_QUORUM, describe_quorum(), read_quorum_response)
        self._surveying = asyncio.Lock()

    def close(self) -> None:
        self._survey.close()

    async def voters(self, within_s: float) -> tuple[Voter, ...]:
        """The voters, from the leader. Raises NeverChangedError where there is no leader."""
        return voters_of(await self._until(_known, within_s, "there is no leader"))

    async def remove(self, voter: Voter, within_s: float) -> tuple[Voter, ...]:
        """Remove a voter, until that is committed and the leader no longer lists it; returns the
        voters. Raises NeverChangedError."""
        acknowledged = False

        async def removed(claim: LeaderClaim) -> bool:
            nonlocal acknowledged
            if acknowledged:
                return voter not in voters_of(claim)
            error = await self._send(REMOVE_VOTER, voter, claim)
            acknowledged = error in (0, ErrorCode.VOTER_NOT_FOUND)
            return False

        return voters_of(await self._until(removed, within_s, f"{voter} is still a voter"))

    async def leading(self, within_s: float) -> tuple[Voter | None, tuple[Voter, ...]]:
        """The voter as which the leader leads, if it is one, and all voters. Of two disks of its
        node it is the one with the longer log. Raises NeverChangedError where there is no
        leader."""
        claim = await self._until(_known, within_s, "there is no leader")
        own = [each for each in claim.voters if each.node == claim.leader]
        if not own:
            return None, voters_of(claim)
        longest = max(own, key=lambda each: each.log_end)
        return Voter(longest.node, longest.directory_id), voters_of(claim)

    async def led_without(self, node: int, within_s: float) -> tuple[int, tuple[Voter, ...]]:
        """The next leader other than `node`, and the voters then. Raises NeverChangedError."""

        async def is_another(claim: LeaderClaim) -> bool:
            return claim.leader != node

        claim = await self._until(is_another, within_s, f"there is no leader but node {node}")
        assert claim.leader is not None, claim
        return claim.leader, voters_of(claim)

    async def request_removal(self, voter: Voter) -> None:
        """Ask once; the history has the outcome. Without a leader nothing is sent."""
        claim = await self._look()
        if claim is not None:
            await self._send(REMOVE_VOTER, voter, claim)

    async def voters_without(self, voter: Voter, within_s: float) -> tuple[Voter, ...]:
        """The voters as soon as the leader no longer lists this one, be that committed or not.
        Raises NeverChangedError."""

        async def gone(claim: LeaderClaim) -> bool:
            return voter not in voters_of(claim)

        return voters_of(await self._until(gone, within_s, f"{voter} is still a voter"))

    async def add(self, voter: Voter, within_s: float, *, alone: bool = True) -> tuple[Voter, ...]:
        """Add a voter, until that is committed and the leader lists it as a voter with all that is
        committed in its log and, unless `alone` is false, as the only one of its node; returns the
        voters. Raises NeverChangedError.

        A voter of that node with another disk is removed: after the new one is added (KIP-856), or
        before, where the leader does not accept two voters of one node (KIP-853).
        """
        acknowledged = False

        async def added(claim: LeaderClaim) -> bool:
            nonlocal acknowledged
            voters = voters_of(claim)
            others = [each for each in voters if each.node == voter.node and each != voter]
            rivals = others if alone else []
            if acknowledged and rivals:
                await self._send(REMOVE_VOTER, rivals[0], claim)
            elif acknowledged:
                return holds_committed(voter, claim.voters, claim)
            elif holds_committed(voter, (*claim.voters, *claim.observers), claim):
                error = await self._send(ADD_VOTER, voter, claim)
                is_voter = error == ErrorCode.DUPLICATE_VOTER and voter in voters
                acknowledged = error == 0 or is_voter
                if error == ErrorCode.DUPLICATE_VOTER and rivals and not is_voter:
                    await self._send(REMOVE_VOTER, rivals[0], claim)
            return False

        return voters_of(await self._until(added, within_s, f"{voter} is not a voter"))

    async def request_addition(self, node: int, within_s: float) -> tuple[Voter, str]:
        """Ask for a node to be made a voter, once the leader reports it as an observer that holds
        all that is committed, and again while the outcome is unknown. Returns the replica, and the
        error by which it is refused for what it is ("": it is done). Raises NeverChangedError.
        """
        asked: Voter | None = None
        refusal = ""

        async def is_answered(claim: LeaderClaim) -> bool:
            nonlocal asked, refusal
            of_node = (each for each in claim.observers if each.node == node)
            asked = next((Voter(each.node, each.directory_id) for each in of_node), asked)
            if asked is None:
                return False
            if asked not in voters_of(claim):
                if not holds_committed(asked, claim.observers, claim):
                    return False
                error = await self._send(ADD_VOTER, asked, claim)
                refusal = error_name(error) if error == ErrorCode.INVALID_REQUEST else ""
                return error == 0 or bool(refusal)
            return holds_committed(asked, claim.voters, claim)

        await self._until(is_answered, within_s, f"node {node} is neither added nor refused")
        assert asked is not None
        return asked, refusal

    async def _until(
        self, done: Callable[[LeaderClaim], Awaitable[bool]], within_s: float, lacking: str
    ) -> LeaderClaim:
        loop = asyncio.get_running_loop()
        deadline, claim = loop.time() + within_s, None
        while loop.time() < deadline:
            claim = await self._look()
            if claim is not None and await done(claim):
                return claim
            await asyncio.sleep(_PAUSE_S)
        raise NeverChangedError(f"after {within_s:g} s {lacking}; {_in_words(claim)}")

    async def _look(self) -> LeaderClaim | None:
        """The answer of the leader with the highest epoch."""
        async with self._surveying:  # a connection carries one request at a time
            sent_ns = self._record.now_ns()
            claims = await self._survey.take()
            self._record.add(sent_ns, claims)
        leading = [each for each in claims.values() if each.leader is not None]
        return max(leading, key=lambda claim: claim.epoch, default=None)

    async def _send(self, f: str, voter: Voter, claim: LeaderClaim) -> int | None:
        """The leader's error, 0 where it is done; None: unknown."""
        assert claim.leader is not None, claim
        return (await self._requests.change(f, voter, claim.leader)).error


async def _known(_: LeaderClaim) -> bool:
    return True


def _in_words(claim: LeaderClaim | None) -> str:
    if claim is None:
        return "no leader answered"
    told = ", ".join(
        f"{each.node}:{each.directory_id} up to {each.log_end}"
        for each in (*claim.voters, *claim.observers)
    )
    voters = counted(len(claim.voters), "voter")
    return (
        f"node {claim.leader}, leader of epoch {claim.epoch}, has {voters}, and then observers: "
        f"{told}; committed up to {claim.high_watermark}"
    )
