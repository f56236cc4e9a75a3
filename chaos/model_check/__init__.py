"""A second opinion on who votes, commits and leads: every order of events within small bounds.

KIP-856 asks for a model of its voter changes. This is one without a second description of the
protocol: what is explored is the node's own `node.raft`, which cannot tell it from a run.

    replica          one node's quorum, alive, on a log in memory, with a clock of its own
    views            the same as a value: all that decides what it can do next
    possible_moves   an election, a Fetch, a change of the voters, a crash, a new disk
    numbered_states  views of all, numbered; what a move makes of them, found out once
    judged_steps     Q2, Q11, Q12, V1 to V6, by logs (log_entries) and by what was so before
    search           breadth first, each state once, so a counterexample is as short as can be

A move is a whole exchange: what is asked, decided and answered by the real code of both sides. Of a
Fetch the answer may be lost. Time passes as it needs to: who stands for election has waited for it,
and so has a leader that was cut off. Nodes that nobody could tell apart at the beginning may change
places (symmetry), so of such states one is explored.

What is left out, and so not proved: messages that are late rather than lost, bytes that are seen
before they are durable, snapshots, metadata records, elections that nobody wins, and all beyond the
bounds. The simulator has those, by chance.
"""
