"""An operator, who changes the voters of a quorum (KIP-853, KIP-856): each request is an operation.

As somebody does with `kraft-node quorum` or Kafka's own tools: look who votes, ask the leader, and
where the answer is lost, or the leader with it, look and ask again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from checkers.counted import counted
from checkers.history.events import EventType
from workloads.connection import ClientEntry, Driver, LostError, NotSentError
from workloads.operation_history import ADD_VOTER, MAIN, REMOVE_VOTER, History
from workloads.survey import Survey
from workloads.tally import Tally
from workloads.wire.describe_quorum import (
    LeaderClaim,
    ReplicaClaim,
    describe_quorum,
    read_quorum_answer,
)
from workloads.wire.header import Api
from workloads.wire.raft_voters import add_raft_voter, read_voters_changed, remove_raft_voter

DUPLICATE_VOTER, VOTER_NOT_FOUND = 126, 127
# Errors that prove that nothing was written: AddVoterHandler and RemoveVoterHandler of Apache Kafka
# give them before they append (UNSUPPORTED_VERSION, INVALID_REQUEST, INCONSISTENT_CLUSTER_ID). The
# last two come once no change is pending: what they tell of is committed. All others may come after
# it: a leader that loses its office does not know what becomes of the change.
_NOTHING_DONE = frozenset({35, 42, 104, DUPLICATE_VOTER, VOTER_NOT_FOUND})
_LISTENER = "CONTROLLER"
_LEADER_WAITS_MS = 2_000
_ANSWER_S = 4.0
_CONNECT_S = 1.0
_PAUSE_S = 0.2


class NeverChangedError(Exception):
    """The voters did not become what an operator asked for; the message says how they stand."""


@dataclass(frozen=True, slots=True, order=True)
class Voter:
    """A node with its disk; `directory_id` in Kafka's text form."""

    node: int
    directory_id: str

    def __str__(self) -> str:
        return f"{self.node}:{self.directory_id}"


class QuorumRecord(Protocol):
    """Where an operator writes down what controllers say of the quorum."""

    def now_ns(self) -> int: ...

    def add(self, asked_ns: int, claims: Mapping[int, LeaderClaim]) -> None:
        """Answers by node, to a question that was asked then; they have just come."""


class Operator:
    """`reached`: where each controller is reached by the others; `answers`: what they say to it of
    the quorum."""

    def __init__(
        self,
        driver: Driver,
        reached: Mapping[int, ClientEntry],
        history: History,
        tally: Tally,
        answers: QuorumRecord,
    ) -> None:
        self._answers = answers
        self._driver = driver
        self._reached = reached
        self._history = history
        self._tally = tally
        self._survey = Survey(driver, Api.DESCRIBE_QUORUM, describe_quorum(), read_quorum_answer)
        self._asking = asyncio.Lock()
        self._idle: list[int] = []  # processes without an operation

    def close(self) -> None:
        self._survey.close()

    async def voters(self, within_s: float) -> tuple[Voter, ...]:
        """Who votes, as the leader tells it. Raises NeverChangedError where nobody leads."""
        return voters_of(await self._until(_known, within_s, "nobody leads"))

    async def remove(self, voter: Voter, within_s: float) -> tuple[Voter, ...]:
        """Until that is committed, and the leader tells that it votes no more; who votes then.
        Raises NeverChangedError."""
        acknowledged = False

        async def removed(claim: LeaderClaim) -> bool:
            nonlocal acknowledged
            if acknowledged:
                return voter not in voters_of(claim)
            acknowledged = await self._ask(REMOVE_VOTER, voter, claim) in (0, VOTER_NOT_FOUND)
            return False

        return voters_of(await self._until(removed, within_s, f"{voter} still votes"))

    async def leading(self, within_s: float) -> tuple[Voter | None, tuple[Voter, ...]]:
        """As which voter the leader leads, if as one, and who votes. Of two disks of its own it has
        the longer log. Raises NeverChangedError where nobody leads."""
        claim = await self._until(_known, within_s, "nobody leads")
        own = [each for each in claim.voters if each.node == claim.leader]
        if not own:
            return None, voters_of(claim)
        longest = max(own, key=lambda each: each.log_end)
        return Voter(longest.node, longest.directory_id), voters_of(claim)

    async def led_without(self, node: int, within_s: float) -> tuple[int, tuple[Voter, ...]]:
        """Which other node leads, once one does, and who votes then. Raises NeverChangedError."""

        async def is_another(claim: LeaderClaim) -> bool:
            return claim.leader != node

        claim = await self._until(is_another, within_s, f"nobody leads but node {node}")
        assert claim.leader is not None, claim
        return claim.leader, voters_of(claim)

    async def ask_to_remove(self, voter: Voter) -> None:
        """Once; what comes of it is in the history. Nobody is asked where nobody leads."""
        claim = await self._look()
        if claim is not None:
            await self._ask(REMOVE_VOTER, voter, claim)

    async def voters_without(self, voter: Voter, within_s: float) -> tuple[Voter, ...]:
        """Who votes as soon as the leader tells that this one does not, be that committed or not.
        Raises NeverChangedError."""

        async def gone(claim: LeaderClaim) -> bool:
            return voter not in voters_of(claim)

        return voters_of(await self._until(gone, within_s, f"{voter} still votes"))

    async def add(self, voter: Voter, within_s: float, *, alone: bool = True) -> tuple[Voter, ...]:
        """Until that is committed, and the leader tells that it is a voter that holds all that is
        committed, and unless `alone` is false the only one of its node; who votes then. Raises
        NeverChangedError.

        A voter of that node with another disk is removed: after the new one is added (KIP-856), or
        before, where the leader does not take two voters of one node (KIP-853).
        """
        acknowledged = False

        async def added(claim: LeaderClaim) -> bool:
            nonlocal acknowledged
            voters = voters_of(claim)
            others = [each for each in voters if each.node == voter.node and each != voter]
            rivals = others if alone else []
            if acknowledged and rivals:
                await self._ask(REMOVE_VOTER, rivals[0], claim)
            elif acknowledged:
                return _has_all(voter, claim.voters, claim)
            elif _has_all(voter, (*claim.voters, *claim.observers), claim):
                error = await self._ask(ADD_VOTER, voter, claim)
                is_voter = error == DUPLICATE_VOTER and voter in voters
                acknowledged = error == 0 or is_voter
                if error == DUPLICATE_VOTER and rivals and not is_voter:
                    await self._ask(REMOVE_VOTER, rivals[0], claim)
            return False

        return voters_of(await self._until(added, within_s, f"{voter} does not vote"))

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
        """What the leader of the highest epoch says."""
        async with self._asking:  # a connection takes one question at a time
            asked_ns = self._answers.now_ns()
            claims = await self._survey.ask()
            self._answers.add(asked_ns, claims)
        leading = [each for each in claims.values() if each.leader is not None]
        return max(leading, key=lambda claim: claim.epoch, default=None)

    async def _ask(self, f: str, voter: Voter, claim: LeaderClaim) -> int | None:
        """The leader's error, 0 where it is done; None: nobody knows."""
        assert claim.leader is not None, claim
        process = self._idle.pop() if self._idle else self._history.new_process()
        self._tally.invoke()
        self._history.invoke(process, f, str(voter), None, claim.leader, MAIN)
        outcome, error, told = await self._told(f, voter, claim.leader)
        self._tally.complete(outcome)
        self._history.complete(process, outcome, None, told)
        if outcome is not EventType.INFO:  # else its operation is open for ever
            self._idle.append(process)
        return error

    async def _told(
        self, f: str, voter: Voter, leader: int
    ) -> tuple[EventType, int | None, str | None]:
        try:
            connection = await self._driver.connect(leader, _CONNECT_S)
        except NotSentError as trouble:
            return EventType.FAIL, None, str(trouble)
        try:
            api, body = self._request(f, voter)
            error = await connection.ask(api, body, _ANSWER_S, read_voters_changed)
        except LostError as trouble:
            return EventType.INFO, None, str(trouble)
        finally:
            connection.close()
        if not error:
            return EventType.OK, 0, None
        surely = EventType.FAIL if error in _NOTHING_DONE else EventType.INFO
        return surely, error, f"error-{error}"

    def _request(self, f: str, voter: Voter) -> tuple[Api, bytes]:
        if f == REMOVE_VOTER:
            return Api.REMOVE_RAFT_VOTER, remove_raft_voter(voter.node, voter.directory_id)
        at = self._reached[voter.node]
        return Api.ADD_RAFT_VOTER, add_raft_voter(
            voter.node,
            voter.directory_id,
            listener=_LISTENER,
            host=at.host,
            port=at.port,
            timeout_ms=_LEADER_WAITS_MS,
        )


def voters_of(claim: LeaderClaim) -> tuple[Voter, ...]:
    return tuple(sorted(Voter(each.node, each.directory_id) for each in claim.voters))


async def _known(_: LeaderClaim) -> bool:
    return True


def _has_all(voter: Voter, replicas: tuple[ReplicaClaim, ...], claim: LeaderClaim) -> bool:
    """Whether it is among these, and its log holds all that is committed."""
    if claim.high_watermark < 0:
        return False  # the leader does not know what is
    return any(
        Voter(each.node, each.directory_id) == voter and each.log_end >= claim.high_watermark
        for each in replicas
    )


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
