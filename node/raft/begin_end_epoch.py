"""BeginQuorumEpoch and EndQuorumEpoch: a leader announces itself, or its resignation.

Followers pull, so without BeginQuorumEpoch a new leader could not make itself known, and without
EndQuorumEpoch the others would notice a resignation only by their fetch time-outs (KIP-595).
"""

from dataclasses import replace

from node.errors import ErrorCode
from node.ids import MS, Endpoint, Offset, ReplicaKey
from node.raft import deadlines
from node.raft.common import heed, is_plausible, top_refusal
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.roles import NOT_MET, Follower, Leader, Resigned
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
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
