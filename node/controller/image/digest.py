"""A digest over all entries of an image: equal for equal images, however they came about."""

from collections.abc import Hashable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from struct import Struct
from typing import Any, Protocol

# A string, or an object with a `str`, which is computed only when it is hashed.
EntryValue = Hashable
# The kind of the entry (two values), its name, its value before and after; None means absent.
EntryChange = tuple[int, str, str, EntryValue | None, EntryValue | None]
_DIGESTS = 1 << 62
_WORDS = 5  # of a change
_AT_ONCE = 1_000
_SHORT, _KEPT = 200, 1_000  # characters, entries: some hundred kilobytes at most
# Copied for each entry: creating one takes as long as using it.
_new_hash = blake2b(digest_size=8).copy
_number = Struct(">Q").unpack  # takes a third of the time of `int.from_bytes`


class Counter(Protocol):
    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        """An entry changes."""


class Uncounted:
    """A `Counter` of a copy, which is never compared, so nothing is hashed."""

    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        pass


class Postponed:
    """The digest of a loaded snapshot. The start of a node does not wait for it: entries are hashed
    a few at a time, or all at once when the digest is read."""

    def __init__(self) -> None:
        self._sum = self._hashed = 0
        # The arguments of `count` for each change, flattened: a hundred thousand tuples would keep
        # the garbage collector busy.
        self._words: list[Any] = []
        self._changes = self._counted()

    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        self._words += (kind, of, name, before, after)

    def add(self, changes: Iterator[EntryChange]) -> None:
        """Count these changes too."""
        self._changes = chain(changes, self._changes)

    def hash_some(self, limit: int) -> bool:
        """Returns whether all are hashed now."""
        before = self._hashed
        for change in islice(self._changes, limit):
            self._sum += _added(*change)
            self._hashed += 1
        return self._hashed < before + limit

    @property
    def value(self) -> int:
        while not self.hash_some(_AT_ONCE):
            pass
        return self._sum % _DIGESTS

    def _counted(self) -> Iterator[EntryChange]:
        while self._words:
            kind, of, name, before, after = self._words[-_WORDS:]
            del self._words[-_WORDS:]
            yield kind, of, name, before, after


class Digest:
    """A `Counter`. It is seldom read, and the same entries change all the time: the old and new
    value of a short entry are hashed only when the digest is read, or when many are pending."""

    def __init__(self) -> None:
        self._sum = 0
        # By position: the value when all was last hashed, and the value now.
        self._changed: dict[tuple[int, str, str], tuple[EntryValue | None, EntryValue | None]] = {}
        self._loaded = Postponed()
        self._is_loading = False

    @property
    def value(self) -> int:
        self._hash_changed()
        return (self._sum + self._loaded.value) % _DIGESTS

    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        if self._is_loading:
            self._loaded.count(kind, of, name, before, after)
            return
        place = kind, of, name
        hashed, _ = self._changed.get(place) or (before, None)
        self._changed[place] = hashed, after
        is_long = len(of) + len(name) + _length(before) + _length(after) > 2 * _SHORT
        if is_long or len(self._changed) >= _KEPT:
            self._hash_changed()

    def _hash_changed(self) -> None:
        for (kind, of, name), (before, after) in self._changed.items():
            self._sum += _added(kind, of, name, before, after)
        self._changed.clear()

    def begin_loading(self) -> None:
        """Changes counted from now on are hashed later."""
        self._is_loading = True

    def end_loading(self) -> Postponed:
        """The digest of what was counted since `begin_loading`."""
        self._is_loading = False
        return self._loaded


def _length(value: EntryValue | None) -> int:
    """A value that is not a string counts as short."""
    return len(value) if isinstance(value, str) else 0


def _added(
    kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
) -> int:
    added = 0 if after is None else _entry(kind, of, name, _text(after))
    return added if before is None else added - _entry(kind, of, name, _text(before))


def _text(value: EntryValue) -> str:
    return value if isinstance(value, str) else str(value)


def _entry(kind: int, of: str, name: str, value: str) -> int:
    """Equal entries give the same; only zero bytes in names could make others look alike. A short
    value is mostly replaced soon, and its old hash is then subtracted."""
    is_short = len(of) + len(name) + len(value) <= _SHORT
    return _known_hash(kind, of, name, value) if is_short else _hash(kind, of, name, value)


def _hash(kind: int, of: str, name: str, value: str) -> int:
    found = _new_hash()
    found.update(f"{kind}\0{of}\0{name}\0{value}".encode())
    number: int = _number(found.digest())[0]
    return number


_known_hash = lru_cache(maxsize=_KEPT)(_hash)
