"""A KRaft node: the quorum of KIP-595, with a controller, a broker or both, in Kafka's protocol.

All decisions are plain synchronous code without I/O: an event goes in, effects come out; time and
randomness are arguments. A shell performs the effects, in the order of `turn.py`: `server/` with
sockets and real disks, or the simulator (`chaos.cluster.sim`) with neither. `node` imports no other
package of the project.

    ids.py              ids, offsets, positions and addresses
    effects.py          the events and effects of a node; slices of files in responses
    errors.py           the protocol's error codes
    lazy_dataclass.py   dataclasses that are compiled on first use
    limits.py           size limits of frames, requests, records, batches and responses
    config.py           settings, with Kafka's names and defaults
    codec/              encodes and decodes messages and records
    wire/               requests and responses by family; frames to messages and back
    outbox.py           the output of a step; parked requests; what a poll has to look at
    records/            record batches, and the records in them
    storage/            the files of a node
    raft/               the metadata quorum: elections and replication
    controller/         decides on requests, replays committed records
    broker/             replicas of partitions, as leader and follower; consumer groups
    core.py             the order of a step: the quorum, then the role on top, on messages
    node.py             the whole node, on frames
    process_roles.py    a node that is a controller, a broker, or both
    turn.py             the order of perform, send and flush, for every shell
    server/             the shell with sockets and disks, and `kraft-node`
"""
