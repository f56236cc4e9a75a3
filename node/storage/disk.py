"""The disk as the node's storage sees it: the one seam under which a power cut can happen.

The server implements it over a real file system, the simulator over a page cache that forgets.
Paths are relative to the log directory, with `/` between parts. Every method may raise OSError;
nobody in `node` catches it: a node whose disk fails stops.

What a power cut may take: of a file, whatever was appended, cut or `put` since its last `flush` or
`sync`, in any part and order of pages; and of names, those that `rename` and `put` gave since the
last `sync_names`. What it may not: a name that `open`, `make_directory`, `replace` or `remove`
returned about.
"""

from typing import Protocol

from node.ids import METADATA_LOG

# The names of files, relative to the log directory. Kafka's own.


METADATA_DIRECTORY: str = METADATA_LOG
META_PROPERTIES = "meta.properties"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
QUORUM_STATE = f"{METADATA_DIRECTORY}/quorum-state"
VOTERS_CHECKPOINT = f"{METADATA_DIRECTORY}/00000000000000000000-0000000000.checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"


# Refusals of the storage, for the operator: what is wrong with which file, and what to do next.
#
# They end a start before the node speaks to anybody. None of them is ever caught to go on with a
# guess: a vote or a record that is forgotten may be given twice. Where a broker that runs reads a
# damaged log of a partition, whoever asked is told so, and nothing in its place
# (`ReplicaManager.damaged`).


class StorageError(ValueError):
    """What is wrong with which file, and the next command."""


class CorruptLog(StorageError):
    """Bytes that were made durable are damaged, or a file of the log is missing."""


class CorruptFile(StorageError):
    """A small file that is replaced as a whole (quorum-state, meta.properties, a checkpoint) holds
    what nobody writes."""


class NotFormatted(StorageError):
    """The log directory holds no meta.properties: it was never (or not wholly) formatted."""


class AlreadyFormatted(StorageError):
    """The log directory belongs to a node already, and formatting it would make that forget."""


class File(Protocol):
    """An open file that is appended to, cut and read at any position."""

    def size(self) -> int: ...

    def append(self, data: bytes) -> None:
        """Write at the end; in the page cache only, until `flush`."""

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer at the end of the file."""

    def truncate(self, size: int) -> None:
        """Cut to `size` bytes, no more than there are; durable only after `flush`."""

    def flush(self) -> None:
        """Make the content and size durable (fdatasync)."""

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str) -> File:
        """Open for append and read; created when absent; its name is durable then."""

    def reopen(self, path: str) -> File:
        """One that is there; of its name nothing is promised. Costs no flush of the disk, which
        `open` does: a broker with ten thousand logs opens as many files as it starts."""

    def exists(self, path: str) -> bool: ...

    def names(self, directory: str) -> list[str]:
        """The sorted names in a directory; empty when it does not exist."""

    def make_directory(self, path: str) -> None:
        """With parents; no error when it exists; durable when it returns."""

    def read_all(self, path: str) -> bytes: ...

    def read(self, path: str, position: int, length: int) -> bytes:
        """Up to `length` bytes of a file that is there; fewer at its end."""

    def replace(self, path: str, data: bytes) -> None:
        """Whole new content, atomic and durable: temporary file, fsync, rename, directory fsync.

        The temporary file is `path` with `.tmp` after it; a power cut may leave one behind.
        """

    def put(self, path: str, data: bytes) -> None:
        """Whole new content, in the page cache only, and so is the name of a new file."""

    def sync(self, path: str) -> None:
        """Make the content of a file durable, and not its name."""

    def rename(self, old: str, new: str) -> None:
        """Of a file, to a name that is free; atomic, but durable only after `sync_names`.

        A file system that has one journal commits it earlier, with the next flush of a file that
        grew.
        """

    def sync_names(self, directory: str) -> None:
        """Make the names in a directory durable."""

    def remove(self, *paths: str) -> None:
        """Of one directory, in that order; durable when it returns."""
