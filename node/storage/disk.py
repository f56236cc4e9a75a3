"""The disk as the node's storage sees it, and the errors of the storage.

The disk is the one seam under which a power cut can happen. The server implements it over a real
file system, the simulator over a page cache that forgets. Paths are relative to the log directory,
with `/` between parts. Every method may raise OSError; no module of `node` catches it: a node
stops when its disk fails.

A power cut may take, of a file, whatever was appended, truncated or `put` since its last `flush` or
`sync`, in any part and order of pages; and of names, those that `rename` and `put` gave since the
last `sync_names`. It may not take a name once `open`, `make_directory`, `replace` or `remove` has
returned.
"""

from typing import Protocol

from node.ids import METADATA_LOG

# Kafka's names of files, relative to the log directory.


METADATA_DIRECTORY: str = METADATA_LOG
META_PROPERTIES = "meta.properties"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
QUORUM_STATE = f"{METADATA_DIRECTORY}/quorum-state"
VOTERS_CHECKPOINT = f"{METADATA_DIRECTORY}/00000000000000000000-0000000000.checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"


# Errors of the storage, for the operator: what is wrong with which file, and what to do next.
#
# They end a start before the node sends anything. None is ever caught to go on with a guess: a vote
# or a record that is forgotten may be given twice. If a running broker reads a damaged log of a
# partition, the client gets an error, and no other data in its place (`ReplicaManager.damaged`).


class StorageError(ValueError):
    """What is wrong with which file, and the next command."""


class CorruptLog(StorageError):
    """Bytes that were made durable are damaged, or a file of the log is missing."""


class CorruptFile(StorageError):
    """A small file that is replaced as a whole (quorum-state, meta.properties, a checkpoint) has
    content that no node writes.
    """


class NotFormatted(StorageError):
    """The log directory holds no meta.properties: it was never (or not wholly) formatted."""


class AlreadyFormatted(StorageError):
    """The log directory belongs to a node already, and formatting it would erase that."""


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
        """Open an existing file; whether its name is durable is not known. Costs no flush of the
        disk, as `open` does: a broker with ten thousand logs opens as many files at its start.
        """

    def exists(self, path: str) -> bool: ...

    def names(self, directory: str) -> list[str]:
        """The sorted names in a directory; empty when it does not exist."""

    def make_directory(self, *paths: str) -> None:
        """Make it, or them, with their parents; no error for one that exists; durable when it
        returns.
        """

    def read_all(self, path: str) -> bytes: ...

    def read(self, path: str, position: int, length: int) -> bytes:
        """Up to `length` bytes of an existing file; fewer at its end."""

    def replace(self, path: str, data: bytes) -> None:
        """Whole new content, atomic and durable: temporary file, fsync, rename, directory fsync.

        The temporary file is `path` with `.tmp` after it; a power cut may leave one behind.
        """

    def put(self, path: str, data: bytes) -> None:
        """Whole new content, in the page cache only, and so is the name of a new file."""

    def sync(self, path: str) -> None:
        """Make the content of a file durable, and not its name."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file to a free name; atomic, but durable only after `sync_names`.

        A file system with one journal commits it earlier, with the next flush of a file that grew.
        """

    def sync_names(self, directory: str) -> None:
        """Make the names in a directory durable."""

    def remove(self, *paths: str) -> None:
        """Remove files of one directory, in that order; durable when it returns."""
