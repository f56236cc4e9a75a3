"""Batches for tests of whatever stores or reads them."""

import struct

import crc32c

from node.codec.varint import encode_signed
from node.ids import Epoch, LogPosition, Offset
from node.records.batch import HEADER, BatchHeader, encode_batch
from node.records.control import KRaftVersion
from node.records.metadata import ConfigRecord, encode_metadata
from node.records.snapshot import SnapshotEncoder

CRC_END = 21  # the CRC covers what follows


def batch(
    base: int, epoch: int, records: int = 1, *, size: int = 0, timestamp_ms: int | None = None
) -> bytes:
    """A batch of `records` configuration records, each value made at least `size` long."""
    values = [_config(base + index, size) for index in range(records)]
    return encode_batch(
        [(None, encode_metadata(value)) for value in values],
        base_offset=Offset(base),
        leader_epoch=Epoch(epoch),
        timestamp_ms=1_700_000_000_000 + base if timestamp_ms is None else timestamp_ms,
    )


def snapshot(id_: LogPosition, values: int = 1, *, size: int = 0) -> bytes:
    """A whole snapshot of `values` configuration records in one batch each, such as a node writes
    at `id_`."""
    encoder = SnapshotEncoder(id_.epoch, 1_700_000_000_000 + id_.offset)
    pieces = [encoder.opening([KRaftVersion(version=1)])]
    for number in range(values):
        pieces.append(encoder.data([encode_metadata(_config(number, size))]))
    return b"".join([*pieces, encoder.closing()])


def timed_batch(
    *times_ms: int, header_ms: int | None = None, codec: int = 0, records: bytes | None = None
) -> bytes:
    """As a client sends it: a record of each of these times. `header_ms` is what the header says of
    the latest one, and `records` what stands there instead of them."""
    body = records
    if body is None:
        body = b"".join(
            _timed_record(delta, time_ms - times_ms[0]) for delta, time_ms in enumerate(times_ms)
        )
    latest = max(times_ms) if header_ms is None else header_ms
    last = len(times_ms) - 1
    numbers = (codec, last, times_ms[0], latest, -1, -1, -1, len(times_ms))
    covered = struct.pack(">hiqqqhii", *numbers) + body
    head = struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c.crc32c(covered))
    return head + covered


def with_header(batch: bytes, **fields: int) -> bytes:
    """The same batch with other fields in its header, and a CRC that matches."""
    header = BatchHeader._make(HEADER.unpack_from(batch))._replace(**fields)  # type: ignore[arg-type]
    covered = (HEADER.pack(*header) + batch[HEADER.size :])[CRC_END:]
    return HEADER.pack(*header._replace(crc=crc32c.crc32c(covered)))[:CRC_END] + covered


def _timed_record(delta: int, after_ms: int) -> bytes:
    body = b"\0" + encode_signed(after_ms) + encode_signed(delta) + b"\x01\x02v\0"
    return encode_signed(len(body)) + body


def _config(value: int, size: int) -> ConfigRecord:
    return ConfigRecord(
        resource_type=16,
        resource_name="register",
        name="interval.ms",
        value=str(value).rjust(size, "0"),
    )
