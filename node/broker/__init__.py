"""The broker role: replicas of partitions, and what their leader promises (KIP-841, KIP-966).

    broker.py           the broker: one method a request, and its chores, such as checkpoints
    lifecycle.py        registration, heartbeats, controlled shutdown, directory assignments
    controller_link.py  requests to the active controller, over one connection
    image_follower.py   the cluster's image, replayed from the metadata log
    replicas/           the broker's replicas: logs, high watermarks, ISRs, and how they follow
    requests/           what clients and followers ask for
    coordinators/       consumer groups and their committed offsets

The way of a record: the leader appends a client's Produce, in the page cache; followers fetch it,
and their next Fetch shows that they have it. Once all of the maximal ISR have it, and the committed
ISR has min.insync.replicas members, the high watermark passes it: acks=all is answered, and
consumers see it. None of this waits for a disk.

Like the controller, the broker decides without I/O: it knows the metadata log by its image, and the
quorum by the seam alone.
"""
