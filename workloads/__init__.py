"""What clients do to a cluster while it is hurt, and how each answer is recorded.

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process whose operation ended `info` retires, for
its operation is still open; a new one takes its place. A request that asks several things at once
is an operation each, of a process each.

    kinds.py                the registry of workloads
    register.py             reads, writes and deletes of registers, judged for linearizability
    append.py               sends to logs and polls of them, by our own client or other people's
    history.py              where a workload writes down what happened
    tally.py                what clients count themselves
    connection.py           the raw driver: one TCP connection, one request in flight; an answer
                            that cannot be read is told to whoever counts them
    broker_connections.py   one client's connections, one to a broker
    survey.py               one question to every node at once
    leader.py               which node leads the quorum
    partition_leaders.py    which broker leads each partition
    wire/                   Kafka's bytes, by hand

The bytes are written and read by code of the workloads' own: a client that shared the server's
codec could not find its bugs.
"""
