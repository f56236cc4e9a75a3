"""What clients do to a cluster while it is hurt, and how each answer is recorded.

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process whose operation ended `info` retires, for
its operation is still open; a new one takes its place.

    wire/           Kafka's bytes, by hand; frames.py holds those of the registers
    connection.py   the raw driver: one TCP connection, one request in flight
    survey.py       one question to every node at once
    leader.py       who leads the quorum
    partitions.py   who leads each partition
    history.py      where a workload writes down what happened
    register.py     reads and writes of unique values, judged for linearizability
    append.py       sends to logs and polls of them, by our own client or other people's

The frames are the workloads' own: a client that shared the server's codec could not find its bugs.
"""
