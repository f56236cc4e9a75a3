"""Vote: asking for votes and pre-votes, and granting them (KIP-595 Vote, KIP-996).

BeginQuorumEpoch and EndQuorumEpoch: a leader announces itself, or its resignation.

Followers pull, so without BeginQuorumEpoch a new leader could not make itself known, and without
EndQuorumEpoch the others would notice a resignation only by their fetch time-outs (KIP-595).
"""

from dataclasses import replace

from node.errors import ErrorCode
from node.ids import MS, NO_NODE, Endpoint, Epoch, LogPosition, Now, Offset, ReplicaKey, uuid_text
from node.outbox import Outbox
from node.raft import deadlines
from node.raft.common import heed, is_plausible, top_refusal
from node.raft.local_log import LocalLog
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import (
    NOT_MET,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
    voted_in,
)
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)


def grants_pre_vote(role: Role, *, up_to_date: bool) -> bool:
    """Would this role grant the pre-vote? A follower that hears its leader would not."""
    match role:
        case Unattached() | Prospective() | Candidate() | Resigned():
            return up_to_date
        case Follower():
            return up_to_date and not role.fetched
        case Leader():
            return False


def grants_vote(role: Role, candidate: ReplicaKey, *, up_to_date: bool) -> bool:
    """One real vote per epoch, to a log at least as new as ours, and only while no leader is known.

    A repeated request of the candidate it voted for is granted again, after the logs are compared
    again: the candidate may have lost records since its first request (Kafka grants it whatever the
    log). The voter need not remember how new that log was, for its own is enough. Every committed
    record was vouched for, as durable, by a majority that was then in an older epoch. A voter among
    them still holds it: in this epoch its log lost at most what it had not flushed, or what a
    leader of this epoch, which holds everything committed, made it truncate. So no log that lacks a
    committed record gets a majority, in whichever of its lives a candidate collects it.

    The same id with another directory is another replica.
    """
    match role:
        case Unattached() | Prospective():
            is_free = role.leader == NO_NODE if role.voted is None else role.voted == candidate
            return up_to_date and is_free
        case Candidate() | Follower() | Leader() | Resigned():
            return False


class Votes:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        peers: Peers,
        outbox: Outbox,
        cluster_id: str,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._peers = peers
        self._outbox = outbox
        self._cluster_id = cluster_id

    # --- the voter ---

    def on_request(self, request: VoteRequest, now: Now) -> VoteResponse:
        refused = top_refusal(
            request.cluster_id, partition_ok=request.partition_ok, cluster_id=self._cluster_id
        )
        if refused is not None:
            return VoteResponse(top_error=refused)
        quorum = self._quorum
        if not self._is_valid(request):
            return self._response(ErrorCode.INVALID_REQUEST)
        if request.epoch < quorum.epoch:
            return self._response(ErrorCode.FENCED_LEADER_EPOCH)
        if request.epoch > quorum.epoch:
            quorum.to_unattached(request.epoch, now.mono_ns)
        if not self._is_addressed(request):
            return self._response(ErrorCode.INVALID_VOTER_KEY)
        return self._decide(request, now.mono_ns)

    def _decide(self, request: VoteRequest, mono_ns: int) -> VoteResponse:
        quorum = self._quorum
        up_to_date = self.is_up_to_date(request)
        if request.pre_vote:
            return self._response(granted=grants_pre_vote(quorum.role, up_to_date=up_to_date))
        granted = grants_vote(quorum.role, request.candidate, up_to_date=up_to_date)
        if granted and voted_in(quorum.role) is None:
            quorum.grant_vote(request.candidate, mono_ns)
        self._outbox.trace(
            "q.vote",
            candidate=request.candidate.id,
            candidate_dir=uuid_text(request.candidate.directory),
            epoch=request.epoch,
            granted=granted,
            log_end=request.last_offset,
            log_epoch=request.last_epoch,
        )
        return self._response(granted=granted)

    def is_up_to_date(self, request: VoteRequest) -> bool:
        """Is the candidate's log at least as new as ours? Epoch first, then offset."""
        theirs = LogPosition(epoch=Epoch(request.last_epoch), offset=Offset(request.last_offset))
        return theirs >= self._log.end

    def _is_valid(self, request: VoteRequest) -> bool:
        own = self._quorum.epoch
        if not is_plausible(request.candidate.id, request.epoch, own) or request.last_offset < 0:
            return False
        limit = request.epoch if request.pre_vote else request.epoch - 1
        return 0 <= request.last_epoch <= limit

    def _is_addressed(self, request: VoteRequest) -> bool:
        me = self._quorum.key
        if request.voter not in (NO_NODE, me.id):
            return False
        return request.voter_directory in (None, me.directory)

    def _response(
        self, error: ErrorCode = ErrorCode.NONE, *, granted: bool = False
    ) -> VoteResponse:
        quorum = self._quorum
        return VoteResponse(
            error=error,
            leader=quorum.leader,
            epoch=quorum.epoch,
            granted=granted,
            leader_endpoint=quorum.leader_at(),
        )

    # --- the candidate ---

    def on_response(
        self, key: ReplicaKey, request: VoteRequest, response: VoteResponse, now: Now
    ) -> None:
        quorum = self._quorum
        if self._knows_no_pre_vote(request, response):
            quorum.to_candidate(now.mono_ns)
            return
        refused = response.top_error != ErrorCode.NONE
        if refused or not heed(quorum, response, now.mono_ns):
            self._peers.back_off(key, now.mono_ns)
            return
        if response.error != ErrorCode.NONE:
            self._peers.back_off(key, now.mono_ns)
            return
        match quorum.role:
            case Prospective() as role if request.pre_vote and request.epoch == role.epoch:
                ballot = role.ballot.with_vote(key, granted=response.granted)
                quorum.update(replace(role, ballot=ballot))
            case Candidate() as role if not request.pre_vote and request.epoch == role.epoch:
                ballot = role.ballot.with_vote(key, granted=response.granted)
                quorum.update(replace(role, ballot=ballot))
            case _:
                pass  # response to a request of an earlier role

    def _knows_no_pre_vote(self, request: VoteRequest, response: VoteResponse) -> bool:
        """A voter from before KIP-996 cannot answer pre-votes, so we stand directly, as nodes did
        then."""
        role = self._quorum.role
        is_waiting = isinstance(role, Prospective) and request.epoch == role.epoch
        is_unknown = response.top_error == ErrorCode.UNSUPPORTED_VERSION
        return request.pre_vote and is_waiting and is_unknown

    def send(self, mono_ns: int) -> None:
        """Send Vote to every voter that has not answered yet."""
        role = self._quorum.role
        if not isinstance(role, Prospective | Candidate) or not self.may_send():
            return
        for key in role.ballot.unanswered(self._quorum.voters):
            if key.id == self._quorum.key.id:
                continue  # an earlier disk of ours, which no longer exists
            request = self._request_to(key, role)
            if self._peers.may_send(key, request):
                self._peers.send(key, request, mono_ns)

    def may_send(self) -> bool:
        """Only once everything up to the log's end is durable. A candidate that advertised
        unflushed records and lost them would come back as candidate of the same epoch without them.
        It waits rather than advertise less: mostly the newest record decides."""
        return self._log.is_flushed

    def _request_to(self, key: ReplicaKey, role: Prospective | Candidate) -> VoteRequest:
        end = self._log.end
        return VoteRequest(
            cluster_id=self._cluster_id,
            voter=key.id,
            voter_directory=key.known_directory,
            epoch=role.epoch,
            candidate=self._quorum.key,
            last_epoch=end.epoch,
            last_offset=end.offset,
            pre_vote=isinstance(role, Prospective),
        )


# For requests that no honest peer sends. Top level: an error at the partition kills Kafka's leader.
_MALFORMED = QuorumEpochResponse(top_error=ErrorCode.INVALID_REQUEST)


def preferred_candidates(leader: Leader, quorum: Quorum) -> tuple[ReplicaKey, ...]:
    """The other voters, the one that has fetched furthest first."""

    def fetched_to(key: ReplicaKey) -> Offset:
        return leader.replicas.get(key, NOT_MET).end or Offset(-1)

    others = quorum.others
    return tuple(sorted(others, key=lambda key: (-fetched_to(key), key)))


class Epochs:
    def __init__(
        self,
        quorum: Quorum,
        peers: Peers,
        cluster_id: str,
        advertised: tuple[Endpoint, ...],
    ) -> None:
        self._quorum = quorum
        self._advertised = advertised
        self._peers = peers
        self._cluster_id = cluster_id
        self.is_shutting_down = False

    # --- the voter that receives ---

    def on_begin(self, request: BeginQuorumEpochRequest, mono_ns: int) -> QuorumEpochResponse:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        quorum = self._quorum
        quorum.hear_leader(request.epoch, request.leader, mono_ns, self._leader_at(request))
        if request.voter_directory not in (None, quorum.key.directory):
            return self._response(ErrorCode.INVALID_VOTER_KEY)
        if request.voter not in (-1, quorum.key.id):
            return self._response(ErrorCode.INVALID_VOTER_KEY)
        return self._response()

    def on_end(self, request: EndQuorumEpochRequest, mono_ns: int) -> QuorumEpochResponse:
        refused = self._refusal(request)
        if refused is not None:
            return refused
        quorum = self._quorum
        quorum.learn(request.epoch, request.leader, mono_ns, self._leader_at(request))
        if isinstance(quorum.role, Follower) and quorum.role.leader == request.leader:
            wait_ms = deadlines.end_epoch_backoff_ms(
                request.preferred, quorum.key, quorum.timeouts.election_backoff_max_ms
            )
            deadline = mono_ns + wait_ms * MS
            quorum.update(replace(quorum.role, heard_ns=None, fetch_deadline_ns=deadline))
        return self._response()

    def _refusal(
        self, request: BeginQuorumEpochRequest | EndQuorumEpochRequest
    ) -> QuorumEpochResponse | None:
        quorum = self._quorum
        top = top_refusal(
            request.cluster_id, partition_ok=request.partition_ok, cluster_id=self._cluster_id
        )
        if top is not None:
            return QuorumEpochResponse(top_error=top)
        if self.is_shutting_down:
            return self._response(ErrorCode.BROKER_NOT_AVAILABLE)
        if not is_plausible(request.leader, request.epoch, quorum.epoch):
            return _MALFORMED
        if request.epoch < quorum.epoch:
            return self._response(ErrorCode.FENCED_LEADER_EPOCH)
        return None if self._may_lead(request) else _MALFORMED

    def _may_lead(self, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> bool:
        """Kafka's node exits on a second leader in one epoch. Ours rejects such a request, and one
        that names this node itself as another leader: such frames are damaged. A leader that is not
        one of our voters is accepted: its log is newer than ours."""
        quorum = self._quorum
        is_other = request.leader != quorum.key.id
        return is_other and not quorum.contradicts(request.epoch, request.leader)

    def _leader_at(
        self, request: BeginQuorumEpochRequest | EndQuorumEpochRequest
    ) -> Endpoint | None:
        """The leader's endpoint on the voters' own listener, if the request names it."""
        told = request.leader_endpoints
        named = (at for at in told if at.name == self._quorum.listener)
        return next(named, told[0] if told else None)

    def _response(self, error: ErrorCode = ErrorCode.NONE) -> QuorumEpochResponse:
        quorum = self._quorum
        return QuorumEpochResponse(
            error=error,
            leader=quorum.leader,
            epoch=quorum.epoch,
            leader_endpoint=quorum.leader_at(),
        )

    # --- the leader ---

    def on_response(
        self,
        key: ReplicaKey,
        request: BeginQuorumEpochRequest | EndQuorumEpochRequest,
        response: QuorumEpochResponse,
        mono_ns: int,
    ) -> None:
        if (response.top_error, response.error) != (ErrorCode.NONE, ErrorCode.NONE):
            self._peers.back_off(key, mono_ns)
        if response.top_error != ErrorCode.NONE or not heed(self._quorum, response, mono_ns):
            return
        role = self._quorum.role
        accepted = response.error == ErrorCode.NONE
        if accepted and isinstance(role, Resigned) and isinstance(request, EndQuorumEpochRequest):
            self._quorum.update(replace(role, told=role.told | {key}))

    def on_lost(self, key: ReplicaKey, mono_ns: int) -> None:
        """The requests on that connection may be lost: send again when it can be reached."""
        role = self._quorum.role
        if isinstance(role, Leader):
            due = {**role.begin_due_ns, key: mono_ns}
            self._quorum.update(replace(role, begin_due_ns=due))

    def send(self, mono_ns: int) -> None:
        match self._quorum.role:
            case Leader() as role:
                self._send_begin(role, mono_ns)
            case Resigned() as role:
                self._send_end(role, mono_ns)
            case _:
                pass

    def _send_begin(self, role: Leader, mono_ns: int) -> None:
        for key in self._quorum.others:
            if role.begin_due_ns.get(key, 0) > mono_ns:
                continue  # the usual case
            request = BeginQuorumEpochRequest(
                cluster_id=self._cluster_id,
                voter=key.id,
                voter_directory=key.known_directory,
                leader=role.leader,
                epoch=role.epoch,
                leader_endpoints=self._advertised[:1],
            )
            if self._peers.may_send(key, request):
                self._peers.send(key, request, mono_ns)
                due = mono_ns + deadlines.begin_epoch_interval_ns(self._quorum.timeouts)
                role = self._quorum.update(
                    replace(role, begin_due_ns={**role.begin_due_ns, key: due})
                )

    def _send_end(self, role: Resigned, mono_ns: int) -> None:
        for key in self._quorum.others:
            request = EndQuorumEpochRequest(
                cluster_id=self._cluster_id,
                leader=role.leader,
                epoch=role.epoch,
                preferred=role.preferred,
                leader_endpoints=self._advertised[:1],
            )
            if key not in role.told and self._peers.may_send(key, request):
                self._peers.send(key, request, mono_ns)
