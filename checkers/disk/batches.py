"""Record batches, magic 2 (KIP-98), found one after the other in a segment; and tables made of
columns.

`scan` finds them all and leaves their headers in one array; no object is made for a batch unless a
check needs it. `read_batches` walks through the few batches of a metadata log, `read_records`
through the records of one batch.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray

from checkers.disk.fields import DamagedError, Fields, decompressed

HEADER_SIZE = 61
HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),  # of all that follows it
        ("epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("records", ">i4"),
    ]
)
_FRAME = struct.Struct(">qiibI")  # the fields before the bytes that the CRC covers
_SIZE_FIELDS = 12  # base offset and length, which the length does not count
_CODEC_BITS, _CONTROL_BIT = 0x07, 0x20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The batches of a segment, in order, those with a wrong CRC included. Arrays of one length.

    `problem` says where no further batch could be recognised, and what is there.
    """

    headers: NDArray[np.void]  # of dtype HEADER
    positions: NDArray[np.int64]
    crc_ok: NDArray[np.bool_]
    problem: str | None

    def column(self, name: str) -> NDArray[np.int64]:
        """A field of all headers."""
        found: NDArray[np.int64] = self.headers[name].astype(np.int64)
        return found

    @property
    def sizes(self) -> NDArray[np.int64]:
        return self.column("length") + _SIZE_FIELDS

    @property
    def last_offsets(self) -> NDArray[np.int64]:
        return self.column("base_offset") + self.column("last_delta")

    @property
    def codecs(self) -> NDArray[np.int64]:
        return self.column("attributes") & _CODEC_BITS

    @property
    def control(self) -> NDArray[np.bool_]:
        return (self.column("attributes") & _CONTROL_BIT).astype(np.bool_)


def together(scans: Sequence[Scan]) -> Scan:
    """The batches of several segments, one after the other."""
    return Scan(
        headers=np.concatenate([each.headers for each in scans]),
        positions=np.concatenate([each.positions for each in scans]),
        crc_ok=np.concatenate([each.crc_ok for each in scans]),
        problem=next((each.problem for each in scans if each.problem is not None), None),
    )


def scan(segment: bytes) -> Scan:
    """Find the batches of a segment, up to its end or to bytes that are no batch."""
    view = memoryview(segment)
    positions: list[int] = []
    crc_ok: list[bool] = []
    at, problem = 0, None
    try:
        while at < len(segment):
            size, crc = _frame(segment, at)
            positions.append(at)
            crc_ok.append(crc32c(view[at + _FRAME.size : at + size]) == crc)
            at += size
    except DamagedError as error:
        problem = str(error)
    return Scan(
        headers=_headers(segment, positions),
        positions=np.array(positions, np.int64),
        crc_ok=np.array(crc_ok, np.bool_),
        problem=problem,
    )


def _headers(segment: bytes, positions: list[int]) -> NDArray[np.void]:
    """Cut by Python: short runs have many segments, with a few batches each."""
    return np.frombuffer(b"".join([segment[at : at + HEADER_SIZE] for at in positions]), HEADER)


def _frame(segment: bytes, at: int) -> tuple[int, int]:
    """Size and CRC of the batch at a position. Raises DamagedError if no complete batch is
    there."""
    left = len(segment) - at
    if left < HEADER_SIZE:
        raise DamagedError(f"{left} bytes at position {at} are no whole batch")
    base, length, _, magic, crc = _FRAME.unpack_from(segment, at)
    size = _SIZE_FIELDS + length
    if magic != 2 or size < HEADER_SIZE:
        raise DamagedError(f"no batch at position {at}: {_instead(segment, at, magic, length)}")
    if size > left:
        raise DamagedError(f"the batch at position {at} (offset {base}) has {left} of {size} bytes")
    return size, crc


def _instead(segment: bytes, at: int, magic: int, length: int) -> str:
    """What is there instead. A file that grew before a power cut and was not written has NULs."""
    rest = len(segment[at:].lstrip(b"\0"))
    nuls = len(segment) - at - rest
    if nuls < HEADER_SIZE:
        return f"magic {magic}, length {length}"
    return f"{nuls} NUL bytes " + (
        f"and {rest} other bytes behind them" if rest else "up to the end"
    )


class Batch(NamedTuple):
    """A batch and its position. `data` is the record block, empty if the CRC is wrong."""

    base_offset: int
    last_offset: int
    epoch: int
    crc_ok: bool
    control: bool
    codec: int
    records: int
    size: int
    position: int
    data: bytes


class Record(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


def read_batches(segment: bytes) -> Iterator[Batch]:
    """The batches of a segment, in order, those with a wrong CRC included.

    Raises DamagedError, naming the position, if no further batch can be recognised.
    """
    found = scan(segment)
    yield from batches_of(segment, found)
    if found.problem is not None:
        raise DamagedError(found.problem)


def batches_of(segment: bytes, found: Scan) -> Iterator[Batch]:
    columns = (
        found.column("base_offset"),
        found.last_offsets,
        found.column("epoch"),
        found.crc_ok,
        found.control,
        found.codecs,
        found.column("records"),
        found.sizes,
        found.positions,
    )
    for base, last, epoch, crc_ok, control, codec, records, size, at in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        yield Batch(
            base_offset=base,
            last_offset=last,
            epoch=epoch,
            crc_ok=crc_ok,
            control=control,
            codec=codec,
            records=records,
            size=size,
            position=at,
            data=segment[at + HEADER_SIZE : at + size] if crc_ok else b"",
        )


def read_records(batch: Batch) -> Iterator[Record]:
    """The records of an intact batch. Raises DamagedError."""
    fields = Fields(decompressed(batch.codec, batch.data) if batch.crc_ok else b"")
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


# Tables of many rows, made of columns: no object is made for a row.


Constant = int | str
Column = NDArray[np.generic] | Constant


def table(schema: pa.Schema, rows: int, columns: Mapping[str, Column]) -> pa.Table:
    """A table of `rows` rows; a column is an array, or one value for all of them."""
    arrays = []
    for field in schema:
        column = columns[field.name]
        if isinstance(column, np.ndarray):
            arrays.append(pa.array(column).cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), rows))
    return pa.Table.from_arrays(arrays, schema=schema)


def joined(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()


def batch_columns(found: Scan) -> dict[str, Column]:
    """The columns that tables of batches have for the batches of one segment."""
    return {
        "base_offset": found.column("base_offset"),
        "last_offset": found.last_offsets,
        "epoch": found.column("epoch"),
        "crc": found.column("crc"),
        "crc_ok": found.crc_ok,
        "control": found.control,
        "records": found.column("records"),
        "size": found.sizes,
        "position": found.positions,
        "timestamp": found.column("max_timestamp"),
        "producer_id": found.column("producer_id"),
        "producer_epoch": found.column("producer_epoch"),
        "base_sequence": found.column("base_sequence"),
    }
