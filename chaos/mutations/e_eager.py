"""E-EAGER: a member of the ELR is elected although a replica in the ISR may lead, and is then alone
in the ISR (KIP-966, "Leader election")."""

from chaos.mutations.planted import Planted
from node.controller import partition_changes
from node.controller.image import Partition
from node.controller.partition_changes import Rules, _Elected

_as_it_should = partition_changes._elect


def elr_first(before: Partition, after: Partition, rules: Rules) -> _Elected:
    """Only where a leader has to be elected."""
    elected = _as_it_should(before, after, rules)
    if elected.leader != before.leader:
        for broker in after.elr:
            if rules.may_lead(broker):
                return _Elected(leader=broker)
    return elected


PLANTED = Planted(owner=partition_changes, decision="_elect", wrong=elr_first)
