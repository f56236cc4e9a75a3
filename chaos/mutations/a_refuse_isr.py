"""A-REFUSE-ISR: a controller refuses the third member of any ISR as ineligible: it counts instead
of looking at the registrations (KIP-841, KIP-903)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.controller import isr_proposals
from node.controller.image import Image
from node.wire.alter_partition import IsrMember

_as_it_should = isr_proposals._are_eligible


def if_two(image: Image, isr: Sequence[IsrMember]) -> bool:
    return len(isr) < 3 and _as_it_should(image, isr)


PLANTED = Planted(owner=isr_proposals, decision="_are_eligible", wrong=if_two)
