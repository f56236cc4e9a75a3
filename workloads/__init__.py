"""What clients do to a cluster during faults, and how each answer is recorded.

    workload.py           the interface of a workload to a run; how many clients registers have, and
                          what they do
    workload_kinds.py     the registry of workloads
    register.py           the workload of registers: reads, writes, deletes
    append.py             the workload of logs: sends, polls, topics that come and go
    membership.py         changes and descriptions of the voters, beside registers
    operation_history.py  where a workload records events; what clients count themselves
    clients/              clients of registers and logs, by library
    chores/               side tasks of clients of logs
    operator.py           an operator, who adds and removes voters until it is done; changes and
                          descriptions of the voters, each an operation
    connection.py         one TCP connection with one request in flight; one to each broker
    leader.py             the leader of the quorum, found by asking every node; the leader of each
                          partition
    wire/                 Kafka's protocol, written by hand

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process retires when its operation ends `info`, for
that operation is still open; a new one takes its place. A request that asks for several things
counts as several operations, each of its own process.

The workloads encode and decode with code of their own: a client that shared the server's codec
could not find its bugs.
"""
