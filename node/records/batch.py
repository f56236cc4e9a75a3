"""Record batches, magic 2: the unit that is appended, replicated, checksummed and lost.

A batch is 61 bytes of header and then its records. Its base offset and leader epoch lie outside the
CRC, so that a leader can set them without computing it anew; everything after the CRC is covered.
Batches are kept as received, and records are decoded only on demand: the bytes stored and forwarded
are identical to those received (kio's own reader drops milliseconds).
"""

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import crc32c

from node.codec.varint import INT64_BYTES, encode_signed, read_signed, read_unsigned
from node.ids import Epoch, Offset
from node.lazy_dataclass import dataclass
from node.limits import MAX_RECORDS_PER_BATCH
from node.records.compression import DamagedCompression, can_open, opened

# The error for a record that its writer encoded wrongly.


class MalformedRecord(ValueError):
    """A record's key or value is not valid for its type. Its batch's CRC held: a writer's fault."""


HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
_PREFIX = struct.Struct(">qiibI")  # base offset .. crc, not covered by the CRC
_COVERED = struct.Struct(">hiqqqhii")  # attributes .. record count
_LENGTH_END = 12  # batchLength counts the bytes after itself
_CRC_END = 21
MAGIC = 2
_CONTROL = 0x20
_CODEC_MASK = 0x07
_LOG_APPEND_TIME = 0x08
NO_TIME = -1  # a batch or record without a timestamp
# Valid attributes in the metadata log; no codec, no transaction, no delete horizon.
ATTRIBUTES = _CONTROL | _LOG_APPEND_TIME
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}

# Results of checks are cached, for the newest so many batches up to this size: a node looks at a
# batch when it receives it, as it traces and writes it, and once it is committed.
_REMEMBERED, _REMEMBERED_BYTES = 1024, 1024
KeyValue = tuple[bytes | None, bytes | None]
# Upper bound of a record's size without its value, if it has no key and no headers: its length, its
# offset delta and the value's length of five bytes each, and four bytes for the rest.
RECORD_OVERHEAD = 19
# The bytes after a record's length, by its index in the batch, if it has neither key nor own
# timestamp: attributes and timestamp delta 0, its offset delta, no key.
_OPENINGS = tuple(
    b"\x00\x00" + encode_signed(delta) + b"\x01" for delta in range(MAX_RECORDS_PER_BATCH)
)


class DamagedBatch(ValueError):
    """The bytes at `position` are not a complete, valid batch.

    `torn`: they end before the batch does, as after an interrupted write; otherwise they contradict
    themselves.
    """

    def __init__(self, position: int, reason: str, *, torn: bool = False) -> None:
        super().__init__(f"{'torn' if torn else 'corrupt'} batch at byte {position}: {reason}")
        self.position = position
        self.reason = reason
        self.torn = torn


class BatchHeader(NamedTuple):
    """The fixed part of a batch, field for field.

    A NamedTuple: opening a log creates one per batch, four times faster than a dataclass.
    """

    base_offset: Offset
    length: int  # bytes after this field
    leader_epoch: Epoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + _LENGTH_END

    @property
    def last_offset(self) -> Offset:
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def next_offset(self) -> Offset:
        return Offset(self.base_offset + self.last_offset_delta + 1)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def codec(self) -> str:
        """The name of the compression codec; this node only writes `none`."""
        number = self.attributes & _CODEC_MASK
        return CODECS.get(number, f"codec {number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. Headers are (key, value) pairs, undecoded; control and metadata have none."""

    offset: Offset
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """A complete batch that passed `check_batch`, with its bytes."""

    header: BatchHeader
    data: bytes

    def records(self) -> Iterator[Record]:
        """Decode the records one by one.

        Raises DamagedBatch if they do not fit the header (a writer's mistake: the CRC held), or if
        they are compressed, which no writer of a metadata log does.
        """
        if self.header.codec != "none":
            raise DamagedBatch(HEADER_SIZE, f"records are compressed with {self.header.codec}")
        return _records(self.header, self.data, HEADER_SIZE)

    def opened_records(self, most_bytes: int) -> Iterator[Record]:
        """As `records`, but also decompresses known codecs; of compressed records, those in the
        first `most_bytes` of decompressed data. Raises DamagedBatch also if there is more."""
        header = self.header
        if not can_open(header.codec):
            return self.records()
        try:
            data = opened(header.codec, self.data[HEADER_SIZE:], most_bytes)
        except DamagedCompression as damage:
            raise DamagedBatch(HEADER_SIZE, f"{header.codec}: {damage}") from damage
        return _records(header, data, 0)

    def records_in_order(self) -> Iterator[Record]:
        """One record at every offset, as in a metadata log. Raises DamagedBatch as `records`, and
        on an offset out of order."""
        for offset, record in enumerate(self.records(), self.header.base_offset):
            if record.offset != offset:
                reason = f"a record with offset {record.offset} in the place of {offset}"
                raise DamagedBatch(0, reason)
            yield record

    def values(self) -> tuple[bytes | None, ...]:
        """The values of `records_in_order`."""
        header, values = self.header, None
        if not header.attributes & _CODEC_MASK:
            is_small = len(self.data) <= _REMEMBERED_BYTES
            values = (_remembered_values if is_small else _plain_values)(
                self.data, header.record_count
            )
        return tuple(each.value for each in self.records_in_order()) if values is None else values


def _records(header: BatchHeader, data: bytes, position: int) -> Iterator[Record]:
    for _ in range(header.record_count):
        try:
            record, position = _read_record(data, position, header)
        except IndexError:
            raise DamagedBatch(position, "a record runs past the end of its batch") from None
        yield record
    if position != len(data):
        raise DamagedBatch(position, f"{len(data) - position} bytes after the last record")


def encode_batch(
    records: Sequence[KeyValue],
    *,
    base_offset: Offset,
    leader_epoch: Epoch,
    timestamp_ms: int,
    control: bool = False,
) -> bytes:
    """A batch of `records` (key, value), all of one time, as a leader of a metadata log writes.

    Uncompressed, no producer. Control and data records never share a batch.
    """
    assert records, "a batch holds at least one record"
    last_delta = len(records) - 1
    attributes = _CONTROL if control else 0
    covered = (attributes, last_delta, timestamp_ms, timestamp_ms, -1, -1, -1, len(records))
    pieces = [_COVERED.pack(*covered)]
    pieces.extend([_encode_record(delta, key, value) for delta, (key, value) in enumerate(records)])
    body = b"".join(pieces)
    length = _CRC_END - _LENGTH_END + len(body)
    return _PREFIX.pack(base_offset, length, leader_epoch, MAGIC, crc32c.crc32c(body)) + body


def unpack_header(data: bytes, position: int = 0) -> BatchHeader:
    """The fields of the header at `position`, whatever they say.

    Raises DamagedBatch if there are not so many bytes.
    """
    if len(data) - position < HEADER_SIZE:
        left = len(data) - position
        raise DamagedBatch(position, f"{left} bytes left, a header has {HEADER_SIZE}", torn=True)
    # Same as `_make`, without a Python call: a node reads every batch several times.
    return tuple.__new__(BatchHeader, HEADER.unpack_from(data, position))


def read_header(data: bytes, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`; checks neither the CRC nor that the rest is present.

    Raises DamagedBatch if there is no valid header.
    """
    header = unpack_header(data, position)
    base, length, _, magic, _, _, last_delta, _, _, _, _, _, count = header
    if magic != MAGIC:
        raise DamagedBatch(position, f"magic is {magic}, not {MAGIC}")
    if length < HEADER_SIZE - _LENGTH_END:
        raise DamagedBatch(position, f"batch length {length} is less than a header's")
    if base < 0 or last_delta < 0:
        raise DamagedBatch(position, "negative offsets")
    if not 0 <= count <= last_delta + 1:
        raise DamagedBatch(position, f"{count} records in {last_delta + 1} offsets")
    return header


def check_batch(data: bytes, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`, after checking that the whole batch is valid.

    Raises DamagedBatch, which says where and why, and whether the batch is torn or corrupt.
    """
    header = read_header(data, position)
    end = position + _LENGTH_END + header.length
    if end > len(data):
        missing = end - len(data)
        raise DamagedBatch(position, f"{missing} of its {header.size} bytes are missing", torn=True)
    check_crc(header, data, position)
    return header


def check_crc(header: BatchHeader, data: bytes, position: int = 0) -> None:
    """Raises DamagedBatch if it does not match a whole batch."""
    covered = memoryview(data)[position + _CRC_END : position + header.size]
    found = crc32c.crc32c(covered)
    if found != header.crc:
        raise DamagedBatch(position, f"CRC-32C is {found:08x}, the header says {header.crc:08x}")


def at_append_time(header: BatchHeader, data: bytes, time_ms: int) -> tuple[BatchHeader, bytes]:
    """The same batch with all records at the time of their append
    (message.timestamp.type=LogAppendTime; `DefaultRecordBatch.setMaxTimestamp`)."""
    timed = header._replace(
        attributes=header.attributes | _LOG_APPEND_TIME, max_timestamp_ms=time_ms
    )
    covered = _COVERED.pack(*timed[5:]) + data[HEADER_SIZE:]
    timed = timed._replace(crc=crc32c.crc32c(covered))
    return timed, _PREFIX.pack(*timed[:5]) + covered


def split_batches(data: bytes) -> Iterator[Batch]:
    """The batches of `data` in order, each checked.

    Raises DamagedBatch at the first that is torn or corrupt, after yielding all before it: a
    receiver keeps those (Fetch may cut its last batch anywhere).
    """
    if len(data) > _REMEMBERED_BYTES:
        return _split(data)
    try:
        return iter(_remembered_batches(data))
    except DamagedBatch:
        return _split(data)


def _split(data: bytes) -> Iterator[Batch]:
    position = 0
    while position < len(data):
        header = check_batch(data, position)
        end = position + header.size
        yield Batch(header, data[position:end])
        position = end


@lru_cache(_REMEMBERED)
def _remembered_batches(data: bytes) -> tuple[Batch, ...]:
    return tuple(_split(data))


def _encode_record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    key_part = b"\x01" if key is None else encode_signed(len(key)) + key
    value_part = b"\x01" if value is None else encode_signed(len(value)) + value
    # Attributes 0 and timestamp delta 0 before, header count 0 after.
    body = b"\x00\x00" + encode_signed(delta) + key_part + value_part + b"\x00"
    return encode_signed(len(body)) + body


def _plain_values(data: bytes, count: int) -> tuple[bytes | None, ...] | None:
    """None if a record is not as controllers write them: no key, no own timestamp, no headers, its
    offset that of its index.

    Makes no call per record, and takes an eighth of the time of `_read_record`: a starting node
    does this to every record of its log, twice.
    """
    values: list[bytes | None] = []
    position = HEADER_SIZE
    try:
        for opening in _OPENINGS[:count]:
            length, at = data[position], position + 1
            if length >= 0x80:
                length, at = read_unsigned(data, position)
            end = at + (length >> 1)
            if not data.startswith(opening, at):
                return None
            at += len(opening)
            size, start = data[at], at + 1
            if size >= 0x80:
                size, start = read_unsigned(data, at)
            last = start + (size >> 1)
            # Odd ones are negative; the last byte is the count of headers.
            if (length | size) & 1 or last + 1 != end or data[last]:
                return None
            values.append(data[start:last])
            position = end
    except IndexError:
        return None
    return tuple(values) if len(values) == count and position == len(data) else None


_remembered_values = lru_cache(_REMEMBERED)(_plain_values)


def _read_record(data: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    """Raises IndexError past the end of `data`, DamagedBatch if lengths disagree."""
    start = position
    length, position = read_signed(data, position)
    end = position + length
    if length < 0 or end > len(data):
        raise DamagedBatch(start, f"a record claims {length} bytes")
    timestamp_delta, position = read_signed(data, position + 1, INT64_BYTES)
    offset_delta, position = read_signed(data, position)
    key, position = _read_bytes(data, position)
    value, position = _read_bytes(data, position)
    count, position = read_signed(data, position)
    if count < 0:
        raise DamagedBatch(start, f"a record with {count} headers")
    headers = []
    for _ in range(count):
        name, position = _read_bytes(data, position)
        content, position = _read_bytes(data, position)
        if name is None:
            raise DamagedBatch(start, "a record header without a key")
        headers.append((name, content))
    if position != end:
        raise DamagedBatch(start, f"a record of {length} bytes ends at byte {position}, not {end}")
    late = bool(header.attributes & _LOG_APPEND_TIME)
    timestamp = header.max_timestamp_ms
    if not late:  # sums wrap around, as in Java
        timestamp = _int64(header.base_timestamp_ms + timestamp_delta)
    record = Record(
        offset=Offset(header.base_offset + offset_delta),
        timestamp_ms=timestamp,
        key=key,
        value=value,
        headers=tuple(headers),
    )
    return record, position


def _int64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = read_signed(data, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(data):
        raise IndexError(end)
    return data[position:end], end
