"""Bugs planted on purpose: a judge that misses one of them is not to be trusted.

    planted.py           a planted bug as a value; replaces the right decision by the wrong one
    catalogue.py         the bugs of the quorum, with the checks and scenarios that must show them
    broker_catalogue.py  the same for brokers, and for the controller's decisions on them
    answer_catalogue.py  the same for false answers
    answers.py           bugs in answers and acknowledgements (A)
    elections.py         bugs in elections, votes and leadership of the quorum (Q)
    elr.py               bugs in eligible leader replicas and clean shutdowns (E)
    groups.py            bugs in group coordinators (G)
    partitions.py        bugs in registrations, fencing and the ISR (P)
    quorum_log.py        bugs in the quorum's log, snapshots and reads (Q, R)
    replication.py       bugs in the replication of partitions (P)
    voters.py            bugs in changes of the voters (V)

A catalogue says for each bug what goes wrong, where that was real, which checks must accuse it and
which scenario shows it. Each bug replaces one decision of the node by a wrong one. The node does
not know them: they enter with the process,

    python -m chaos.bugs Q-ZOMBIE -- start -c server.properties

and reach the node's image with their own package only, so nothing here has heavy imports.
"""
