"""A sum over all entries of an image: the same for equal images, however they came about."""

from collections.abc import Hashable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from struct import Struct
from typing import Any, Protocol

# A text, or what has one (`str`): that is asked for only when it is hashed.
EntryValue = Hashable
# Of what an entry is one, by two words, its name, its value before and after; None is its absence.
EntryChange = tuple[int, str, str, EntryValue | None, EntryValue | None]
_DIGESTS = 1 << 62
_WORDS = 5  # of a change
_AT_ONCE = 1_000
_SHORT, _KEPT = 200, 1_000  # characters, entries: some hundred kilobytes at most
# Copied for each entry: to make one takes as long as to use it.
_new_hash = blake2b(digest_size=8).copy
_number = Struct(">Q").unpack  # takes a third of the time of `int.from_bytes`


class Counter(Protocol):
    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        """An entry changes."""


class Uncounted:
    """A `Counter` of a copy: nobody compares it, so nothing of it is hashed."""

    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        pass


class Postponed:
    """The digest of what a snapshot holds. A node that starts from one does not wait for it:
    entries are hashed some at a time, or all when somebody asks."""

    def __init__(self) -> None:
        self._sum = self._hashed = 0
        # Of each change what `count` is given, one after the other: a hundred thousand tuples would
        # keep the garbage collector busy.
        self._words: list[Any] = []
        self._changes = self._counted()

    def count(
        self, kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
    ) -> None:
        self._words += (kind, of, name, before, after)

    def add(self, changes: Iterator[EntryChange]) -> None:
        """They are counted as well."""
        self._changes = chain(changes, self._changes)

    def hash_some(self, limit: int) -> bool:
        """Are all hashed now?"""
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
    """A `Counter`. It is seldom asked for, and the same entries change all the time: a short one is
    hashed as it was and as it is when somebody asks, or when many wait for that."""

    def __init__(self) -> None:
        self._sum = 0
        # By where they are: what stood there when all was hashed, and what does now.
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
        """What is counted from now on is hashed later."""
        self._is_loading = True

    def end_loading(self) -> Postponed:
        """Of what was counted meanwhile."""
        self._is_loading = False
        return self._loaded


def _length(value: EntryValue | None) -> int:
    """Of what is no text, as if it were short."""
    return len(value) if isinstance(value, str) else 0


def _added(
    kind: int, of: str, name: str, before: EntryValue | None, after: EntryValue | None
) -> int:
    added = 0 if after is None else _entry(kind, of, name, _text(after))
    return added if before is None else added - _entry(kind, of, name, _text(before))


def _text(value: EntryValue) -> str:
    return value if isinstance(value, str) else str(value)


def _entry(kind: int, of: str, name: str, value: str) -> int:
    """Equal entries give the same; only zero bytes in names could make others look alike. What is
    short is mostly replaced soon, and is then taken off the sum."""
    is_short = len(of) + len(name) + len(value) <= _SHORT
    return _known_hash(kind, of, name, value) if is_short else _hash(kind, of, name, value)


def _hash(kind: int, of: str, name: str, value: str) -> int:
    found = _new_hash()
    found.update(f"{kind}\0{of}\0{name}\0{value}".encode())
    number: int = _number(found.digest())[0]
    return number


_known_hash = lru_cache(maxsize=_KEPT)(_hash)
