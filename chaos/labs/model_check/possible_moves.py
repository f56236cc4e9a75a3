"""The possible moves of a quorum: each a whole exchange between replicas, or a failure of one."""

from dataclasses import dataclass

from chaos.labs.model_check.replica import LiveReplica
from chaos.labs.model_check.setting import (
    CLUSTER_ID,
    OPERATOR_WAITS_MS,
    endpoint,
    name,
)
from node.errors import ErrorCode
from node.ids import NodeId, ReplicaKey
from node.outbox import RequestTo
from node.raft.roles import Candidate, Follower, Leader, Prospective, Role
from node.raft.voter_forms import VoterChange
from node.wire.api_versions import SUPPORTED_FEATURES, ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import API_RANGES, OutgoingRequest, PeerRequest, Response
from node.wire.fetch import FetchRequest
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse, VoteRequest

_AS_WE_SERVE = ApiVersionsResponse(
    error=ErrorCode.NONE, apis=API_RANGES, supported=SUPPORTED_FEATURES
)
_WAITS = 6  # of a leader that was cut off, until it is a candidate again
_ROUNDS = 2  # of pre-votes, and of votes


@dataclass(frozen=True, slots=True)
class Elect:
    """It waits until it is a candidate, and these vote for it, which have lost their leader."""

    node: NodeId
    by: tuple[NodeId, ...]
    crashes: bool = False  # at once: what it wrote as a leader is not durable

    @property
    def involved(self) -> tuple[NodeId, ...]:
        return (self.node, *self.by)

    def make(self, replicas: list[LiveReplica]) -> bool:
        candidate, *voters = replicas
        candidate.reconnect()
        if not _stands(candidate) or not _wins(candidate, voters):
            return False
        if self.crashes:
            replicas[0] = candidate.restarted()
        return True

    def __str__(self) -> str:
        by = ", ".join(f"n{each}" for each in self.by)
        voted = f", and {by} vote{'s' * (len(self.by) == 1)} for it" if by else ""
        crash = ", and it loses power before that is durable" if self.crashes else ""
        return f"n{self.node} becomes a candidate{voted}{crash}"


def _stands(candidate: LiveReplica) -> bool:
    for _ in range(_WAITS):
        if isinstance(candidate.role, Prospective | Candidate):
            return True
        epoch = candidate.role.epoch
        candidate.wait()
        if isinstance(candidate.role, Leader) and candidate.role.epoch > epoch:
            return True  # a single voter
    return False


def _wins(candidate: LiveReplica, voters: list[LiveReplica]) -> bool:
    for voter in voters:
        if isinstance(voter.role, Follower):
            voter.wait()
    for _ in range(_ROUNDS):
        for voter in voters:
            for ask in candidate.asks_of(voter.key.id):
                if isinstance(ask.request, VoteRequest):
                    _exchange(candidate, voter, ask)
    return isinstance(candidate.role, Leader)


def _exchange(asking: LiveReplica, asked: LiveReplica, ask: RequestTo) -> None:
    asking.respond(ask, _answer(asked, ask))


def _answer(asked: LiveReplica, ask: RequestTo) -> Response:
    assert isinstance(ask.request, PeerRequest), "no quorum asks that"
    answer = asked.request(ask.request)
    assert answer is not None, f"{ask.request} waits"
    return answer


@dataclass(frozen=True, slots=True)
class Fetch:
    """One Fetch; before it, a replica that does not follow that leader yet learns of it."""

    node: NodeId
    leader: NodeId
    answered: bool = True  # else the answer is lost

    @property
    def involved(self) -> tuple[NodeId, ...]:
        return (self.node, self.leader)

    def make(self, replicas: list[LiveReplica]) -> bool:
        follower, leader = replicas
        if not isinstance(leader.role, Leader) or follower.role.epoch > leader.role.epoch:
            return False
        if not _hears(follower, leader):
            return False
        follower.reconnect()
        for ask in follower.asks_of(self.leader):
            if isinstance(ask.request, FetchRequest):
                answer = _answer(leader, ask)
                if self.answered:
                    follower.respond(ask, answer)
                return True
        return False

    def __str__(self) -> str:
        lost = "" if self.answered else ", and the answer is lost"
        return f"n{self.node} fetches from n{self.leader}{lost}"


def _follows(role: Role, leader: LiveReplica) -> bool:
    is_follower = isinstance(role, Follower) and role.leader == leader.key.id
    return is_follower and role.epoch == leader.role.epoch


def _hears(follower: LiveReplica, leader: LiveReplica) -> bool:
    """A voter learns of it by BeginQuorumEpoch, an observer by a refused Fetch."""
    if _follows(follower.role, leader):
        return True
    leader.reconnect()
    for ask in leader.asks_of(follower.key.id):
        if isinstance(ask.request, BeginQuorumEpochRequest):
            _exchange(leader, follower, ask)
            return _follows(follower.role, leader)
    follower.reconnect()
    for ask in follower.asks_of(leader.key.id):
        if isinstance(ask.request, FetchRequest):
            _exchange(follower, leader, ask)
            break
    return _follows(follower.role, leader)


@dataclass(frozen=True, slots=True)
class ChangeVoters:
    """An operator asks the leader to add or remove a voter, and it is written at once. (A request
    that has to wait equals a later one. Before it is durable no other node sees it.)"""

    leader: NodeId
    voter: ReplicaKey
    adds: bool

    @property
    def involved(self) -> tuple[NodeId, ...]:
        return (self.leader,)

    def make(self, replicas: list[LiveReplica]) -> bool:
        (leader,) = replicas
        before = len(leader.log.batches)
        leader.change(self._request())
        for _ in (ApiVersionsRequest, BeginQuorumEpochRequest):
            for ask in leader.asks_of(self.voter.id):
                shown = self._shown(leader, ask.request)
                if shown is not None:
                    leader.respond(ask, shown)
        return len(leader.log.batches) > before

    def _shown(self, leader: LiveReplica, asked: OutgoingRequest) -> Response | None:
        """The replica to be added shows that it can vote."""
        match asked:
            case ApiVersionsRequest():
                return _AS_WE_SERVE
            case BeginQuorumEpochRequest() if self.voter not in leader.raft.quorum.voters:
                return QuorumEpochResponse(leader=asked.leader, epoch=asked.epoch)
            case _:
                return None

    def _request(self) -> VoterChange:
        if not self.adds:
            return RemoveVoterRequest(cluster_id=CLUSTER_ID, voter=self.voter)
        return AddVoterRequest(
            cluster_id=CLUSTER_ID,
            voter=self.voter,
            endpoints=(endpoint(self.voter.id),),
            timeout_ms=OPERATOR_WAITS_MS,
        )

    def __str__(self) -> str:
        return f"n{self.leader} writes: {'add' if self.adds else 'remove'} {name(self.voter)}"


@dataclass(frozen=True, slots=True)
class Crash:
    """Power fails, and it starts again from what was durable."""

    node: NodeId

    @property
    def involved(self) -> tuple[NodeId, ...]:
        return (self.node,)

    def make(self, replicas: list[LiveReplica]) -> bool:
        replicas[0] = replicas[0].restarted()
        return True

    def __str__(self) -> str:
        return f"n{self.node} loses power and starts again"


@dataclass(frozen=True, slots=True)
class ReplaceDisk:
    """It loses everything, and starts again with an empty disk."""

    node: NodeId

    @property
    def involved(self) -> tuple[NodeId, ...]:
        return (self.node,)

    def make(self, replicas: list[LiveReplica]) -> bool:
        replicas[0] = replicas[0].replaced()
        return True

    def __str__(self) -> str:
        return f"the disk of n{self.node} is replaced"


Move = Elect | Fetch | ChangeVoters | Crash | ReplaceDisk


def make(move: Move, replicas: list[LiveReplica]) -> bool:
    """Make the move, in place. False: it is impossible. Afterwards all writes of the participants
    are durable."""
    if not move.make(replicas):
        return False
    for replica in replicas:
        replica.flush()
    return True


def loses_power(move: Move) -> bool:
    return isinstance(move, Crash) or (isinstance(move, Elect) and move.crashes)
