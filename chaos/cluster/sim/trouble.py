"""The steps of a disk, and its failures."""

from dataclasses import dataclass, field
from enum import Enum, auto
from errno import EIO, EROFS
from os import strerror


class DiskStep(Enum):
    """What changes a file system; a process may die before each."""

    CREATE = auto()
    MKDIR = auto()
    WRITE = auto()  # of what lies in one page
    TRUNCATE = auto()
    RENAME = auto()
    UNLINK = auto()
    SYNC = auto()  # its pages are written back
    COMMIT = auto()  # of the journal: the second half of a sync that has something to commit


@dataclass(slots=True)
class Trouble:
    """Nothing is wrong at first."""

    sync_delay_ns: int = 0  # extra time of each sync; the process waits, not this code
    lying: bool = False  # syncs are acknowledged and not done
    read_only: bool = False  # EROFS
    capacity: int | None = None  # pages that fit; ENOSPC beyond
    # How many more of these steps succeed before one fails with EIO.
    failing: dict[DiskStep, int] = field(default_factory=dict)

    def check(self, step: DiskStep) -> None:
        """Raise what this step raises now."""
        if self.read_only:
            raise OSError(EROFS, strerror(EROFS))
        if not self.failing or step not in self.failing:
            return
        self.failing[step] -= 1
        if self.failing[step] < 0:
            del self.failing[step]
            self.read_only = step is DiskStep.COMMIT  # errors=remount-ro: the journal is aborted
            raise OSError(EIO, strerror(EIO))
