"""An offset of each log that a broker has, in a file of Kafka's name and form (`CheckpointFile`).

`replication-offset-checkpoint`: how far the broker knew its logs to be committed. It may be old:
too low, or, where an unclean leader had the log cut since, too high, as in Kafka; but not because
the power took the log's end, or it began anew (`partition_logs`). Nobody needs it to be there:
without it high watermarks begin at 0.

`log-start-offset-checkpoint`: where logs begin, of those that do not begin at 0. It is written
before anybody is told; a log does not begin before its first segment, whatever it says.

`recovery-point-offset-checkpoint`: below which each log was durable, with the indexes of its full
segments. It may be too low, and never is too high: it is lowered, durably, before a log is cut.
"""

from collections.abc import Mapping

from node.ids import LogId, Offset
from node.storage.disk import Disk

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"


def save_offsets(disk: Disk, name: str, offsets: Mapping[LogId, Offset]) -> None:
    """Version 0, the number of entries, then `topic partition offset` a line. Durable when it
    returns."""
    rows = [f"{' '.join(log.rsplit('-', 1))} {offset}" for log, offset in sorted(offsets.items())]
    disk.replace(name, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_offsets(disk: Disk, name: str) -> dict[LogId, Offset]:
    """Of each log; empty where nothing is there that can be read."""
    if not disk.exists(name):
        return {}
    try:
        return _parsed(disk.read_all(name).decode("ascii"))
    except ValueError:
        return {}


def _parsed(text: str) -> dict[LogId, Offset]:
    version, count, *rows = text.splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} entries announced, {len(rows)} found")
    found: dict[LogId, Offset] = {}
    for row in rows:
        topic, partition, offset = row.split(" ")
        if int(offset) < 0:
            raise ValueError(f"entry {row!r} has no offset")
        found[LogId(f"{topic}-{int(partition)}")] = Offset(int(offset))
    return found
