"""V-STRICT-VOTE: a node that is no voter by its own log grants no vote, and gets none from nodes
whose logs do not list it (KIP-856, "Leader Election")."""

from chaos.mutations.planted import Planted
from node.ids import Now
from node.raft.votes import Votes
from node.wire.vote import VoteRequest, VoteResponse

_as_it_should = Votes.on_request


def among_its_own_voters(self: Votes, request: VoteRequest, now: Now) -> VoteResponse:
    """Where a change reached only some nodes, neither the new set nor the old one elects a
    leader."""
    voters = self._quorum.voters
    if self._quorum.key in voters and request.candidate in voters:
        return _as_it_should(self, request, now)
    return self._response(granted=False)


PLANTED = Planted(owner=Votes, decision="on_request", wrong=among_its_own_voters)
