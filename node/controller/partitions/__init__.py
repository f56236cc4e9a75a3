"""Topics and their partitions: what the active controller decides of replicas, ISRs and leaders.

topics.py                 CreateTopics and DeleteTopics
creation.py               CreatePartitions; placement of new replicas
changes.py                one partition: its ISR, its ELR, its leader (KIP-966)
isr_proposals.py          AlterPartition: a leader proposes an ISR
directory_assignments.py  AssignReplicasToDirs: on which disk a replica is (KIP-858)
reassignments.py          AlterPartitionReassignments (KIP-455)
elections.py              ElectLeaders, and periodic elections
unclean_recovery.py       asks the replicas of a partition that lost all eligible leaders
unclean_elections.py      when that is done, which answers count, which replica is elected
"""
