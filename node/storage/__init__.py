"""The node's files: what it stores, and how it recovers them after a power cut.

    meta.properties                  cluster, node and directory id, and whether the quorum's
                                     voters are listed (KIP-856); `format` writes it last
    bootstrap.checkpoint             the metadata records that a new cluster begins with
    __cluster_metadata-0/
        quorum-state                 epoch, leader and vote; replaced whole before any is sent
        00000000000000000000.log     the metadata log: record batches, rolled by size
        0...042-0...07.checkpoint    a snapshot of all records below offset 42, the last of
                                     epoch 7. The log may start there
        flushed-00000000000000000042 empty; its name says how far the log was flushed
        leader-epoch-checkpoint      where each leader epoch begins in the log
        partition.metadata           the topic's id
        0...0-0...0.checkpoint       the voter set that the quorum was formatted with
    orders-3/                        a replica's log: segments, epochs and topic id as above
        00000000000000000000.index, .timeindex
                                     positions of some of its batches, by offset and by time;
                                     rebuilt unless a clean shutdown vouches for them
    index-checksums                  of those files, as of a clean shutdown
    replication-offset-checkpoint    how far those logs were known to be committed
    log-start-offset-checkpoint      the log starts that are not 0
    .kafka_cleanshutdown             says that the broker shut down cleanly, and its logs are whole

A broker may have several log directories (`log_directories`): each with a meta.properties, and with
checkpoints and a clean-shutdown file of its own logs. The metadata log is in one of them, or in
another one.

`disk` is the seam: everything here runs over a real directory and over a simulated disk that
forgets what was not flushed. There are two kinds of durability. Small files are replaced: the old
or the new content is there, whole. The log is appended to and flushed: what was flushed is there,
what was not may be gone, or gone in parts, and `recovery` tells them apart before the node sends
anything. Damage that a power cut cannot explain is refused (`StorageError`), never repaired.
"""
