"""The broker role: replicas of partitions, and what their leader promises (KIP-841, KIP-966).

    broker.py              the whole: a method a request, and what is due; when high watermarks and
                           recovery points are saved, for the next life
    lifecycle.py           it registers, is fenced and unfenced, and is let go; its end in good
                           order: its logs are flushed, and a file says so; and where each is, as
                           the controller is told (AssignReplicasToDirs)
    controller_link.py     what it asks of the active controller, over one connection
    image_follower.py      all that it knows of the cluster: the metadata log, replayed
    replica_manager.py     the replicas that it has, made, told and removed as that log says
    replica_logs.py        how much is done to their logs in one step; what is in their logs; in
                           which log directory a new one is; how topics are configured, as it goes
                           by that
    replica.py             one of them: its log's end, epochs, followers and high watermark
    isr.py                 the ISR as a leader goes by it: what is committed, what is proposed;
                           what a leader knows of another replica
    producers.py           idempotent producers, as the log tells of them
    isr_changes.py         what leaders propose, on its way to the controller (AlterPartition)
    fetchers.py            how it follows other leaders: a Fetch at a time from each broker
    produce_requests.py    what a leader appends, and when it says so
    fetch_requests.py      what it gives to followers and consumers, and learns by that
    retention.py           records that nobody needs any more: logs that begin later; old segments,
                           and those of logs that have grown too large
    offset_requests.py     where logs and epochs end
    forwarding.py          topics that somebody asks about, made where there are none; what only
                           the active controller can do, handed on to it for clients
    descriptions.py        who is up, and who leads what; how partitions stand, a page at a time;
                           how large logs are, by the directory that they are in
    producer_id_source.py  ids for idempotent producers
    coordinators/          groups of consumers, and how far they have come

A record's way: a client's Produce is appended by the leader, in the page cache; followers fetch it,
and tell by their next Fetch that they have it; once all of the maximal ISR do, and the committed
ISR has min.insync.replicas members, the high watermark passes it: acks=all is answered, and
consumers see it. Nothing of that waits for a disk.

It decides without I/O, as the controller does: of the metadata log it knows the image, and of the
quorum the seam alone.
"""
