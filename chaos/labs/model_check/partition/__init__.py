"""Every order of ISR, ELR and high watermark: one partition on three brokers (KIP-966).

The decisions are the node's own: of leaders and followers by `node.broker.replicas.replica`, of the
controller by `node.controller` (registrations, fencing, AlterPartition, configurations, elections,
unclean recovery). Between them lie a metadata log, which a leader replays when it likes, and
answers, which may overtake it, be late, or be lost.

    controller.py   what is decided, as a value; each decision by the node's code, cached
    world.py        the brokers with their replicas and logs, the requests under way, the past
    moves.py        what may happen next
    search.py       searches breadth first, so a counterexample is as short as possible; what must
                    hold after each move

Followers replay what is committed at once: late metadata would only keep them from fetching. A
power cut takes a whole log, for logs of partitions are not synced. Left out, and so not proved:
Fetches with a part of what is missing, several partitions, reassignments, more than one active
controller, and all beyond the bounds. The simulator covers those, by chance.
"""
