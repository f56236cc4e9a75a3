"""How a node that is to become a voter shows that it can vote.

What its Fetches tell (`node.raft.replicas`) is where it fetches from, and that it has a directory
id: brokers do that too. So the leader asks it where the others will ask it for its vote, until it
answers, or until whoever wants to add it waits no more:

    ApiVersions       serves it what voters ask of one another? (KIP-853, AddVoter; KIP-856,
                      "Compatibility, Deprecation, and Migration Plan") No broker does.
    BeginQuorumEpoch  is it the very replica, by its id and its directory id, that answers there?
                      Kafka asks that of nobody: with another node's address it adds a voter whose
                      vote nobody will ever get.
"""

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import ReplicaKey
from node.raft.peers import Peers, Sent
from node.raft.quorum import Quorum
from node.raft.voter_changes import VoterChanges
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.quorum_epoch import BeginQuorumEpochRequest, QuorumEpochResponse

_WHAT_IS_SERVED = ApiVersionsRequest()


class NewVoters:
    def __init__(
        self,
        quorum: Quorum,
        peers: Peers,
        changes: VoterChanges,
        cluster_id: str,
        advertised: tuple[Endpoint, ...],
    ) -> None:
        self._quorum = quorum
        self._peers = peers
        self._changes = changes
        self._cluster_id = cluster_id
        self._advertised = advertised
        self._sent_to: dict[ReplicaKey, Endpoint] = {}

    def send(self, mono_ns: int) -> None:
        for key, unproven in self._changes.unproven().items():
            request = self._lead(key) if unproven.has_told else _WHAT_IS_SERVED
            if self._peers.may_send(key, request):
                self._sent_to[key] = unproven.at
                self._peers.send_at(key, unproven.at, request, mono_ns)

    def _lead(self, key: ReplicaKey) -> Sent:
        """As it will hear it once it votes."""
        return BeginQuorumEpochRequest(
            cluster_id=self._cluster_id,
            voter=key.id,
            voter_directory=key.known_directory,
            leader=self._quorum.key.id,
            epoch=self._quorum.epoch,
            leader_endpoints=self._advertised[:1],
        )

    def is_asked(self, key: ReplicaKey) -> bool:
        """Is what that one is told a question for who does not vote?"""
        return key in self._sent_to and key not in self._quorum.voters

    def on_response(self, key: ReplicaKey, response: ApiVersionsResponse) -> None:
        self._changes.on_versions(key, self._sent_to[key], response)

    def on_acknowledged(self, key: ReplicaKey, response: QuorumEpochResponse, mono_ns: int) -> None:
        """Of one that does not vote: what it says of epochs and leaders is not heeded."""
        is_itself = ErrorCode.NONE is response.top_error is response.error
        if is_itself or response.error is ErrorCode.INVALID_VOTER_KEY:
            self._changes.on_acknowledged(key, self._sent_to[key], is_itself=is_itself)
        else:
            self._peers.back_off(key, mono_ns)
