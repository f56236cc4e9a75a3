"""The timestamps of a segment's batches, so that a time is found without reading them: a client may
ask for thousands at once (ListOffsets; Kafka's `TimeIndex`)."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate

_LOWEST = -(2**63)


def _numbers() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class TimeIndex:
    """By the place of a batch in its segment. Places below `_first` are not looked at: what is
    there was deleted, and one is asked after the other."""

    _times: "array[int]" = field(default_factory=_numbers)  # the latest of each batch
    _newest: "array[int]" = field(default_factory=_numbers)  # and of all before, from `_first` on
    _first: int = 0

    def add(self, time_ms: int) -> None:
        """Of the next batch."""
        is_first = len(self._times) <= self._first
        self._newest.append(time_ms if is_first else max(time_ms, self._newest[-1]))
        self._times.append(time_ms)

    def truncate(self, count: int) -> None:
        """So many are left."""
        del self._times[count:]
        del self._newest[count:]

    def first_of(self, time_ms: int, first: int) -> int | None:
        """The first batch from `first` on that has that time or a later one."""
        self._begin(first)
        found = bisect_left(self._newest, time_ms, lo=first)
        return found if found < len(self._newest) else None

    def latest(self, first: int, end: int) -> int | None:
        """The latest time of the batches from `first` to before `end`; None: there are none."""
        self._begin(first)
        return self._newest[end - 1] if first < end else None

    def _begin(self, first: int) -> None:
        if first != self._first:
            self._first = first
            before = array("q", [_LOWEST]) * min(first, len(self._times))
            self._newest = before + array("q", accumulate(self._times[first:], max))
