"""How far the log was flushed, as the name of an empty file beside it: `flushed-<offset>`.

Every batch below the mark was made durable once, so damage there is rot. What is at or above it may
never have been written, and damage is what a power cut left (`recovery`). The files of the log hold
nothing of this: they stay as Kafka writes them.

* **Never ahead.** The file is renamed after the flush that it tells of, and before a truncation.
* **Not torn.** A rename is one event in a file system's journal: the old name or the new one.
* **Not dear.** It is not synced: it becomes durable together with the next flush, which commits the
  journal because the log has grown (ext4: `tests/sim/test_real_power_off.py`). And it is renamed
  once in eight flushes, since what it adds to every commit of the journal was an eighth of the CPU
  time of a write. So the last eight flushes may not be vouched for; where a file system commits
  names later than that, more are not. After an orderly start everything is.
"""

from typing import Self

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.storage.disk import Disk

_PREFIX = "flushed-"
_DIGITS = 20
FLUSHES_A_RISE = 8


@dataclass(slots=True, kw_only=True)
class FlushMark:
    """Of the log in `directory`, while that is open."""

    disk: Disk
    directory: str
    flushed: Offset  # as the name says
    late: int = 0  # how many flushes it does not tell of

    @classmethod
    def put(cls, disk: Disk, directory: str, end: Offset) -> Self:
        """All below `end` was flushed; the only mark from now on, durable when it returns."""
        path = f"{directory}/{flush_mark_name(end)}"
        if end not in (found := _marks(disk, directory)):
            if found:
                disk.rename(f"{directory}/{flush_mark_name(found.pop())}", path)
            else:
                disk.open(path).close()
        for other in found:
            if other != end:
                disk.remove(f"{directory}/{flush_mark_name(other)}")
        disk.sync_names(directory)
        return cls(disk=disk, directory=directory, flushed=end)

    def rise(self, end: Offset) -> None:
        """All below `end` was flushed before this call."""
        assert end >= self.flushed
        self.late += 1
        if self.late == FLUSHES_A_RISE:
            self._move(end)

    def fall(self, end: Offset) -> None:
        """What is at `end` or above is about to be cut off; durable when it returns."""
        if end < self.flushed:
            self._move(end)
            self.disk.sync_names(self.directory)

    def _move(self, end: Offset) -> None:
        if end != self.flushed:
            old, new = flush_mark_name(self.flushed), flush_mark_name(end)
            self.disk.rename(f"{self.directory}/{old}", f"{self.directory}/{new}")
            self.flushed = end
        self.late = 0


def find_mark(disk: Disk, directory: str) -> Offset | None:
    """As the last process left it, or None if nothing tells. Of several, which no node leaves
    behind, the highest."""
    return max(_marks(disk, directory), default=None)


def _marks(disk: Disk, directory: str) -> list[Offset]:
    """Rising."""
    found = (_parse(name) for name in disk.names(directory))
    return [offset for offset in found if offset is not None]


def flush_mark_name(offset: Offset) -> str:
    return f"{_PREFIX}{offset:0{_DIGITS}d}"


def _parse(name: str) -> Offset | None:
    """The offset that a file name tells, or None if it is no mark's."""
    digits = name.removeprefix(_PREFIX)
    ours = digits.isascii() and digits.isdecimal() and len(digits) == _DIGITS
    if not ours or name == digits:
        return None
    return Offset(int(digits))
