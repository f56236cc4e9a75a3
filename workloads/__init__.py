"""What clients do to a cluster during faults, and how each answer is recorded.

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process retires when its operation ends `info`, for
that operation is still open; a new one takes its place. A request that asks for several things
counts as several operations, each of its own process.

The interface to a run:

    workload.py           what a run asks of any workload
    workload_kinds.py     the registry of workloads
    register.py           reads, writes and deletes of registers; which registers live, and what is
                          done next
    append.py             sends to logs and polls of them, creations and deletions of topics; how
                          many send and poll, and how
    membership.py         changes and descriptions of the voters, beside registers
    operation_history.py  where a workload writes down what happened; what clients count themselves

Clients of registers:

    register_options.py  what the clients do, as a value
    register_client.py   what a request asks, and how one can be wrong; one client

Clients of logs, by whichever library:

    log_driver.py            the interface of a client library
    chore.py, all_chores.py  side tasks of clients, one module each:
    records.py               a log that only one chore uses; looks up offsets by time; deletes
                             records; do they stay deleted?
    altering_configs.py      alters configurations; does the quorum keep its leader?
    asking_epochs.py         asks where leader epochs end
    groups.py                commits offsets of a group; does it forget any?; members of a group:
                             one stays, one comes and goes, one is careless; which broker
                             coordinates a group
    deleting_topics.py       deletes topics; which brokers still know them?
    reshaping_topics.py      adds partitions, and moves them between brokers
    transforming.py          members of a group transform records in transactions; one such member;
                             what they wrote to the output log
    syncing_coordinators.py makes transaction coordinators sync their log
    transactions.py     ends the transactions that producers left open; commits open transactions;
                        the requests of both to coordinators, each an operation
    raw_clients.py      where a producer gets its id; our own: raw_clients.py, raw_clients.py,
                        raw_topics.py
    consuming.py        a process that sends; a process that polls
    library.py          the same for topics; what libraries with threads have in common
    administering.py    a process that creates and deletes them
    library_clients.py  the libraries by name
    librdkafka.py       and librdkafka.py
    kafka_python.py

For quorums:

    voter_requests.py  changes and descriptions of the voters, each an operation
    operator.py        adds and removes voters, until it is done

Our own client:

    connection.py         one TCP connection, one request in flight; one client's connections, one
                          to a broker
    leader.py             one question to every node at once; which node leads the quorum
    partition_leaders.py  which broker leads each partition
    wire/                 Kafka's bytes, by hand

The workloads encode and decode with code of their own: a client that shared the server's codec
could not find its bugs.
"""
