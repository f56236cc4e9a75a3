"""The node's account of itself: one JSON line an event, written before the effect is visible.

Every line has, in this order: `ev` (below), `node`, `dir` (directory id), `inc` (process
incarnation), `seq` (from 0, without gaps in one incarnation), `mono` and `wall` (ns), then the
fields of the event. The reader's side of this contract is `checkers.history.traces`, which shares
no code with it; a test holds the two equal.
"""

TRACE_FIELDS: dict[str, tuple[str, ...]] = {
    # The process runs: what it found on its disk.
    "n.start": ("version", "cluster", "epoch", "leader", "log_end", "log_epoch"),
    # Then, if no mark told how far the log was flushed: whole batches may be missing behind `end`.
    "n.unmarked": ("end",),
    # And if a power cut had left damage above what was flushed: so many bytes of a segment were
    # cut off, and the log ends at `end`. flushed: the mark, at or below it; reason: what was wrong.
    "n.cut": ("segment", "end", "bytes", "flushed", "reason"),
    # A snapshot is damaged, and not loaded.
    "n.damaged": ("file", "reason"),
    # The indexes of a segment of a partition's log were not as they were left, and were made anew
    # from its batches.
    "n.reindexed": ("segment", "reason"),
    # A broker that runs has found a batch of a partition's log damaged, and gives that to nobody.
    "n.rotten": ("log", "reason"),
    "n.stop": ("code", "reason"),
    # A request has no answer: none can be said in the version that was asked for, or too many wait
    # already. The connection is closed.
    "n.unanswered": ("api", "version", "reason"),
    # A request, or an answer, has more elements than this node takes. The connection is closed.
    "n.oversized": ("reason",),
    # Role, epoch, leader and vote, after they are durable. state: unattached, prospective, ...
    # silent_ns: for how long the leader that the node followed until now had not answered a Fetch;
    # by the node's own clock; -1 if it followed none, had no answer yet, or was told of a
    # resignation (EndQuorumEpoch).
    "q.state": (
        "state",
        "epoch",
        "leader",
        "voted",
        "voted_dir",
        "log_end",
        "log_epoch",
        "silent_ns",
    ),
    # The voter set in force: [{id, dir}].
    "q.voters": ("offset", "epoch", "voters"),
    # A batch was written (not yet durable); role is leader or follower.
    "q.append": ("base", "last", "epoch", "crc", "role"),
    # The log holds, first at `offset`, a record that this node cannot replay: it follows and votes,
    # and does not stand for election. Offset -1 and no record: that was cut off, and it may again.
    "q.unfit": ("offset", "record"),
    "q.truncate": ("end", "hwm", "role"),
    "q.fsync": ("end",),
    # A snapshot of all records below `end`, the last of which is of `epoch`: found when the process
    # began, created or fetched (it is whole, and durable) or deleted. start: the log's then.
    "q.snapshot": ("what", "end", "epoch", "start"),
    # The log was replaced by a snapshot, where it now starts and ends.
    "q.loaded": ("end", "epoch"),
    # What the controller's image holds at an offset, as a number: the same on every node.
    "c.image": ("offset", "digest"),
    # A record about a broker, a topic or a partition is committed, and replayed into the image.
    "c.record": ("offset", "record"),
    # What a voter answered makes no sense; the connection to it is closed.
    "q.garbled": ("peer", "reason"),
    "q.hwm": ("hwm", "epoch", "role"),
    # The leader took a Fetch into account; only when offset or outcome differ from the last one.
    "q.fetch": ("replica", "replica_dir", "offset", "last_epoch", "epoch", "outcome"),
    # A real vote was answered (after it was made durable). log: the end of the candidate's, as it
    # said when it asked.
    "q.vote": ("candidate", "candidate_dir", "epoch", "granted", "log_end", "log_epoch"),
    "c.active": ("epoch", "offset"),
    # Whoever leads refused the registration of this controller, with an error code of the protocol.
    "c.unregistered": ("error",),
    "c.resign": ("epoch",),
    # Reads are answered, all of one step in one line. `ticket` numbers the newest of them (from 1,
    # all reads that this process took, in the order of arrival), `arrived` is when it came. heard:
    # [{id, dir, since}], the other voters that sent a Fetch of this epoch after an answer that left
    # at `since`. Both times are ns of the node's own clock, to be compared with each other only.
    "c.read": ("epoch", "ticket", "arrived", "heard"),
    # A broker's life (KIP-631). state: starting, recovery, running, pending-controlled-shutdown or
    # shutting-down; and vouching: its logs are flushed, and the file that says so is about to be
    # written. epoch: its broker epoch, -1 until it is registered; previous: the one that such a
    # file of the last process told, which the registration names; -1: none did. fenced: what the
    # controller answered last.
    "b.life": ("state", "epoch", "previous", "fenced"),
    # What keeps a broker from following the leader of so many of its replicas, for now; it tries
    # again. "": nothing does any more.
    "b.following": ("leader", "partitions", "trouble"),
    # What keeps the active controller, at host:port, from answering a broker, which asks again;
    # trouble: "": it answers. asked: names of APIs, of what was not answered.
    "b.asking": ("controller", "asked", "trouble"),
    # Somebody unregistered this broker while it was up, in that broker epoch.
    "b.unregistered": ("epoch",),
    # A broker's replica of a partition leads, or follows, in a leader epoch: so its log ends, and
    # its high watermark is, as it begins to. topic: an id.
    "p.role": ("topic", "index", "role", "epoch", "end", "hwm"),
    # Of a leader: its ISR as committed ([{id}]), in a partition epoch, and the maximal one
    # (KIP-966), which has all that may be in it. hwm, end, ends: as in p.hwm.
    "p.isr": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "isr",
        "maximal",
        "hwm",
        "end",
        "ends",
    ),
    # Of a leader: it proposes that a replica join the ISR of `partition_epoch`, which it knows to
    # have all below `offset` by a Fetch in that broker epoch. hwm: its high watermark then.
    "p.join": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "replica",
        "broker_epoch",
        "offset",
        "hwm",
    ),
    # Of a leader: its high watermark, and where its log ends and those of the others
    # ([{id, end, active}]; end -1: not known yet; active: 1 for a broker that may lead, as far as
    # this one has heard, 0 for one that is fenced, gone or shutting down).
    "p.hwm": ("topic", "index", "epoch", "hwm", "end", "ends"),
    # A follower in `epoch` is about to cut its log at `end`, a record of `cut_epoch` (-1: of none).
    # hwm: the high watermark that it knew.
    "p.truncate": ("topic", "index", "end", "hwm", "epoch", "cut_epoch"),
}
