"""Q-STALE-REVERT: a deposed controller keeps the effects of writes that were never committed
(KAFKA-20839)."""

from chaos.mutations.planted import Planted
from node.controller.controller import Claim, Controller
from node.controller.image import Image


def keep_the_claims_image(_self: Controller, claim: Claim) -> Image:
    """When it leads again, its readers see values that are in nobody's log."""
    return claim.image


PLANTED = Planted(owner=Controller, decision="reverted", wrong=keep_the_claims_image)
