"""Where batches of one segment of a partition's log are, by offset, time and position.

Sparse, as Kafka's: two indexes with an entry each `index.interval.bytes`, and of the batches since
the last entry every one. So what a log keeps in memory grows with its indexes, and not with its
batches. Whoever looks up a batch begins to read at an entry, and finds it within an interval.

That holds for times as well. At each entry of the offset index the time index says the latest time
until then. So the first batch that is later than one of its entries, and the batch that the next
entry names, lie between the same two entries of the offset index.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import field

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import NO_TIME, BatchHeader
from node.storage.offset_index import Entry, OffsetIndex
from node.storage.time_index import TimeIndex


def _numbers() -> "array[int]":
    return array("i")


@dataclass(slots=True, kw_only=True)
class SegmentIndex:
    """Of the batches from `first` on, a position; offsets are relative to `base`."""

    base: Offset
    interval: int  # index.interval.bytes
    first: int = 0
    offsets: OffsetIndex = field(default_factory=OffsetIndex)
    times: TimeIndex = field(default_factory=TimeIndex)
    newest_ms: int = NO_TIME  # the latest time of all batches
    _newest_last: int = 0  # and the last offset of the first that has it
    # Of each batch since the newest entry, and of that one: its last offset, and its position.
    _lasts: "array[int]" = field(default_factory=_numbers)
    _positions: "array[int]" = field(default_factory=_numbers)

    def add(self, header: BatchHeader, position: int) -> None:
        """The next batch (`LogSegment.append`)."""
        last = header.last_offset - self.base
        self._heed_time(header, last)
        if self._positions and position - self._positions[0] > self.interval:
            self.offsets.add(last, position)
            self.times.add(self.newest_ms, self._newest_last)
            del self._lasts[:]
            del self._positions[:]
        self._lasts.append(last)
        self._positions.append(position)

    def complete(self) -> None:
        """The time index tells of all batches (`LogSegment.onBecomeInactiveSegment`)."""
        self.times.add(self.newest_ms, self._newest_last)

    def truncate(self, end: Offset) -> int:
        """Forget the batches from `end` on; where those begin of which `resume` has to be told
        again."""
        self.offsets.truncate(end - self.base)
        self.times.truncate(end - self.base)
        return self.tail()

    def tail(self) -> int:
        """Where the batch of the newest entry begins."""
        newest = self.offsets.newest()
        return self.first if newest is None else newest.position

    def resume(self, batches: Iterable[tuple[int, BatchHeader]]) -> None:
        """All batches from `tail` on, after the entries were read or cut."""
        self.newest_ms, self._newest_last = self.times.newest()
        self._lasts, self._positions = _numbers(), _numbers()
        for position, header in batches:
            last = header.last_offset - self.base
            self._heed_time(header, last)
            self._lasts.append(last)
            self._positions.append(position)

    # --- what is asked ---

    def exact(self, offset: Offset) -> int | None:
        """Where the batch begins that holds `offset`, if that is behind the newest entry's."""
        newest = self.offsets.newest()
        last = offset - self.base
        if newest is not None and last <= newest.last:
            return None
        return self._positions[bisect_left(self._lasts, last)]

    def entry_at(self, offset: Offset) -> Entry | None:
        """Of the batch that ends with `offset`, or of one before."""
        return self.offsets.before(offset - self.base + 1)

    def boundary(self, position: int) -> int | None:
        """The last batch that begins there or before, if it is behind the newest entry's."""
        if not self._positions or position < self._positions[0]:
            return None
        return self._positions[bisect_right(self._positions, position) - 1]

    def before_time(self, time_ms: int) -> Entry | None:
        """No batch before that entry's is as late; None: any may be the first one."""
        until = self.times.first_reaching(time_ms)
        return self.offsets.newest() if until is None else self.offsets.before(until)

    def latest_before(self, end: Offset) -> tuple[int, Entry | None]:
        """A time, and an entry: of the batches that end before `end` the latest time is that one,
        or one of those from the entry on."""
        until = end - self.base
        return self.times.latest_before(until), self.offsets.before(until)

    def _heed_time(self, header: BatchHeader, last: int) -> None:
        if header.max_timestamp_ms > self.newest_ms:
            self.newest_ms, self._newest_last = header.max_timestamp_ms, last
