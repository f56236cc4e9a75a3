"""P-LAST-REPLICA: the last member of the ISR is waited for, and leads again with what it has left,
though others that lost nothing are eligible (KIP-966, Motivation)."""

from chaos.mutations.planted import Planted
from node.controller import partition_changes
from node.controller.image import Partition
from node.controller.partition_changes import Rules, _Elected
from node.records.topic_schemas import NO_LEADER

_as_it_should = partition_changes._elect


def last_leader_alone(before: Partition, after: Partition, rules: Rules) -> _Elected:
    last = before.last_known_elr
    if after.isr or len(last) != 1:
        return _as_it_should(before, after, rules)
    if rules.may_lead(last[0]):
        return _Elected(leader=last[0], is_unclean=True)
    return _Elected(leader=NO_LEADER)


PLANTED = Planted(owner=partition_changes, decision="_elect", wrong=last_leader_alone)
