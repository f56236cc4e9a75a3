"""What clients do to a cluster while it is hurt, and how each answer is recorded.

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process whose operation ended `info` retires, for
its operation is still open; a new one takes its place.

    frames.py       requests and answers of exactly the versions spoken, by hand
    connection.py   the raw driver: one TCP connection, one request in flight
    leader.py       who leads the quorum, asked of every node at once
    history.py      where a workload writes down what happened
    register.py     reads and writes of unique values, judged for linearizability

The frames are the workloads' own: a client that shared the server's codec could not find its bugs.
"""
