"""Record batches, magic 2 (facts: records 1), found one after the other in a segment."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from crc32c import crc32c

from checkers.disk.fields import DamagedError, Fields

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
_SIZE_FIELDS = 12  # baseOffset and batchLength, which batchLength does not count
_CRC_START = 21
_CODEC_BITS, _CONTROL_BIT = 0x07, 0x20


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch and where it stands. `data` is the record block, empty if the CRC is wrong."""

    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    crc_ok: bool
    control: bool
    codec: int
    records: int
    size: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    offset: int
    key: bytes | None
    value: bytes | None


def read_batches(segment: bytes) -> Iterator[Batch]:
    """The batches of a segment, in order, those with a wrong CRC as well.

    Raises DamagedError, naming the position, where no batch can be made out any more.
    """
    at = 0
    while at < len(segment):
        if len(segment) - at < HEADER_SIZE:
            raise DamagedError(f"{len(segment) - at} bytes at position {at} are no whole batch")
        batch = _read_batch(segment, at)
        yield batch
        at += batch.size


def _read_batch(segment: bytes, at: int) -> Batch:
    header = HEADER.unpack_from(segment, at)
    base, length, epoch, magic, crc, attributes, last_delta = header[:7]
    size = _SIZE_FIELDS + length
    if magic != 2 or size < HEADER_SIZE:
        raise DamagedError(f"no batch at position {at}: magic {magic}, length {length}")
    if at + size > len(segment):
        raise DamagedError(
            f"the batch at position {at} (offset {base}) has {len(segment) - at} of {size} bytes"
        )
    crc_ok = crc32c(segment[at + _CRC_START : at + size]) == crc
    return Batch(
        base_offset=base,
        last_offset=base + last_delta,
        epoch=epoch,
        crc=crc,
        crc_ok=crc_ok,
        control=bool(attributes & _CONTROL_BIT),
        codec=attributes & _CODEC_BITS,
        records=header[-1],
        size=size,
        position=at,
        data=segment[at + HEADER_SIZE : at + size] if crc_ok else b"",
    )


def read_records(batch: Batch) -> Iterator[Record]:
    """The records of an intact, uncompressed batch. Raises DamagedError."""
    if batch.codec:
        raise DamagedError(f"the batch at offset {batch.base_offset} is compressed")
    fields = Fields(batch.data)
    for _ in range(batch.records if batch.crc_ok else 0):
        body = Fields(fields.take(fields.varint()))
        body.int8()
        body.varint()
        offset = batch.base_offset + body.varint()
        key, value = _bytes(body), _bytes(body)
        for _ in range(body.varint()):
            _bytes(body)
            _bytes(body)
        yield Record(offset=offset, key=key, value=value)


def _bytes(fields: Fields) -> bytes | None:
    size = fields.varint()
    return None if size < 0 else fields.take(size)
