"""Checks of partitions: in the committed metadata log, and on the brokers' disks. KIP-966, KIP-841.

partition_watermarks.py  P7, P8, P12: how leaders' high watermarks move
kept_up.py               P18: high watermarks wait for nobody who is gone
isr_and_cuts.py          P6, P16: the ISR that a leader goes by, and what followers cut off
joined_isr.py            P4, P5: who joins an ISR, by what it has proved
vouched.py               E6: who says that it was shut down cleanly had vouched for its logs
traced_replicas.py       what brokers' traces tell of replicas, for these three
traced_deeds.py          what shows of brokers is in their traces
traced_cuts.py           and so is what followers cut off
leaders.py               P1, P2, P3: who leads, of whom
leaderless.py            who may lead is elected within a bound
eligible.py              E1-E4, E7-E9 and E11: who may lead
reassigned.py            replicas that are moved are in sync before others go; P18: they are moved
registrations.py         E5, E6: who comes back after it may have lost something
min_isr.py               P17: nothing is acknowledged by too few
refusals.py              what leaders refuse, they have to
refused_offsets.py       and offsets and sequences that they refuse are not the log's
refused.py               what was refused, and what may have been so then, for these two
shown.py                 P8: nothing is shown that too few have
served.py                P10, P13, P18: what clients were told, against the disks
held.py                  P9, P11: replicas against one another
intact_replicas.py       replicas on disks can be read, and checkpoints contradict nothing
marks_kept.py            who stops in good order leaves the high watermarks that it knew
kept_unfenced.py         P18: a broker that goes on is not fenced
stray_replicas.py        what was taken from a broker is off its disk
replayed.py              M1: what nodes replay is what the log holds
handed_out.py            M3, M5: broker epochs and producer ids
acknowledged_topics.py   M6, and that deleted topics are gone
as_asked_for.py          topics, configurations and features are what was asked for
known_topics.py          every broker knows the topics that there are, and no others
told_partitions.py       what brokers tell of partitions is what the metadata log has or had
"""
