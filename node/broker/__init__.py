"""The broker role: replicas of partitions, and what their leader promises (KIP-841, KIP-966).

    broker.py              the broker: one method a request, and its chores, such as checkpoints
    lifecycle.py           registration, heartbeats, controlled shutdown, directory assignments
    controller_link.py     requests to the active controller, over one connection
    image_follower.py      the cluster's image, replayed from the metadata log
    replica_manager.py     the broker's replicas, made, changed and removed as the image says
    replica_logs.py        the replicas' logs: directories, topic configs, work per step
    replica.py             one replica: log end, leader epochs, followers, high watermark
    replica_traces.py      trace lines of a replica: what changed since the last one
    isr.py                 the ISR as its leader sees it: committed, proposed, and its followers
    producers.py           idempotent producers, as a leader goes by them, and when they expire
    isr_changes.py         ISR proposals on their way to the controller (AlterPartition)
    fetchers.py            following other leaders: one Fetch at a time from each broker
    produce_requests.py    Produce: what a leader appends, and when it answers
    fetch_requests.py      Fetch: what a leader returns, and what it learns from followers
    fetch_sessions.py      fetch sessions (KIP-227)
    retention.py           deletion of records and segments; log compaction
    offset_requests.py     ListOffsets and OffsetForLeaderEpoch
    forwarding.py          requests forwarded to the active controller; topic auto-creation
    descriptions.py        Metadata, DescribeCluster, DescribeTopicPartitions, DescribeLogDirs
    producer_id_source.py  ids for idempotent producers
    coordinators/          consumer groups and their committed offsets

The way of a record: the leader appends a client's Produce, in the page cache; followers fetch it,
and their next Fetch shows that they have it. Once all of the maximal ISR have it, and the committed
ISR has min.insync.replicas members, the high watermark passes it: acks=all is answered, and
consumers see it. None of this waits for a disk.

Like the controller, the broker decides without I/O: it knows the metadata log by its image, and the
quorum by the seam alone.
"""
