"""Two copies of one disk, compared: what its files said while the power was on, and what it holds.

What a file says comes out of the page cache; what the disk holds is read after the power was cut.
Bytes decide, not sizes: an index is a hole of megabytes, and zeros at a file's end say nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

BLOCK = 4096  # of the file system


class Status(StrEnum):
    """The disk's content of a file, compared with the file as it was read before the cut."""

    SAME = "same"
    SHORTER = "shorter"  # it ends earlier than the file
    ZEROS = "zeros"  # zeros in place of the file's bytes
    OLDER = "older"  # other bytes than the file had, or a file that was already deleted
    MISSING = "missing"  # no such file


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """Bytes `start` up to `end` of a file, in which the two copies differ."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFile:
    """One file of a disk, by its path below the disk's top."""

    path: str
    status: Status
    said: int  # bytes, without zeros at the end
    held: int
    ranges: tuple[ByteRange, ...] = ()  # rising; none if a whole file is missing

    @property
    def differs(self) -> bool:
        return self.status is not Status.SAME


def compare_copies(said: Path, held: Path) -> list[ComparedFile]:
    """Every file of either copy, by path."""
    paths = sorted({*_files(said), *_files(held)})
    return [_compare(path, said / path, held / path) for path in paths]


def compare_bytes(path: str, said: bytes | None, held: bytes | None) -> ComparedFile:
    """Two contents of one file; None: the file does not exist. At least one of them exists."""
    assert said is not None or held is not None
    told, kept = len((said or b"").rstrip(b"\0")), len((held or b"").rstrip(b"\0"))
    if said is None or held is None:
        status = Status.MISSING if held is None else Status.OLDER
        return ComparedFile(path=path, status=status, said=told, held=kept)
    one, other = (_padded(content, max(told, kept)) for content in (said, held))
    differing = np.flatnonzero(one != other)
    return ComparedFile(
        path=path,
        status=_status(other[differing], held_to=len(held), said_to=told),
        said=told,
        held=kept,
        ranges=tuple(_ranges(differing)),
    )


def _compare(path: str, said: Path, held: Path) -> ComparedFile:
    contents = [each.read_bytes() if each.is_file() else None for each in (said, held)]
    return compare_bytes(path, *contents)


def _files(copy: Path) -> Iterator[str]:
    for path in copy.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(copy))


def _padded(content: bytes, size: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(content[:size].ljust(size, b"\0"), dtype=np.uint8)


def _status(held: npt.NDArray[np.uint8], *, held_to: int, said_to: int) -> Status:
    """`held`: the bytes of the disk that differ from the file's."""
    if not held.size:
        return Status.SAME
    if held.any():
        return Status.OLDER
    return Status.SHORTER if held_to < said_to else Status.ZEROS


def _ranges(differing: npt.NDArray[np.intp]) -> Iterator[ByteRange]:
    """Positions less than a block apart belong to one range."""
    if differing.size:
        for part in np.split(differing, np.flatnonzero(np.diff(differing) >= BLOCK) + 1):
            yield ByteRange(start=int(part[0]), end=int(part[-1]) + 1)
