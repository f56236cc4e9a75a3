"""A sum over all entries of an image: the same for equal images, however they came about."""

from hashlib import blake2b

_DIGESTS = 1 << 62
_HASH = blake2b(digest_size=8)  # copied for each entry: to make one takes as long as to use it


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
    found = _HASH.copy()
    found.update(f"{kind} {len(of)} {len(name)} {of}{name}{value}".encode())
    return int.from_bytes(found.digest(), "big")
