"""`kraft-node dump-log`: the content of segments, indexes and checkpoints, sound or not.

One line a batch, one a record, damage marked where it is. Reading goes on behind damage with the
next sound batch, since an operator wants to know how much is lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TextIO
from uuid import UUID

from node.ids import uuid_text
from node.records.batch import (
    HEADER_SIZE,
    Batch,
    BatchHeader,
    DamagedBatch,
    MalformedRecord,
    Record,
    read_header,
)
from node.records.control import decode_control
from node.records.metadata import UnknownRecord, decode_metadata
from node.server.real_disk import open_to_read
from node.storage.disk import File
from node.storage.indexes import OFFSET_INDEX, TIME_INDEX, OffsetIndex, TimeIndex
from node.storage.segment import SUFFIX, find_batch, parse_segment_name, scan_batches

# Index files of a segment, printed as by Kafka's tool.


def is_index(path: Path) -> bool:
    return path.suffix in (OFFSET_INDEX, TIME_INDEX)


def index_lines(path: Path) -> Iterator[str]:
    """A line for each entry; one that leads nowhere in the segment beside it begins with DAMAGED.
    Raises OSError if a file cannot be read.
    """
    base = parse_segment_name(path.stem + SUFFIX) or 0
    try:
        if path.suffix == TIME_INDEX:
            times = TimeIndex.parse(path.read_bytes())
            for time_ms, last in zip(times.times, times.lasts, strict=True):
                yield f"timestamp: {time_ms} offset: {base + last}"
            return
        file = open_to_read(path.with_suffix(SUFFIX))
        try:
            yield from _offset_lines(OffsetIndex.parse(path.read_bytes(), file.size()), file, base)
        finally:
            file.close()
    except ValueError as why:
        yield f"DAMAGED {why}"


def _offset_lines(index: OffsetIndex, file: File, base: int) -> Iterator[str]:
    for last, position in zip(index.lasts, index.positions, strict=True):
        yield f"offset: {base + last} position: {position}"
        try:
            found = read_header(file.read(position, HEADER_SIZE)).last_offset
        except DamagedBatch as damage:
            yield f"DAMAGED position: {position} {damage.reason}"
        else:
            if found != base + last:
                yield f"DAMAGED position: {position} the batch there ends with offset {found}"


def dump(paths: Sequence[Path], out: TextIO) -> int:
    """Print every batch and record of `paths`. 0 if all was sound, 1 if anything was damaged.

    Raises OSError on a file that cannot be read.
    """
    damaged = 0
    for path in paths:
        print(f"Dumping {path}", file=out)
        if is_index(path):
            damaged += _show(index_lines(path), out)
            continue
        file = open_to_read(path)
        try:
            damaged += dump_file(file, out)
        finally:
            file.close()
    return 1 if damaged else 0


def dump_file(file: File, out: TextIO) -> int:
    """Print every batch and record of `file`. Returns the number of damaged places."""
    return _show(_lines(file), out)


def _show(lines: Iterable[str], out: TextIO) -> int:
    damaged = 0
    for line in lines:
        damaged += line.startswith("DAMAGED")
        print(line, file=out)
    return damaged


def _lines(file: File) -> Iterator[str]:
    start: int | None = 0
    while start is not None:
        try:
            for position, header in scan_batches(file, start):
                yield _batch_line(position, header)
                batch = Batch(header, file.read(position, header.size))
                yield from _record_lines(position, batch)
            return
        except DamagedBatch as damage:
            start = _next_sound(file, damage.position)
            size = (file.size() if start is None else start) - damage.position
            then = "the file ends" if start is None else "a sound batch follows"
            yield f"DAMAGED position: {damage.position} bytes: {size} {damage.reason}; then {then}"


def _next_sound(file: File, damaged: int) -> int | None:
    found = find_batch(file, damaged + 1)
    return None if found is None else found[0]


def _batch_line(position: int, header: BatchHeader) -> str:
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset}"
        f" count: {header.record_count} partitionLeaderEpoch: {header.leader_epoch}"
        f" isControl: {str(header.is_control).lower()} position: {position}"
        f" maxTimestamp: {header.max_timestamp_ms} size: {header.size}"
        f" compresscodec: {header.codec} crc: {header.crc:08x}"
    )


def _record_lines(position: int, batch: Batch) -> Iterator[str]:
    try:
        for record in batch.records():
            yield f"| offset: {record.offset} {_content(record, batch.header)}"
    except DamagedBatch as damage:
        yield f"DAMAGED position: {position + damage.position} {damage.reason}"


def _content(record: Record, header: BatchHeader) -> str:
    """The record with its type, or its bytes if the type is unknown to this node."""
    try:
        if header.is_control:
            return _text(decode_control(record.key, record.value))
        found = decode_metadata(record.value)
        if isinstance(found, UnknownRecord):
            return _bytes(record, f"{found} is unknown")
        return _text(found)
    except MalformedRecord as why:
        return _bytes(record, str(why))


def _bytes(record: Record, why: str) -> str:
    key = "null" if record.key is None else record.key.hex()
    value = "null" if record.value is None else record.value.hex()
    return f"key: {key} value: {value} ({why})"


def _text(value: object) -> str:
    """A record as its constructor's call, but with uuids as Kafka writes them."""
    if isinstance(value, UUID):
        return uuid_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_text(each) for each in value)}]"
    if is_dataclass(value):
        named = (f"{each.name}={_text(getattr(value, each.name))}" for each in fields(value))
        return f"{type(value).__name__}({', '.join(named)})"
    return repr(value)
