"""E-ELECTION-WIPE: the check for a preferred leader election ignores the ELR, and any change that
it makes empties the ELR (as Apache Kafka before 4.3 does when a replica's directory changes; its
pull request 20716)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller import periodic_elections
from node.controller.decision import Situation
from node.controller.image import Partition, PartitionKey
from node.controller.isr_updates import rules_for
from node.controller.partition_changes import Election, Rules


def as_if_there_were_no_elr(
    situation: Situation, key: PartitionKey, partition: Partition, *, election: Election
) -> Rules:
    return replace(rules_for(situation, key, partition, election=election), elr=False)


PLANTED = Planted(owner=periodic_elections, decision="rules_for", wrong=as_if_there_were_no_elr)
