"""A second opinion on votes, commits and leaders: every order of events within small bounds.

KIP-856 asks for a model of its voter changes. This one needs no second description of the protocol:
it explores the node's own `node.raft`, which cannot distinguish it from a run.

    setting.py          the bounds of an exploration, and what all replicas share
    replica.py          one node's quorum on a log in memory, with a clock of its own
    views.py            a replica as a value: all that decides what it can do next
    possible_moves.py   elections, Fetches, changes of the voters, crashes, new disks
    numbered_states.py  the views of all replicas, numbered; the result of each move, cached
    judged_steps.py     Q2, Q11, Q12, V1 to V6, by the logs (log_entries) and by the past
    search.py           searches breadth first, so a counterexample is as short as possible

A move is a whole exchange: request, decision and answer by the real code of both sides. The answer
to a Fetch may be lost. Time passes as needed: a candidate has waited for its time-out, and so has a
leader that was cut off. Nodes that are alike at the beginning may change places (symmetry), so only
one of such states is explored.

Left out, and so not proved: late messages (other than lost ones), data that is visible before it is
durable, snapshots, metadata records, elections without a winner, and all beyond the bounds. The
simulator covers those, by chance.
"""
