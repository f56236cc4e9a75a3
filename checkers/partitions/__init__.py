"""Checks of partitions: in the committed metadata log, and on the brokers' disks. KIP-966, KIP-841.

partition_watermarks.py  P7, P8, P12: how leaders' high watermarks move; P18: high watermarks do
                         not wait for brokers that are gone
joined_isr.py            P6, P16: the ISR that a leader uses, and what followers truncate; P4, P5:
                         replicas join an ISR by proof; E6: a broker that registers as cleanly shut
                         down had said so before
traced_replicas.py       what brokers' traces say about replicas, for these three; and so are
                         followers' truncations
traced_deeds.py          visible actions of brokers are in their traces
leaders.py               P1, P2, P3: leaders of partitions
leaderless.py            an eligible broker is elected within a bound; new replicas are in sync
                         before old ones go; P18: reassignments end; E5, E6: brokers that return
                         after a possible loss; M1: what nodes replay is what the log holds
eligible.py              E1-E4, E7-E9 and E11: eligible leaders
served.py                P17: no acknowledgement by too small an ISR; P10, P13, P18: answers to
                         clients, against the disks
refusals.py              refusals of leaders are justified; P8: no record is shown that too few
                         replicas have
refused_offsets.py       offsets and sequences that leaders refuse are not the log's
refused.py               refusals, and what may have been true then, for these two
held.py                  P9, P11: replicas against one another
intact_replicas.py       replicas on disks can be read, and checkpoints contradict nothing; a
                         broker that stops in good order keeps its high watermarks
stray_replicas.py        P18: a running broker is not fenced; replicas taken from a broker are off
                         its disk
acknowledged_topics.py   M3, M5: broker epochs and producer ids; M6, and that deleted topics are
                         gone
as_asked_for.py          topics, configurations and features are what was asked for; every broker
                         knows the existing topics, and no others
told_partitions.py       brokers describe partitions as the metadata log has or had them
"""
