"""AddRaftVoter, RemoveRaftVoter and DescribeQuorum (KIP-853, KIP-856), each an operation.

The caller decides which node to ask, and when; this sends the request and records how it ended. A
process serves the next operation, unless the last one ended `info`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.connection import ClientEntry, Driver, LostError, NotSentError, Response
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
