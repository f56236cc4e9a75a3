"""Parts of files that stand for their bytes in an answer, until it is sent."""

from collections.abc import Iterable
from typing import Protocol


class Slice(Protocol):
    """See `node.storage.slices`."""

    def __len__(self) -> int: ...

    def read(self, position: int, length: int) -> bytes | None:
        """So many bytes of it; None: they are not what they were any more."""


Piece = bytes | Slice


class Spliced(bytearray):
    """What is written of a message; a slice that is added leaves its place, and nothing else."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data)
        self._slices: list[tuple[int, Slice]] = []  # and behind how many bytes each is

    def __iadd__(self, value: "bytes | bytearray | Slice") -> "Spliced":  # type: ignore[override, misc]  # a bytearray takes no slices
        if isinstance(value, bytes | bytearray):
            self.extend(value)
        else:
            self._slices.append((len(self), value))
        return self

    def pieces(self) -> tuple[Piece, ...]:
        """All of it, in order."""
        found: list[Piece] = []
        at = 0
        for position, each in self._slices:
            found += [bytes(self[at:position]), each]
            at = position
        return (*found, bytes(self[at:]))


def whole(pieces: Iterable[Piece]) -> bytes | None:
    """Read at once; None: something is not what it was any more."""
    read = [p if isinstance(p, bytes) else p.read(0, len(p)) for p in pieces]
    known = [each for each in read if each is not None]
    return b"".join(known) if len(known) == len(read) else None


def read_all(piece: Slice) -> bytes:
    """In the step that took it."""
    data = piece.read(0, len(piece))
    assert data is not None, "it was cut off since it was taken"
    return data
