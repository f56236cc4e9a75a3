"""What a node keeps, and how it finds it again after the power went.

    meta.properties                  which cluster, node and disk this is, and whether its quorum's
                                     voters are listed (KIP-856); written last by `format`
    bootstrap.checkpoint             the metadata records that a new cluster begins with
    __cluster_metadata-0/
        quorum-state                 epoch, leader and vote; replaced whole before anybody is told
        00000000000000000000.log     the metadata log: record batches, rolled by size
        0...042-0...07.checkpoint    a snapshot: what all records below offset 42 add up to; the
                                     last of them is of epoch 7. The log may start there
        flushed-00000000000000000042 empty; its name says how far the log was flushed
        leader-epoch-checkpoint      where each epoch begins in it
        partition.metadata           the topic's id
        0...0-0...0.checkpoint       the voter set that the quorum was formatted with
    orders-3/                        a replica's log: segments, epochs and topic id as above
        00000000000000000000.index, .timeindex
                                     where in the segment some of its batches are, by offset and by
                                     time; made anew where a clean shutdown does not vouch for them
    index-checksums                  of those files, as a clean shutdown left them
    replication-offset-checkpoint    how far those logs were known to be committed
    log-start-offset-checkpoint      where those begin that do not begin at 0
    .kafka_cleanshutdown             those logs are whole, says the broker that shut down so

A broker may have several log directories (`log_directories`): each with a meta.properties, and with
checkpoints and a clean-shutdown file of the logs that are in it. One of them, or another one, has
the metadata log.

`disk` is the seam: everything here runs over a real directory and over a simulated disk that
forgets what was not flushed. Two kinds of durability meet. Small files are replaced: the old or the
new content is there, whole. The log is appended to and flushed: what was flushed is there, what was
not may be gone, or gone in parts, and `recovery` tells the one from the other before the node says
a word. What it cannot explain by a power cut it refuses (`storage_errors`), and never repairs.
"""
