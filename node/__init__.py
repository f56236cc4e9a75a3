"""A KRaft node: the quorum of KIP-595, and a controller, a broker or both on top, in Kafka's
protocol.

Everything it decides is plain synchronous code without I/O: an event goes in, effects come out,
time and chance are arguments. What performs the effects, in the order of `turn.py`, is a shell:
`server/` with sockets and real disks, or the simulator (`chaos.cluster.sim`) with neither. It knows
no other package.

    ids.py, effects.py  the words: identities, addresses, what happens, what is wanted
    errors.py           the protocol's error codes
    lazy_dataclass.py   dataclasses that are compiled when they are first used
    limits.py           how much a frame, request, record, batch and answer may be
    config.py           settings, with Kafka's names and defaults
    output.py           the lines in which a node tells what it does
    codec/              dataclasses to bytes and back, for messages and records
    wire/               requests and answers, a file a family; frames to messages and back
    outbox.py           where the parts put what they want done; the one place for requests that
                        wait
    effects.py          parts of files that stand for their bytes in an answer, until it is sent
    records/            record batches, and what is in them
    storage/            what a node keeps on a disk
    raft/               the quorum: who leads, what is committed
    controller/         decides on requests, replays what is committed
    broker/             keeps replicas of partitions, leads and follows
    core.py             one order of a step: the quorum, and a role on top of it, on messages
    node.py             the same on frames: the whole
    controller_node.py, combined_node.py  the three that there are
    turn.py             the one order of perform, send and flush, for every shell
    server/             the shell with sockets and disks, and `kraft-node`
"""
