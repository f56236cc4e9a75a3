"""A broker's small files: the clean-shutdown file, offset checkpoints, and partition.metadata.

`.kafka_cleanshutdown` says that the logs of a broker are whole, and in which epoch it shut down
(KIP-966, "Detection of an unclean shutdown"). It vouches for bytes, so it is written when they are
durable, and is durable itself before the process ends. It is removed, durably, before anything is
written again: a process that is then killed vouches for nothing.
"""

import json
from collections.abc import Mapping
from uuid import UUID

from node.ids import NO_BROKER_EPOCH, LogId, Offset, parse_uuid, uuid_text
from node.storage.disk import PARTITION_METADATA, CorruptFile, Disk

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def save_clean_shutdown(disk: Disk, broker_epoch: int) -> None:
    """Called when all logs are flushed."""
    text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace(CLEAN_SHUTDOWN, text.encode())


def take_clean_shutdown(disk: Disk) -> int:
    """The broker epoch in which the last process shut down cleanly; the file is removed. -1 if it
    did not, or its file cannot be read.
    """
    if not disk.exists(CLEAN_SHUTDOWN):
        return NO_BROKER_EPOCH
    text = disk.read_all(CLEAN_SHUTDOWN)
    disk.remove(CLEAN_SHUTDOWN)
    try:
        match json.loads(text):
            case {"version": 0, "brokerEpoch": int(epoch)}:
                return epoch
    except (ValueError, RecursionError):
        pass
    return NO_BROKER_EPOCH


# Offset checkpoints: an offset of each log of a broker, in files of Kafka's names and format
# (`CheckpointFile`).
#
# `replication-offset-checkpoint`: how far the broker knew its logs to be committed. It may be too
# low, or, if an unclean leader had the log truncated since, too high, as in Kafka; but not because
# a power cut took the log's end, or the log began anew (`PartitionLogs`). It may be missing: high
# watermarks then begin at 0.
#
# `log-start-offset-checkpoint`: the log starts that are not 0. It is written before they are
# reported; a log does not begin before its first segment, whatever the file says.
#
# `recovery-point-offset-checkpoint`: the offset below which each log was durable, with the indexes
# of its full segments. It may be too low, and is never too high: it is lowered, durably, before a
# log is truncated.


HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"


def save_offsets(disk: Disk, name: str, offsets: Mapping[LogId, Offset]) -> None:
    """Version 0, the number of entries, then `topic partition offset` per line. Durable when it
    returns.
    """
    rows = [f"{' '.join(log.rsplit('-', 1))} {offset}" for log, offset in sorted(offsets.items())]
    disk.replace(name, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_offsets(disk: Disk, name: str) -> dict[LogId, Offset]:
    """The offset of each log; empty if there is no readable file."""
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


# `partition.metadata`: the topic id of the log beside it.


def save_topic(disk: Disk, directory: str, topic: UUID) -> None:
    """Durable when it returns."""
    text = f"version: 0\ntopic_id: {uuid_text(topic)}"
    disk.replace(f"{directory}/{PARTITION_METADATA}", text.encode())


def read_topic(disk: Disk, directory: str) -> UUID:
    """Raises CorruptFile."""
    path = f"{directory}/{PARTITION_METADATA}"
    try:
        lines = disk.read_all(path).decode().splitlines()
        if not lines:
            raise ValueError("it is empty")
        if lines[0] != "version: 0" or len(lines) != 2 or not lines[1].startswith("topic_id: "):
            raise ValueError(f"it begins with {lines[0][:80]!r}, and has {len(lines)} lines")
        return parse_uuid(lines[1].removeprefix("topic_id: "))
    except ValueError as error:
        raise CorruptFile(
            f"{path} does not say which topic's the log is: {error}\n"
            "  try: put it back from a copy of this disk; or remove the directory, and the broker"
            " fetches the replica anew"
        ) from error
