"""What clients do to a cluster while it is hurt, and how each answer is recorded.

A workload is a number of closed processes: each has one operation in flight, records its
invocation, sends it, and records how it ended. `ok` and `fail` are facts; everything else is
`info`: perhaps it happened, perhaps it will. A process whose operation ended `info` retires, for
its operation is still open; a new one takes its place. A request that asks several things at once
is an operation each, of a process each.

What a run knows:

    workload.py             what is asked of clients, whatever they do
    workload_kinds.py       the registry of workloads
    register.py             reads, writes and deletes of registers
    append.py               sends to logs and polls of them, creations and deletions of topics
    append_options.py       how many send and poll, and how
    membership.py           changes of who votes, and questions who does, beside registers
    operation_history.py    where a workload writes down what happened
    tally.py                what clients count themselves

Clients of registers:

    register_options.py     what they do, as a value
    register_keys.py        which registers live, and what is done next
    register_requests.py    what a request asks, and how one can be wrong
    register_client.py      one client

Clients of logs, by whichever library:

    log_driver.py           what a library has to do
    chore.py, chores.py     what clients may do besides, each in a module:
    own_log.py              a log that is a chore's alone
    altering_configs.py     configurations, and whether the quorum keeps its leader
    looking_up.py           offsets by time
    asking_epochs.py        where the epochs of logs end
    committing_offsets.py   offsets of a group, and whether it forgets any
    deleting_records.py     records that are deleted, and whether they stay so
    deleting_topics.py      topics that are deleted, and which broker still knows them
    joining_groups.py       members of a group: one stays, one comes and goes, one is careless
    group_coordinator.py    who coordinates a group
    reshaping_topics.py     partitions that are added, and moved from broker to broker
    syncing_coordinators.py what coordinators of transactions note is synced
    ending_transactions.py  ends what transactional producers left open
    committing.py           commits what they have open
    transaction_calls.py    what both ask of coordinators, each an operation
    producer_ids.py         where a producer has its id from
    producing.py            a process that sends
    consuming.py            a process that polls
    topic_driver.py         the same of topics
    administering.py        a process that creates and deletes them
    library_clients.py      the libraries by name
    raw_clients.py          our own: raw_producer.py, raw_consumer.py, raw_topics.py
    library.py              what those with threads have in common
    librdkafka.py           and librdkafka_topics.py
    kafka_python.py

Of quorums:

    voter_requests.py       changes of voters, and questions who votes, each an operation
    operator.py             who adds and removes voters, until it is so

Our own client:

    connection.py           one TCP connection, one request in flight; an answer that cannot be
                            read is told to whoever counts them
    broker_connections.py   one client's connections, one to a broker
    survey.py               one question to every node at once
    leader.py               which node leads the quorum
    partition_leaders.py    which broker leads each partition
    wire/                   Kafka's bytes, by hand

The bytes are written and read by code of the workloads' own: a client that shared the server's
codec could not find its bugs.
"""
