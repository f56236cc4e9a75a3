"""A segment that is not written any more holds no descriptor: how many there are is in the hands of
clients, whose timestamps roll them."""

from node.lazy_dataclass import dataclass
from node.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledFile:
    """A `File` that was flushed, and is only read; each read opens it."""

    disk: Disk
    path: str
    length: int

    def size(self) -> int:
        return self.length

    def read(self, position: int, length: int) -> bytes:
        return self.disk.read(self.path, position, length)

    def append(self, data: bytes) -> None:
        raise AssertionError(f"{self.path} is full, and {len(data)} bytes are to be appended")

    def truncate(self, size: int) -> None:
        raise AssertionError(f"{self.path} is not open, and is to be cut to {size} bytes")

    def flush(self) -> None:
        """It was."""

    def close(self) -> None:
        """It is."""
