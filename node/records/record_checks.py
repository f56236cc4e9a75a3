"""Checks that a client's batch holds valid records, and as many as it declares.

A leader runs them before the append, as `LogValidator` does: the CRC also holds for the client's
own mistakes. A leader has little time for it: the first records are checked in full, the others
only by their lengths and so their number; of a compressed batch, only as far as its first bytes
decompress. Consumers find other faults. As in Kafka, it is not checked that offsets are
consecutive.
"""

from node.codec.varint import read_signed
from node.records.batch import HEADER_SIZE, BatchHeader, DamagedBatch
from node.records.compression import DamagedCompression, can_open, opened

_OPENED_BYTES = 64 * 1024
_LOOKED_INTO = 16  # records
_LONG = 0x80  # a varint of more than one byte


class MistakenRecords(DamagedBatch):
    """The batch contains something other than its header declares."""


def check_contents(header: BatchHeader, data: bytes) -> None:
    """Checks a whole batch. Raises MistakenRecords."""
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
    """Unless `is_whole`, checks as far as the bytes go."""
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
    """The end of that many records, by their lengths. Raises IndexError beyond the end of the
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
    """The end of the record at `at`, by its length and by its fields. Raises IndexError beyond the
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
    while data[at] >= _LONG:  # timestamp delta
        at += 1
    at += 1
    while data[at] >= _LONG:  # offset delta
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
