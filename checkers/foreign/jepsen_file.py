"""Jepsen's `test.jepsen`: blocks of a test, of which the history is read.

    "JEPSEN" | version, 4 bytes | where the index of blocks is, 8 bytes | blocks ...

A block is its length, 8 bytes, a CRC-32, 4, its type, 2 in a field of 16, and data. The index (type
1) has the number of the root block, and the number and offset of each. The root is the test as a
map in Fressian (2), in which `:history` refers to a block by number: a big vector (5) that has a
count and names chunks, which are streams of operations (4), or a vector in one piece (2). If a test
broke off, the file has what was written up to the last index. The format is described, though the
files differ in places, in https://jepsen-io.github.io/jepsen/jepsen.store.format.html
"""

import zlib
from collections.abc import Iterator, Mapping
from itertools import islice

from checkers.foreign.entries import HistoryLine, entry_of
from checkers.foreign.foreign_errors import MalformedError
from checkers.foreign.foreign_values import Value
from checkers.foreign.fressian import FressianError, FressianReader
from checkers.foreign.jepsen import FIELDS

MAGIC = b"JEPSEN"

_HEAD = 18  # of the file
_BLOCK_HEAD = 28  # length, checksum, and sixteen bytes for a type of two
_INDEX, _FRESSIAN, _PARTIAL_MAP, _STREAM, _BIG_VECTOR = range(1, 6)
_VERSIONS = (0, 1)
_REFERENCE = "block-ref"
_DEEPEST = 8  # big vectors in big vectors; Jepsen makes one


def read(data: bytes) -> Iterator[HistoryLine]:
    """The operations of the history; `line` counts them from 1. Raises MalformedError."""
    try:
        blocks = _Blocks(data)
        for place, operation in enumerate(blocks.history(), start=1):
            entry = entry_of(place, operation, FIELDS)
            if entry is not None:
                yield entry
    except FressianError as error:
        raise MalformedError(0, "a whole test.jepsen", str(error)) from error


class _Blocks:
    """Blocks by number. Its methods raise MalformedError and FressianError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        version, index = _number(data[6:10]), _number(data[10:_HEAD])
        if len(data) < _HEAD or version not in _VERSIONS:
            found = f"version {version}" if len(data) >= _HEAD else "the end of the file"
            raise MalformedError(0, "a test.jepsen of version 0 or 1", found)
        if index == 0:
            raise MalformedError(0, "a test.jepsen with an index of blocks", "none (truncated?)")
        kind, found_index = self._block(index)
        if kind != _INDEX or len(found_index) % 12 != 4:
            raise MalformedError(0, "an index of blocks", f"a block of type {kind}")
        self._root = _number(found_index[:4])
        self._places: Mapping[int, int] = {
            _number(found_index[at : at + 4]): _number(found_index[at + 4 : at + 12])
            for at in range(4, len(found_index), 12)
        }

    def history(self) -> Iterator[Value]:
        """Its operations."""
        found = self._map(self._root).get(":history")
        if isinstance(found, dict) and found.get(":tag") == _REFERENCE:
            return self._elements(_referred(found), 0)
        return iter(_vector(found))

    def _map(self, number: int) -> dict[str, Value]:
        """A map; if it is in several blocks, the part in the first."""
        kind, data = self._numbered(number)
        if kind not in (_FRESSIAN, _PARTIAL_MAP):
            raise MalformedError(0, "a test as the root of test.jepsen", f"a block of type {kind}")
        value = _only(data[4:] if kind == _PARTIAL_MAP else data)
        if not isinstance(value, dict):
            raise MalformedError(0, "a test as the root of test.jepsen", "no map")
        return value

    def _elements(self, number: int, depth: int) -> Iterator[Value]:
        kind, data = self._numbered(number)
        match kind:
            case 2:
                yield from _vector(_only(data))
            case 4:
                yield from FressianReader(data).values()
            case 5 if depth < _DEEPEST:
                yield from self._chunks(data, depth)
            case _:
                raise MalformedError(0, "a history in test.jepsen", f"a block of type {kind}")

    def _chunks(self, data: bytes, depth: int) -> Iterator[Value]:
        """Each chunk begins where the one before it ends, and together they have the vector's
        count."""
        count, seen = _number(data[:8]), 0
        for at in range(8, len(data), 12):
            if _number(data[at : at + 8]) != seen:
                raise MalformedError(0, f"a chunk from operation {seen + 1} on", "another one")
            for element in self._elements(_number(data[at + 8 : at + 12]), depth + 1):
                seen += 1
                yield element
        if seen != count:
            raise MalformedError(0, f"{count} operations in test.jepsen", f"{seen}")

    def _numbered(self, number: int) -> tuple[int, bytes]:
        if number not in self._places:
            raise MalformedError(0, f"block {number} in the index of test.jepsen", "none of it")
        return self._block(self._places[number])

    def _block(self, at: int) -> tuple[int, bytes]:
        """Type and data of the block at a place, checked."""
        head = self._data[at : at + _BLOCK_HEAD]
        length = _number(head[:8])
        data = self._data[at + _BLOCK_HEAD : at + length]
        if len(head) < _BLOCK_HEAD or len(data) != length - _BLOCK_HEAD:
            raise MalformedError(0, f"a whole block at byte {at}", "the end of the file")
        if zlib.crc32(head[:8] + bytes(4) + head[12:], zlib.crc32(data)) != _number(head[8:12]):
            raise MalformedError(0, f"a block at byte {at} with its checksum", "another checksum")
        return _number(head[12:14]), data


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _only(data: bytes) -> Value:
    for value in islice(FressianReader(data).values(), 1):
        return value
    raise MalformedError(0, "a value in a block of test.jepsen", "none")


def _vector(value: Value) -> tuple[Value, ...]:
    """Nil stands for a history that was never begun."""
    if value is None:
        return ()
    if not isinstance(value, tuple):
        raise MalformedError(0, "a history in test.jepsen", "no vector")
    return value


def _referred(reference: dict[str, Value]) -> int:
    parts = reference[":of"]
    if isinstance(parts, tuple) and len(parts) == 1 and type(parts[0]) is int:
        return parts[0]
    raise MalformedError(0, "a reference to a block", "none")
