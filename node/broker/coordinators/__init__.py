"""The group coordinator: group membership, partition assignments and committed offsets.

    group.py              a group, its members, and the rules that do not depend on time
    rebalancing.py        a generation: joining, assignment, members that are late or replaced
    group_log.py          a partition of `__consumer_offsets` that this broker leads, replayed
    expiry.py             offsets and groups that expire
    led_groups.py         the groups of one such partition, pending writes, and its log's cleaning
    group_coordinator.py  the coordinator: one method a request; DeleteGroups, OffsetDelete
    commits.py            OffsetCommit and OffsetFetch
    offsets_topic.py      `__consumer_offsets`, its creation, and FindCoordinator

A group belongs to one partition of `__consumer_offsets`, by a hash of its name, and that
partition's leader coordinates it. Only the log outlives a leader: offsets, and the members of the
last generation. The state here is what replaying the log below the high watermark gives, so that no
client sees an offset that another leader may not have. A write is answered once the high watermark
has passed it, in the epoch in which it was written, and it is replayed. So only writes wait for the
replay; reads are answered by what was replayed so far. A leader does not know its high watermark at
first (KIP-207): until then, and until all below is replayed, it answers
COORDINATOR_LOAD_IN_PROGRESS.

Only the leader knows the members of the current generation before it is written, as in Kafka: a
client that misses the next rebalance is no member of the next generation.
"""
