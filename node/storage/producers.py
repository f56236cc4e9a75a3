"""The idempotent producers of a log (KIP-98, `ProducerStateManager`): the newest batches of each,
by which a duplicate is recognized, and what may follow is decided.

They are a function of the batches that the log has, or has had: a producer is remembered after its
batches are deleted (KIP-360), until it was silent for producer.id.expiration.ms. The broker looks
for such at its start, and then at intervals; a log that is truncated in between may remember from a
snapshot what it had forgotten, until the next look.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field
from struct import Struct, error
from typing import Self

import crc32c

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import NO_TIME, BatchHeader
from node.storage.disk import CorruptLog, Disk

NO_PRODUCER = -1
REMEMBERED = 5  # batches of one producer: as many as one may have in flight
SEQUENCES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A batch that is in the log."""

    first: int  # sequence numbers
    last: int
    base: Offset
    end: Offset
    time_ms: int  # the maximum timestamp of its records


@dataclass(slots=True, kw_only=True)
class Producer:
    """`batches`: of its epoch, the newest last; none if only a transaction's end has named it."""

    epoch: int
    time_ms: int  # of its last write
    batches: list[Known] = field(default_factory=list)

    def copy(self) -> "Producer":
        return Producer(epoch=self.epoch, time_ms=self.time_ms, batches=[*self.batches])


class KnownProducers:
    """The producers of one log, by their ids."""

    def __init__(self) -> None:
        self._known: dict[int, Producer] = {}
        self.end = Offset(0)  # behind all their batches: truncation there changes nothing

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[int, Producer]]:
        return iter(self._known.items())

    def find(self, producer: int) -> Producer | None:
        return self._known.get(producer)

    def appended(self, header: BatchHeader) -> None:
        """Add the next batch of the log."""
        if header.producer_id == NO_PRODUCER:
            return
        self._known[header.producer_id] = followed(self.find(header.producer_id), header)
        self.end = header.next_offset

    def restored(self, producer: int, epoch: int, time_ms: int, batch: Known | None) -> None:
        """Add the next entry of a snapshot."""
        known = self._known.get(producer)
        if known is None or known.epoch != epoch:
            known = self._known[producer] = Producer(epoch=epoch, time_ms=time_ms)
        known.time_ms = time_ms
        if batch is not None:
            known.batches.append(batch)
            del known.batches[:-REMEMBERED]
            self.end = max(self.end, batch.end)

    def expire(self, wall_ms: int, silent_ms: int) -> None:
        """Forget those whose last write, by its records, was so long ago (`isProducerExpired`).

        Records may have no time. Kafka forgets their producer at the next check; here it was silent
        since the first check after its write.
        """
        for id_, each in [*self._known.items()]:
            if each.time_ms == NO_TIME:
                each.time_ms = wall_ms
            elif wall_ms - each.time_ms >= silent_ms:
                del self._known[id_]


def followed(known: Producer | None, header: BatchHeader) -> Producer:
    """The producer after that batch; `known` is changed if it is still of the same epoch. The end
    of a transaction, which Kafka's coordinators write, has no sequence numbers.
    """
    epoch, time_ms = header.producer_epoch, header.max_timestamp_ms
    if known is None or known.epoch != epoch:
        known = Producer(epoch=epoch, time_ms=time_ms)
    known.time_ms = time_ms
    if not header.is_control:
        known.batches.append(
            Known(
                first=header.base_sequence,
                last=last_sequence(header),
                base=header.base_offset,
                end=header.next_offset,
                time_ms=time_ms,
            )
        )
        del known.batches[:-REMEMBERED]
    return known


def last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) % SEQUENCES


# `00000000000000000042.snapshot`: the idempotent producers of a log, by all batches below offset
# 42, in Kafka's format (`ProducerStateManager`, ProducerSnapshot version 1).
#
# Version (int16), CRC-32C of all that follows (uint32), the number of entries (int32), and of each
# producer: id (int64), epoch (int16), its last sequence number (int32), that record's offset
# (int64), how many records before it the batch began (int32), time (int64), the coordinator's epoch
# (int32) and where a transaction began (int64); -1 is none.
#
# Kafka keeps one batch of a producer there, and so recognizes only that after a start. Here up to
# five entries in a row are of one producer, the newest last: a reader that takes them one by one,
# as Kafka does, keeps that one, and this node all of them.


SNAPSHOT = ".snapshot"
_DIGITS = 20
_VERSION = 1
_HEAD, _COUNT = Struct(">hI"), Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_NOTHING = (-1, -1)  # of the transaction coordinator


def snapshot_name(offset: Offset) -> str:
    return f"{offset:0{_DIGITS}d}{SNAPSHOT}"


def parse_snapshot_name(name: str) -> Offset | None:
    """The offset in a snapshot's file name, or None if it is no snapshot's."""
    digits = name.removesuffix(SNAPSHOT)
    is_one = len(digits) == _DIGITS and digits.isascii() and digits.isdecimal() and name != digits
    return Offset(int(digits)) if is_one else None


def encode_producers(producers: KnownProducers) -> bytes:
    rows = []
    for id_, known in producers:
        for each in known.batches:
            delta = each.end - each.base - 1
            last = (each.last, each.end - 1, delta, each.time_ms)
            rows.append(_ENTRY.pack(id_, known.epoch, *last, *_NOTHING))
        if not known.batches:
            rows.append(_ENTRY.pack(id_, known.epoch, -1, -1, 0, known.time_ms, *_NOTHING))
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c.crc32c(body)) + body


def decode_producers(data: bytes) -> KnownProducers:
    """Raises ValueError on malformed bytes."""
    try:
        version, crc = _HEAD.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
    except error as short:
        raise ValueError(f"{len(data)} bytes are no snapshot of producers") from short
    body = data[_HEAD.size :]
    if version != _VERSION:
        raise ValueError(f"version {version} of a snapshot of producers")
    if (found := crc32c.crc32c(body)) != crc:
        raise ValueError(f"CRC-32C is {found:08x}, and the snapshot says {crc:08x}")
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise ValueError(f"{count} producers in {len(body)} bytes")
    producers = KnownProducers()
    for row in _ENTRY.iter_unpack(body[_COUNT.size :]):
        id_, epoch, last, offset, delta, time_ms, *_ = row
        batch = None
        if offset >= 0:
            batch = Known(
                first=(last - delta) % SEQUENCES,
                last=last,
                base=Offset(offset - delta),
                end=Offset(offset + 1),
                time_ms=time_ms,
            )
        producers.restored(id_, epoch, time_ms, batch)
    return producers


# The producers of an open log, and their snapshots beside it.
#
# A snapshot is taken where a segment begins, durably, and at the end when the log is flushed; they
# are deleted with their segments, and with what is truncated. So opening a log reads only the
# headers behind the newest one. Within a segment others are taken, in the page cache, so that a
# truncation never leads far back: a segment may have millions of batches. Whether they survived a
# power cut is checked by the CRC; one that cannot be read is dropped, and the one before it is
# used.


# Limits behind a snapshot: a header that is read again takes some 2 us, and for larger batches a
# system call. If there are more producers than batches, those take the time.
MAX_BATCHES, MAX_BYTES = 50_000, 64 * 1024 * 1024
_STRAYS = 2  # that an open log keeps
_BEGIN = Offset(0)

# The headers of a log's batches, from one offset to before another.
Headers = Callable[[Offset, Offset], Iterator[BatchHeader]]


@dataclass(slots=True, kw_only=True)
class ProducerStates:
    """The producers of the log in `directory`. `known` covers all batches below `end`; None, once
    the log could not be read.
    """

    disk: Disk
    directory: str
    offsets: list[Offset] = field(default_factory=list)  # of the snapshots, rising
    known: KnownProducers | None = field(default_factory=KnownProducers)
    end: Offset = _BEGIN
    damage: CorruptLog | None = None  # why it is None
    _start: Offset = _BEGIN  # of the first segment
    _loose: Offset | None = None  # the last snapshot, while it is in the page cache only
    _batches: int = 0  # since the last snapshot, or since it was opened
    _bytes: int = 0

    @classmethod
    def find(cls, disk: Disk, directory: str, names: Iterable[str]) -> Self:
        """Find the snapshots of a log that is about to be opened, among files of these names."""
        found = {name: parse_snapshot_name(name) for name in names}
        unfinished = [name for name in found if name.endswith(f"{SNAPSHOT}.tmp")]
        if unfinished:
            disk.remove(*(f"{directory}/{name}" for name in unfinished))
        offsets = sorted(offset for offset in found.values() if offset is not None)
        return cls(disk=disk, directory=directory, offsets=offsets)

    # --- what is asked ---

    def producers(self) -> KnownProducers:
        """Raises CorruptLog where the log could not be read."""
        if self.known is None:
            assert self.damage is not None
            raise self.damage
        return self.known

    # --- as the log is read, or changes ---

    def begin(self, start: Offset) -> None:
        """Begin with a log's first segment at `start`: from the snapshot there, if any."""
        self.known, self.damage, self.end, self._start = KnownProducers(), None, start, start
        if start in self.offsets:
            self._load(start)

    def advance(self, to: Offset, headers: Headers) -> None:
        """Load the newest snapshot until there, and the log behind it."""
        newer = [each for each in self.offsets if self.end < each <= to]
        while newer and not self._load(newer.pop()):
            pass
        if self.known is None:
            return
        try:
            for header in headers(self.end, to):
                self.known.appended(header)
        except CorruptLog as damage:
            self.known, self.damage = None, damage
        self.end = to

    def appended(self, header: BatchHeader) -> None:
        """The next batch of the log: it is there, or is about to be."""
        if self.known is not None:
            self.known.appended(header)
        self.end = header.next_offset
        self._batches += 1
        self._bytes += header.size

    def cut(self, end: Offset, headers: Headers) -> None:
        """The log ends at `end` now; `keep` was called before."""
        if self.known is not None and self.known.end <= end:
            self.end = end
            return
        self.begin(self._start)
        self.advance(end, headers)

    def clear(self, start: Offset) -> None:
        """All of the log is to be removed, and another begins at `start`."""
        self._remove(self.offsets)
        self.begin(start)

    # --- snapshots ---

    def take_if_due(self) -> None:
        """Take one in the page cache."""
        most = max(MAX_BATCHES, len(self.known) if self.known is not None else 0)
        if self._batches >= most or self._bytes >= MAX_BYTES:
            self._put()

    def take(self) -> bool:
        """Take one at the end of the log, and make its content durable, but not its name; False if
        it exists already.
        """
        is_new = self._put()
        if is_new or self._loose == self.end:
            self.disk.sync(self._path(self.end))
            self._loose = None
            return True
        return False

    def keep(self, first: Offset, end: Offset) -> None:
        """Keep, durably, only those of a log from `first` that ends, or is to end, at `end`."""
        self._start = max(self._start, first)
        self._remove([each for each in self.offsets if not first <= each <= end])

    def drop_within(self, first: Offset, last: Offset) -> None:
        """Drop those between two segments' beginnings: no truncation will go so far back."""
        self._remove([each for each in self.offsets if first < each < last])

    def drop_strays(self, bases: Collection[Offset]) -> None:
        """Drop what former lives left within segments, except the newest."""
        strays = [each for each in self.offsets if each not in bases]
        self._remove(strays[:-_STRAYS])

    def _put(self) -> bool:
        newest = self.offsets[-1] if self.offsets else _BEGIN
        self._batches = self._bytes = 0
        if self.known is None or self.end <= newest:
            return False
        self.disk.put(self._path(self.end), encode_producers(self.known))
        self.offsets.append(self.end)
        self._loose = self.end
        return True

    def _load(self, offset: Offset) -> bool:
        """False, and it is dropped, if it cannot be read."""
        try:
            known = decode_producers(self.disk.read_all(self._path(offset)))
        except ValueError:
            self._remove([offset])
            return False
        self.known, self.damage, self.end = known, None, offset
        return True

    def _remove(self, offsets: Iterable[Offset]) -> None:
        gone = set(offsets)
        if gone:
            self.disk.remove(*(self._path(each) for each in sorted(gone)))
            self.offsets = [each for each in self.offsets if each not in gone]

    def _path(self, offset: Offset) -> str:
        return f"{self.directory}/{snapshot_name(offset)}"
