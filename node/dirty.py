"""The parts of a node's role that its next poll has to look at.

Every step ends in a poll, and most steps serve records: they leave the quorum, the registration and
the requests to the controller as they are. So a poll looks at a part only if it is dirty: an event
that may concern it was handled since the last look (`mark`), or its deadline has come.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from node.ids import NEVER_NS

P = TypeVar("P", bound=StrEnum)  # its members' hashes are those of strings: quick

_MARKED = -1


class Dirty(Generic[P]):
    """At first all parts are dirty. `deadlines`: when a part that has one is due, as of now."""

    def __init__(self, parts: type[P], deadlines: Mapping[P, Callable[[], int]]) -> None:
        self._deadlines = deadlines
        # Until when each is clean; None: until its deadline, which is to be computed.
        self._clean_until_ns: dict[P, int | None] = dict.fromkeys(parts, _MARKED)

    def mark(self, part: P) -> None:
        """Something happened that may concern this part."""
        self._clean_until_ns[part] = _MARKED

    def take(self, part: P, mono_ns: int) -> bool:
        """Is the part to be looked at? From then on it is clean."""
        due_ns = self._clean_until_ns[part]
        if due_ns is None:
            due_ns = self._clean_until_ns[part] = self._computed_ns(part)
        if mono_ns < due_ns:
            return False
        self._clean_until_ns[part] = None
        return True

    def due_ns(self, part: P) -> int:
        """The deadline of a part. Only a look at the part moves it, or an event that marks it."""
        due_ns = self._clean_until_ns[part]
        if due_ns is None:
            due_ns = self._clean_until_ns[part] = self._computed_ns(part)
        return self._computed_ns(part) if due_ns == _MARKED else due_ns

    def _computed_ns(self, part: P) -> int:
        deadline = self._deadlines.get(part)
        return NEVER_NS if deadline is None else deadline()
