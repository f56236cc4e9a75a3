"""Checks of partitions: in the committed metadata log, and on the brokers' disks. KIP-966, KIP-841.

leaders.py              P1, P2, P3: leaders of partitions
leaderless.py           elections, returning brokers (E5, E6), reassignments, replayed records
eligible.py             E1-E4, E7-E9 and E11: eligible leaders
joined_isr.py           P4, P5, P6, P16, E6: members of an ISR, truncations, clean shutdowns
partition_watermarks.py P7, P8, P12, P18: moves of high watermarks
replica_agreement.py    P9, P11: replicas against one another
acknowledged_and_read.py P10, P13, P17, P18: answers to clients, against the disks
recovered.py            E10: unclean recovery elects the best replica
refusals.py             refusals of leaders are true; P8: no record is shown too early
refused_offsets.py      refused offsets and sequences are not the log's; refusals, with the possible
                        states of their partition, for these two
intact_replicas.py      replicas and checkpoints on disks; clean stops of brokers
stray_replicas.py       P18: removed replicas are off the disk; a running broker is not fenced
acknowledged_topics.py  M3, M5, M6: topics, broker epochs and producer ids
as_asked_for.py         topics, configurations and features are as requested
described_partitions.py brokers' answers about partitions
traced_replicas.py      what traces say about replicas, for other checks
traced_actions.py       visible actions of brokers are in their traces
"""
