"""A sum over all entries of an image: the same for equal images, however they came about."""

from hashlib import blake2b
from struct import Struct

_DIGESTS = 1 << 62
# Copied for each entry: to make one takes as long as to use it.
_new_hash = blake2b(digest_size=8).copy
_number = Struct(">Q").unpack  # takes a third of the time of `int.from_bytes`


class Digest:
    def __init__(self, value: int = 0) -> None:
        self._sum = value

    @property
    def value(self) -> int:
        return self._sum % _DIGESTS

    def count(self, kind: int, of: str, name: str, before: str | None, after: str | None) -> None:
        """An entry changes. `kind` and `of` say of what it is one; None is its absence."""
        if before is not None:
            self._sum -= _entry(kind, of, name, before)
        if after is not None:
            self._sum += _entry(kind, of, name, after)


def _entry(kind: int, of: str, name: str, value: str) -> int:
    """Equal entries give the same; only zero bytes in names could make others look alike."""
    found = _new_hash()
    found.update(f"{kind}\0{of}\0{name}\0{value}".encode())
    number: int = _number(found.digest())[0]
    return number
