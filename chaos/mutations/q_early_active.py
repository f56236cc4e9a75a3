"""Q-EARLY-ACTIVE: the controller is told that it leads before it has reached the end of the log
(KAFKA-17333)."""

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.raft.roles import Leader


def claim_at_once(_self: Controller, _role: Leader) -> bool:
    """It decides from an image that lacks what its log holds."""
    return True


PLANTED = Planted(owner=Controller, decision="may_claim", wrong=claim_at_once)
