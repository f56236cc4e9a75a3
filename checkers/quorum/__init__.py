"""Checks of the quorum: its leaders, its log, what is committed. Raft, KIP-595, KIP-996.

elections.py          Q1, Q2, Q17: epochs rise, one leader each, never led twice; Q3: one vote per
                      epoch; Q4: a majority elected
origins.py            an epoch begins with a candidate; a leader that is heard is kept
read_confirmation.py  a node that answers a read leads; an active controller does not deny it
log_matching.py       followers get what the leader appends; the first record of an epoch is its
                      LeaderChange; Q5, Q11, Q12: logs agree where they must
committed_kept.py     what a node appends begins where its log ends; each voter keeps what is
                      committed, by disks and answers
disks.py              disks are their nodes', know their epochs, and can be read; no holes on a
                      disk, of the metadata or of partitions
watermarks.py         Q6, Q7, Q8, Q10, Q13: high watermarks, and truncations
snapshots.py          Q14, Q15, Q16, M2: what snapshots cover
stored_snapshots.py   Q15 and M2 of any target: snapshots on disks, the log, and each other;
                      snapshots on disks name the levels of features; metadata logs on disks,
                      replayed up to where snapshots end
voters_followed.py    V2, V3, V4, V6, V9, V10, Q19: voters that change, by traces
voter_sets.py         V1, V5, V7: voters that change, by disks, as asked for and acknowledged;
                      leaders' answers about voters, and requests to change them
voters_told.py        voters that change, by leaders' answers; changes that later leaders undo
voters_were.py        voters that no log ever had; no majority of the voters' disks is left: the
                      quorum stops
new_disks.py          V8: a new disk does not vote until it is added; Q9: a majority had what is
                      committed
fsync.py              Q18: durable before counted, and before votes are asked for
untold.py             what nodes do not trace, but others, clients and disks show
leadership.py         the leader, and the possible voters, at a moment; Q21, Q22: a majority
                      elects, a leader that is cut off resigns
controllers.py        Q23: a leader that is well is left alone; M2, M4, and reads of what is
                      committed only
agreement.py          no request of a client unseats the leader; Q1, Q7 and Q11 where nodes trace
                      nothing; Q20, M1: one cluster, one metadata log
"""
