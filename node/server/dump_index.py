"""`kraft-node dump-log` of the index files of a segment, as Kafka's tool prints them."""

from collections.abc import Iterator
from pathlib import Path

from node.records.batch import HEADER_SIZE, DamagedBatch, read_header
from node.server.real_disk import open_to_read
from node.storage.disk import File
from node.storage.offset_index import OFFSET_INDEX, OffsetIndex
from node.storage.segment import SUFFIX, parse_segment_name
from node.storage.time_index import TIME_INDEX, TimeIndex


def is_index(path: Path) -> bool:
    return path.suffix in (OFFSET_INDEX, TIME_INDEX)


def index_lines(path: Path) -> Iterator[str]:
    """A line for each entry; one that begins with DAMAGED for each that leads nowhere in the
    segment beside it. Raises OSError where a file cannot be read."""
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
