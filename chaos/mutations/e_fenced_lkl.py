"""E-FENCED-LKL: where no replica is eligible the last known leader is elected, fenced or not
(KAFKA-19522)."""

from chaos.mutations.planted import Planted
from node.controller import partition_changes
from node.controller.image import Partition
from node.controller.partition_changes import Rules, _Elected
from node.records.topic_schemas import NO_LEADER

_as_it_should = partition_changes._elect


def fenced_or_not(before: Partition, after: Partition, rules: Rules) -> _Elected:
    elected = _as_it_should(before, after, rules)
    last = before.last_known_elr
    if elected.leader == NO_LEADER and len(last) == 1 and not (after.isr or after.elr):
        return _Elected(leader=last[0], is_unclean=True)
    return elected


PLANTED = Planted(owner=partition_changes, decision="_elect", wrong=fenced_or_not)
