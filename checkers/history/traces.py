"""The reader's side of the nodes' trace lines (`node.trace` writes them; a test compares)."""

COMMON_FIELDS = ("ev", "node", "dir", "inc", "seq", "mono", "wall")

TRACE_FIELDS: dict[str, tuple[str, ...]] = {
    "n.start": ("version", "cluster", "epoch", "leader", "log_end", "log_epoch", "cut_bytes"),
    "n.stop": ("code", "reason"),
    "q.state": ("state", "epoch", "leader", "voted", "voted_dir", "log_end", "log_epoch"),
    "q.voters": ("offset", "epoch", "voters"),
    "q.append": ("base", "last", "epoch", "crc", "role"),
    "q.truncate": ("end", "hwm", "role"),
    "q.fsync": ("end",),
    "q.hwm": ("hwm", "epoch", "role"),
    "q.fetch": ("replica", "replica_dir", "offset", "last_epoch", "epoch", "outcome"),
    "q.vote": ("candidate", "candidate_dir", "epoch", "granted"),
    "c.active": ("epoch", "offset"),
    "c.resign": ("epoch",),
}
