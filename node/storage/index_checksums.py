"""Which indexes a clean shutdown left behind: the CRC-32C of both files of each segment.

Kafka's index files hold nothing by which one could tell that they are whole: one that lost its last
entries, or is of zeros, looks sound (Kafka believes such a time index). `.kafka_cleanshutdown`
vouches for this file, and this one for them; after any other end nothing of it is looked at.
"""

from collections.abc import Mapping

from node.ids import LogId, Offset
from node.storage.disk import Disk
from node.storage.partition_segment import IndexChecksums

INDEX_CHECKSUMS = "index-checksums"

OfLogs = Mapping[LogId, Mapping[Offset, IndexChecksums]]


def save_index_checksums(disk: Disk, of_logs: OfLogs) -> None:
    """Version 0, the number of entries, then `topic partition base offsets times` a line. Durable
    when it returns."""
    rows = [
        f"{' '.join(log.rsplit('-', 1))} {base} {found.offsets} {found.times}"
        for log, segments in sorted(of_logs.items())
        for base, found in segments.items()
    ]
    disk.replace(INDEX_CHECKSUMS, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_index_checksums(disk: Disk) -> OfLogs:
    """Empty where nothing is there that can be read: then nothing is vouched for."""
    if not disk.exists(INDEX_CHECKSUMS):
        return {}
    try:
        return _parsed(disk.read_all(INDEX_CHECKSUMS).decode("ascii"))
    except ValueError:
        return {}


def _parsed(text: str) -> OfLogs:
    version, count, *rows = text.splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} entries announced, {len(rows)} found")
    found: dict[LogId, dict[Offset, IndexChecksums]] = {}
    for row in rows:
        topic, partition, base, offsets, times = row.split(" ")
        log = found.setdefault(LogId(f"{topic}-{int(partition)}"), {})
        log[Offset(int(base))] = IndexChecksums(int(offsets), int(times))
    return found
