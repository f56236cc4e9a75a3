"""Record batches of magic 2 (uncompressed), written and read.

A client sends many records of one shape: lengths are the same, values rise by one. So a batch is a
template into which the values are written, and a fetched batch is compared with the one that its
first value would make; only where they differ is it read record by record. Records carry no
timestamp (-1): so no clock is needed, and a broker uses the age of its files.
"""

import struct
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from crc32c import crc32c

from checkers.history.events import NOT_SENT, WORD, payload, value_in
from workloads.wire.flexible import MalformedResponseError, varint

_MAGIC = 2
_LENGTH = struct.Struct(">qi")  # base offset and length of what follows
_HEADER = struct.Struct(">qiibIhiqqqhii")
_UNCHECKED = struct.Struct(">qiibI")  # before the part that the CRC covers
_CHECKED = struct.Struct(">hiqqqhii")
_LAST_DELTA, _LAST_DELTA_AT = struct.Struct(">i"), 23
_HIGHEST = (1 << 63) - 2  # offset of a record
_CODEC_BITS, _TRANSACTIONAL_BIT, _CONTROL_BIT = 0x07, 0x10, 0x20
_CONTROL_KEY, _ABORTED = struct.Struct(">hh"), 0  # version and type
_NO_TIMESTAMP = -1
_NO_KEY = b"\x01"
_NO_HEADERS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What makes a producer idempotent: its id, and the sequence of the batch's first record; and
    whether the batch is in a transaction."""

    producer_id: int
    epoch: int
    sequence: int
    transactional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRecord:
    """Empty, where key or value are null."""

    offset: int
    key: bytes
    value: bytes


ANONYMOUS = Identity(producer_id=-1, epoch=-1, sequence=-1)


@dataclass(frozen=True, slots=True)
class Values:
    """Consecutive records: offset and value rise by one, unless the value is `NOT_SENT`."""

    offset: int
    value: int
    records: int
    epoch: int


def encode_batch(value: int, records: int, size: int, identity: Identity = ANONYMOUS) -> bytes:
    """A batch of `records` records of `size` bytes with values that count up from `value`."""
    return _batch(record_block(value, records, size), records, identity)


def _batch(block: bytes, records: int, identity: Identity) -> bytes:
    """A batch of these records, with its header."""
    checked = _CHECKED.pack(
        _TRANSACTIONAL_BIT if identity.transactional else 0,
        records - 1,
        _NO_TIMESTAMP,
        _NO_TIMESTAMP,
        identity.producer_id,
        identity.epoch,
        identity.sequence,
        records,
    )
    crc = crc32c(block, crc32c(checked))
    length = _HEADER.size - _LENGTH.size + len(block)
    return b"".join((_UNCHECKED.pack(0, length, -1, _MAGIC, crc), checked, block))


def keyed_batch(*records: tuple[bytes, bytes], identity: Identity = ANONYMOUS) -> bytes:
    """A batch of records with keys, which is what compaction goes by; each a key and a value."""
    block = b"".join(
        _sized(b"".join((b"\x00\x00", varint(2 * delta), _sized(key), _sized(value), _NO_HEADERS)))
        for delta, (key, value) in enumerate(records)
    )
    return _batch(block, len(records), identity)


def _sized(data: bytes) -> bytes:
    return varint(2 * len(data)) + data  # zig-zag


def record_block(value: int, records: int, size: int) -> bytes:
    """The records of a batch, without its header."""
    if records == 1:
        head, tail = _record_frame(0, size)
        return b"".join((head, payload(value, size), tail))
    blocks = []
    for template in _templates(records, size):
        block = template.copy()
        values = np.arange(value, value + len(block), dtype=np.int64)
        block["value"] = values[:, np.newaxis]
        blocks.append(block.tobytes())
        value += len(block)
    return b"".join(blocks)


def read_batches(data: bytes, start: int) -> Iterator[Values]:
    """What a Fetch returned from offset `start` on.

    A broker sends whole batches, so the first may begin before `start`, and cuts the last at the
    request's limit: both are expected. Raises MalformedAnswerError where there is no valid batch.
    """
    at = 0
    while len(data) - at >= _HEADER.size:
        length = _LENGTH.unpack_from(data, at)[1]
        size = _LENGTH.size + length
        base = _LENGTH.unpack_from(data, at)[0]
        last_delta = _LAST_DELTA.unpack_from(data, at + _LAST_DELTA_AT)[0]
        if size < _HEADER.size or data[at + 16] != _MAGIC or not 0 <= base <= _HIGHEST - last_delta:
            raise MalformedResponseError(f"no record batch at byte {at} of what was fetched")
        if at + size > len(data):
            return
        for values in _read_batch(data, at, size):
            if values.offset >= start:
                yield values
            elif values.offset + values.records > start:
                yield _from(values, start)
        at += size


def read_committed(
    data: bytes, start: int, aborted: Iterable[tuple[int, int]]
) -> Iterator[KeyedRecord]:
    """The records from offset `start` on, of a Fetch that reads committed ones, without those of
    `aborted` transactions: producer ids, and where each begins.

    As a consumer leaves them out (KIP-98): what a producer sent from there on, up to the marker
    that ends it. Raises MalformedResponseError.
    """
    waiting = deque(sorted(aborted, key=lambda one: one[1]))
    left_out: set[int] = set()
    at = 0
    while len(data) - at >= _HEADER.size:
        header = _HEADER.unpack_from(data, at)
        base, length, _, magic, crc, attributes, last_delta = header[:7]
        end, producer = at + _LENGTH.size + length, header[9]
        if magic != _MAGIC or length < _HEADER.size - _LENGTH.size:
            raise MalformedResponseError(f"no record batch at byte {at} of what was fetched")
        if end > len(data):
            return
        checked = data[at + _UNCHECKED.size : end]
        if crc32c(checked) != crc or attributes & _CODEC_BITS:
            raise MalformedResponseError(f"a damaged or compressed batch at offset {base}")
        while waiting and waiting[0][1] <= base + last_delta:
            left_out.add(waiting.popleft()[0])
        records = _keyed(checked[_CHECKED.size :], base, header[-1])
        if attributes & _CONTROL_BIT:
            if any(_CONTROL_KEY.unpack(each.key)[1] == _ABORTED for each in records):
                left_out.discard(producer)
        elif not (attributes & _TRANSACTIONAL_BIT and producer in left_out):
            yield from (each for each in records if each.offset >= start)
        at = end


def _keyed(block: bytes, base: int, records: int) -> Iterator[KeyedRecord]:
    """Raises MalformedResponseError."""
    end = 0
    try:
        for _ in range(records):
            length, at = _signed(block, end)
            end = at + length
            _, at = _signed(block, at + 1)  # behind the attributes: timestamp delta
            delta, at = _signed(block, at)
            size, at = _signed(block, at)
            key, at = block[at : at + max(size, 0)], at + max(size, 0)
            size, at = _signed(block, at)
            if not at + max(size, 0) < end <= len(block):
                raise MalformedResponseError(f"a record ends behind its {length} bytes")
            value = block[at : at + max(size, 0)]
            yield KeyedRecord(offset=base + delta, key=key, value=value)
    except IndexError:
        raise MalformedResponseError("a batch ends within a record") from None


def next_offset(data: bytes, start: int) -> int:
    """Where to fetch next: behind the last whole batch, control batches and gaps included."""
    at = 0
    while len(data) - at >= _HEADER.size:
        header = _HEADER.unpack_from(data, at)
        if at + _LENGTH.size + header[1] > len(data):
            break
        start = max(start, header[0] + header[6] + 1)
        at += _LENGTH.size + header[1]
    return start


def _read_batch(data: bytes, at: int, size: int) -> Iterable[Values]:
    header = _HEADER.unpack_from(data, at)
    base, _, epoch, _, crc, attributes, last_delta = header[:7]
    records = header[-1]
    checked = data[at + _UNCHECKED.size : at + size]
    intact = crc32c(checked) == crc
    if intact and attributes & _CONTROL_BIT:
        return ()
    if not intact or attributes & _CODEC_BITS:
        count = max(1, min(last_delta + 1, size))  # the count may be damaged too
        return [Values(base + delta, NOT_SENT, 1, epoch) for delta in range(count)]
    block = checked[_CHECKED.size :]
    value, value_size = _first_value(block)
    dense = value != NOT_SENT and records == last_delta + 1 <= len(block)
    if dense and record_block(value, records, value_size) == block:
        return (Values(base, value, records, epoch),)
    return _runs(block, base, records, epoch)


def _first_value(block: bytes) -> tuple[int, int]:
    """Value and size of the first record, if it is one of ours; else `NOT_SENT`."""
    try:
        _, start = _signed(block, 0)
        size, at = _signed(block, start + 4)  # attributes, timestamp, offset, key: a byte each
        if size < WORD or size % WORD or at + WORD > len(block) or block[at] > 0x7F:
            return NOT_SENT, 0
        return int.from_bytes(block[at : at + WORD], "big"), size
    except IndexError:
        return NOT_SENT, 0


def _runs(block: bytes, base: int, records: int, epoch: int) -> Iterator[Values]:
    """The records of a batch, read one by one, as spans of consecutive ones."""
    run: Values | None = None
    for delta, value in _records(block, records):
        offset = base + delta
        if (
            run is not None
            and value != NOT_SENT
            and (offset, value) == (run.offset + run.records, run.value + run.records)
        ):
            run = Values(run.offset, run.value, run.records + 1, epoch)
            continue
        if run is not None:
            yield run
        run = Values(offset, value, 1, epoch)
    if run is not None:
        yield run


def _records(block: bytes, records: int) -> Iterator[tuple[int, int]]:
    """Offset delta and value of each record. Raises MalformedAnswerError."""
    end = 0
    try:
        for _ in range(records):
            length, at = _signed(block, end)
            end = at + length
            _, at = _signed(block, at + 1)  # behind the attributes: timestamp delta
            delta, at = _signed(block, at)
            key, at = _signed(block, at)
            size, at = _signed(block, at + max(key, 0))
            if not at + max(size, 0) < end <= len(block):
                raise MalformedResponseError(f"a record ends behind its {length} bytes")
            yield delta, value_in(block[at : at + size]) if size > 0 else NOT_SENT
    except IndexError:
        raise MalformedResponseError("a batch ends within a record") from None


def _from(values: Values, start: int) -> Values:
    """Without the records before `start`."""
    skipped = start - values.offset
    value = values.value + skipped if values.value != NOT_SENT else NOT_SENT
    return Values(start, value, values.records - skipped, values.epoch)


@lru_cache(maxsize=64)
def _templates(records: int, size: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.void]], ...]:
    """The records of a batch without their values: one array for each length of offset deltas."""
    templates = []
    first = 0
    while first < records:
        head, tail = _record_frame(first, size)
        last = first
        while last < records and len(_record_frame(last, size)[0]) == len(head):
            last += 1
        shape = [
            ("head", f"V{len(head)}"),
            ("value", ">i8", (size // WORD,)),
            ("tail", f"V{len(tail)}"),
        ]
        template = np.zeros(last - first, dtype=np.dtype(shape))
        template["head"] = [_record_frame(delta, size)[0] for delta in range(first, last)]
        templates.append(template)
        first = last
    return tuple(templates)


@lru_cache(maxsize=4096)
def _record_frame(delta: int, size: int) -> tuple[bytes, bytes]:
    """The bytes before and behind the value of a record."""
    body = b"\x00\x00" + varint(2 * delta) + _NO_KEY + varint(2 * size)
    return varint(2 * (len(body) + size + len(_NO_HEADERS))) + body, _NO_HEADERS


def _signed(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and where it ends. Raises IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
