"""Are the records of a batch records, and as many as it says? As a leader asks before it appends
what a client sent (`LogValidator`): the checksum holds for what its writer made by mistake, too.

A leader has little time for it: the first records are looked into, and of all others it is asked
how long they are, and so whether they are as many; of a compressed batch that is done with what its
first bytes open to. Beyond that consumers find what is wrong with it.
That offsets follow each other nobody asks, as in Kafka.
"""

from node.codec.varint import read_signed
from node.records.batch import HEADER_SIZE, BatchHeader, DamagedBatch
from node.records.compression import DamagedCompression, can_open, opened

_OPENED_BYTES = 64 * 1024
_LOOKED_INTO = 16  # records
_LONG = 0x80  # a varint of more than one byte


class MistakenRecords(DamagedBatch):
    """Whoever made the batch put something else into it than its header says."""


def check_contents(header: BatchHeader, data: bytes) -> None:
    """Of a whole batch. Raises MistakenRecords."""
    if header.codec == "none":
        _check(data, HEADER_SIZE, header.record_count, is_whole=True)
        return
    body = data[HEADER_SIZE:]
    if not can_open(header.codec):
        raise MistakenRecords(HEADER_SIZE, f"there is no {header.codec}")
    try:
        records = opened(header.codec, body, _OPENED_BYTES)
    except DamagedCompression as damage:
        raise MistakenRecords(HEADER_SIZE, f"{header.codec}: {damage}") from damage
    _check(records, 0, header.record_count, is_whole=len(records) < _OPENED_BYTES)


def _check(data: bytes, at: int, count: int, *, is_whole: bool) -> None:
    """Otherwise as far as the bytes go."""
    try:
        for _ in range(min(count, _LOOKED_INTO)):
            at = _end_of_record(data, at)
        at = _skipped(data, at, count - _LOOKED_INTO)
    except IndexError:
        if not is_whole:
            return
        raise MistakenRecords(at, "a record runs past the end of its batch") from None
    if at < len(data):
        raise MistakenRecords(at, f"{len(data) - at} bytes after the last record")


def _skipped(data: bytes, at: int, count: int) -> int:
    """Where so many records end, as their lengths say. Raises IndexError beyond the end of the
    bytes, else MistakenRecords."""
    for _ in range(count):
        length = data[at]
        if length < _LONG and not length & 1:
            at += 1 + (length >> 1)
        else:
            start = at
            length, at = read_signed(data, at)
            if length < 0:
                raise MistakenRecords(start, f"a record claims {length} bytes")
            at += length
    if at > len(data):
        raise IndexError(at)
    return at


def _end_of_record(data: bytes, at: int) -> int:
    """Where the record that begins here says that it ends, and does. Raises IndexError beyond the
    end of the bytes, else MistakenRecords."""
    start, length = at, data[at]
    at += 1
    if length >= _LONG or length & 1:
        length, at = read_signed(data, start)
        if length < 0:
            raise MistakenRecords(start, f"a record claims {length} bytes")
    else:
        length >>= 1
    end = at + length
    if end > len(data):
        raise IndexError(end)
    at += 1  # attributes
    while data[at] >= _LONG:  # its time
        at += 1
    at += 1
    while data[at] >= _LONG:  # its offset
        at += 1
    at += 1
    for _ in range(2):  # key and value
        size = data[at]
        if size < _LONG:
            at += 1 + (0 if size & 1 else size >> 1)
        else:
            size, at = read_signed(data, at)
            at += max(size, 0)
    if data[at]:
        at = _end_of_headers(data, at)
    else:
        at += 1
    if at != end:
        raise MistakenRecords(start, f"a record of {length} bytes ends at byte {at}, not {end}")
    return end


def _end_of_headers(data: bytes, at: int) -> int:
    start = at
    count, at = read_signed(data, at)
    if count < 0:
        raise MistakenRecords(start, f"a record with {count} headers")
    for _ in range(count):
        size, at = read_signed(data, at)
        if size < 0:
            raise MistakenRecords(start, "a record header without a key")
        value, at = read_signed(data, at + size)
        at += max(value, 0)
        if at > len(data):
            raise IndexError(at)
    return at
