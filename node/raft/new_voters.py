"""ApiVersions, as a leader asks it of a node that is to become a voter.

What its Fetches tell (`node.raft.replicas`) is where it fetches from, and that it has a directory
id. That it is reached where the others will ask it for its vote, and serves what they will ask, is
known once it answered there (KIP-853, AddVoter; KIP-856, "Compatibility, Deprecation, and Migration
Plan"). It is asked until it answers, or until whoever wants to add it waits no more.
"""

from node.endpoint import Endpoint
from node.ids import ReplicaKey
from node.raft.peers import Peers
from node.raft.voter_changes import VoterChanges
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse

_WHAT_IS_SERVED = ApiVersionsRequest()


class NewVoters:
    def __init__(self, peers: Peers, changes: VoterChanges) -> None:
        self._peers = peers
        self._changes = changes
        self._sent_to: dict[ReplicaKey, Endpoint] = {}

    def send(self, mono_ns: int) -> None:
        for key, at in self._changes.unprobed().items():
            self._send(key, at, mono_ns)

    def on_response(self, key: ReplicaKey, response: ApiVersionsResponse) -> None:
        self._changes.on_versions(key, self._sent_to[key], response)

    def _send(self, key: ReplicaKey, at: Endpoint, mono_ns: int) -> None:
        if self._peers.may_send(key, _WHAT_IS_SERVED):
            self._sent_to[key] = at
            self._peers.send_at(key, at, _WHAT_IS_SERVED, mono_ns)
