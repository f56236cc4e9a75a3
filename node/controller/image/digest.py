"""A sum over all entries of an image: the same for equal images, however they came about."""

from hashlib import blake2b

_DIGESTS = 1 << 62


class Digest:
    def __init__(self, value: int = 0) -> None:
        self.value = value

    def count(self, kind: int, of: str, name: str, before: str | None, after: str | None) -> None:
        """An entry changes. `kind` and `of` say of what it is one; None is its absence."""
        if before is not None:
            self.value = (self.value - _entry(kind, of, name, before)) % _DIGESTS
        if after is not None:
            self.value = (self.value + _entry(kind, of, name, after)) % _DIGESTS


def _entry(kind: int, of: str, name: str, value: str) -> int:
    entry = f"{kind}\0{len(of)}\0{of}{len(name)}\0{name}{value}".encode()
    return int.from_bytes(blake2b(entry, digest_size=8).digest(), "big")
