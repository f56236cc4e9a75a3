"""`replication-offset-checkpoint`: how far a broker knew its logs to be committed.

It may be old: too low, or, where an unclean leader had the log cut since, too high, as in Kafka.
Nobody needs it to be there: without it high watermarks begin at 0.
"""

from collections.abc import Mapping

from node.ids import LogId, Offset
from node.storage.disk import Disk

HIGH_WATERMARKS = "replication-offset-checkpoint"


def save_high_watermarks(disk: Disk, offsets: Mapping[LogId, Offset]) -> None:
    """Kafka's text form: version 0, the number of entries, then `topic partition offset` a line."""
    rows = [f"{' '.join(log.rsplit('-', 1))} {offset}" for log, offset in sorted(offsets.items())]
    disk.replace(HIGH_WATERMARKS, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_high_watermarks(disk: Disk) -> dict[LogId, Offset]:
    """Of each log; empty where nothing is there that can be read."""
    if not disk.exists(HIGH_WATERMARKS):
        return {}
    try:
        return _parsed(disk.read_all(HIGH_WATERMARKS).decode("ascii"))
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
