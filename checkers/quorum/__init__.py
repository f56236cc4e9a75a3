"""Checks of the quorum: its leaders, its log, what is committed. Raft, KIP-595, KIP-996.

elections.py          Q1, Q2, Q3, Q4, Q17: epochs, votes and leaders
origins.py            an epoch begins with a candidate; a leader that is heard is kept
leadership.py         Q21, Q22: a majority elects, a leader that is cut off resigns
controllers.py        Q23: a healthy leader is left alone; M2, M4, committed reads
read_confirmation.py  a node that answers a read leads; an active controller does not deny it
agreement.py          Q20, M1: one cluster, one log; Q1, Q7, Q11 without traces
log_matching.py       Q5, Q11, Q12: logs agree; followers follow; epochs begin with a leader
committed_kept.py     each voter keeps committed records, by disks and answers
watermarks.py         Q6, Q7, Q8, Q10, Q13: high watermarks, and truncations
disks.py              logs on disks have no holes; disks are their nodes', and can be read
new_disks.py          V8: a new disk does not vote; Q9: a majority had committed records
fsync.py              Q18: durable before counted, and before votes are requested
snapshots.py          Q14, Q15, Q16, M2: what snapshots cover
stored_snapshots.py   Q15, M2 for any target: snapshots on disks, and levels of features
voters_followed.py    V2, V3, V4, V6, V9, V10, Q19: changes of voters, by traces
voter_sets.py         V1, V5, V7: sets of voters on disks, and requests to change them
described_voters.py        answers about voters fit the changes that clients request
voters_were.py        answers about voters fit the logs; a quorum without a majority stops
untraced.py             events that nodes do not trace, but others, clients and disks show
"""
