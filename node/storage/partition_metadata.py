"""`partition.metadata`: which topic's the log beside it is."""

from uuid import UUID

from node.ids import parse_uuid, uuid_text
from node.storage.disk import Disk
from node.storage.layout import PARTITION_METADATA
from node.storage.storage_errors import CorruptFile


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
