"""An operator, who changes the voters of a quorum (KIP-853, KIP-856); each request is an operation.

It works as a person does with `kraft-node quorum` or Kafka's own tools: describe the quorum, ask
its leader, and where the answer is lost, or the leader with it, describe and ask again.

AddRaftVoter, RemoveRaftVoter and DescribeQuorum (KIP-853, KIP-856), each an operation.

The caller decides which node to ask, and when; this sends the request and records how it ended. A
process serves the next operation, unless the last one ended `info`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from checkers.history.events import EventType
from checkers.verdict import counted
from workloads.connection import ClientEntry, Driver, LostError, NotSentError, Response
from workloads.leader import Survey
from workloads.operation_history import (
    ADD_VOTER,
    DESCRIBE_QUORUM,
    MAIN,
    REMOVE_VOTER,
    History,
    Tally,
)
from workloads.wire.describe_quorum import (
    LeaderClaim,
    ReplicaClaim,
    add_raft_voter,
    describe_quorum,
    read_quorum_response,
    read_voters_changed,
    remove_raft_voter,
)
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.header import Api

# Errors that prove that nothing was written: AddVoterHandler and RemoveVoterHandler of Apache Kafka
# return them before they append. The last two are returned once no change is pending: what they
# report is committed. All others may follow an append: a leader that resigns does not know the
# outcome of the change.
_NOTHING_DONE = frozenset(
    {
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.DUPLICATE_VOTER,
        ErrorCode.VOTER_NOT_FOUND,
    }
)
_LISTENER = "CONTROLLER"
_QUORUM = "quorum"  # the key of a DescribeQuorum
_LEADER_WAITS_MS = 2_000
_ANSWER_S = 4.0
_DESCRIBED_S = 1.0
_CONNECT_S = 1.0


@dataclass(frozen=True, slots=True, order=True)
class Voter:
    """A node with its disk; `directory_id` is in Kafka's text form."""

    node: int
    directory_id: str

    def __str__(self) -> str:
        return f"{self.node}:{self.directory_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """How a change ended; `error` is Kafka's, 0 if it is done, None without an answer."""

    outcome: EventType
    error: int | None = None
    told: str | None = None  # why it did not succeed, in words


class VoterRequests:
    """`reached`: the address by which the others reach each node that may be added."""

    def __init__(
        self, driver: Driver, reached: Mapping[int, ClientEntry], history: History, tally: Tally
    ) -> None:
        self._driver = driver
        self._reached = reached
        self._history = history
        self._tally = tally
        self._idle: list[int] = []  # processes without an operation

    async def change(self, f: str, voter: Voter, node: int) -> Changed:
        """Ask a node, the supposed leader, for `ADD_VOTER` or `REMOVE_VOTER`."""
        process = self._begin(f, str(voter), node, MAIN)
        changed = await self._changed(f, voter, node)
        self._end(process, changed.outcome, None, changed.told)
        return changed

    async def describe(self, node: int, phase: str = MAIN) -> LeaderClaim | None:
        """A node's answer to DescribeQuorum; None unless it answers as the leader."""
        process = self._begin(DESCRIBE_QUORUM, _QUORUM, node, phase)
        claim = await self._described(node)
        if isinstance(claim, str):
            self._end(process, EventType.FAIL, None, claim)
            return None
        if claim.leader is None:
            self._end(process, EventType.FAIL, None, error_name(claim.error))
            return None
        voters = tuple(map(str, voters_of(claim)))
        self._end(process, EventType.OK, claim.epoch, None, voters)
        return claim

    def _begin(self, f: str, key: str, node: int, phase: str) -> int:
        process = self._idle.pop() if self._idle else self._history.new_process()
        self._tally.invoke()
        self._history.invoke(process, f, key, None, node, phase)
        return process

    def _end(
        self,
        process: int,
        outcome: EventType,
        value: int | None,
        error: str | None,
        voters: tuple[str, ...] | None = None,
    ) -> None:
        self._tally.complete(outcome)
        self._history.complete(process, outcome, value, error, voters)
        if outcome is not EventType.INFO:  # else its operation stays open
            self._idle.append(process)

    async def _changed(self, f: str, voter: Voter, node: int) -> Changed:
        api, body = self._request(f, voter)
        try:
            error = await self._send(node, api, body, _ANSWER_S, read_voters_changed)
        except NotSentError as trouble:
            return Changed(outcome=EventType.FAIL, told=str(trouble))
        except LostError as trouble:
            return Changed(outcome=EventType.INFO, told=str(trouble))
        if not error:
            return Changed(outcome=EventType.OK, error=0)
        surely = EventType.FAIL if error in _NOTHING_DONE else EventType.INFO
        return Changed(outcome=surely, error=error, told=error_name(error))

    async def _described(self, node: int) -> LeaderClaim | str:
        """The answer, or why there is none; it changes nothing."""
        try:
            return await self._send(
                node, Api.DESCRIBE_QUORUM, describe_quorum(), _DESCRIBED_S, read_quorum_response
            )
        except (NotSentError, LostError) as trouble:
            return str(trouble)

    async def _send(
        self, node: int, api: Api, body: bytes, within_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        """On its own connection. Raises NotSentError, LostError: an open connection too may be
        reset before anything is sent."""
        connection = await self._driver.connect(node, _CONNECT_S)
        try:
            return await connection.send(api, body, within_s, read)
        finally:
            connection.close()

    def _request(self, f: str, voter: Voter) -> tuple[Api, bytes]:
        if f == REMOVE_VOTER:
            return Api.REMOVE_RAFT_VOTER, remove_raft_voter(voter.node, voter.directory_id)
        assert f == ADD_VOTER, f
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


def holds_committed(voter: Voter, replicas: tuple[ReplicaClaim, ...], claim: LeaderClaim) -> bool:
    """Whether it is among these, and its log has all that is committed."""
    if claim.high_watermark < 0:
        return False  # the leader does not know the high watermark
    return any(
        Voter(each.node, each.directory_id) == voter and each.log_end >= claim.high_watermark
        for each in replicas
    )


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
