"""E-UNRELATED-WIPE: a replica's move to another disk empties the ELR (as Apache Kafka 4.3 does; its
pull request 20716)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller import directory_assignments
from node.controller.decision import Situation
from node.controller.image import Partition, PartitionKey
from node.controller.isr_updates import rules_for
from node.controller.partition_changes import Rules


def as_if_there_were_no_elr(situation: Situation, key: PartitionKey, partition: Partition) -> Rules:
    return replace(rules_for(situation, key, partition), elr=False)


PLANTED = Planted(owner=directory_assignments, decision="rules_for", wrong=as_if_there_were_no_elr)
