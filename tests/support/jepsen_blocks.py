"""A `test.jepsen` around chunks of Fressian, as `jepsen.store.format` lays it out.

The chunks in `tests/data/fressian` were written by org.fressian 0.6.6 and clojure.data.fressian
1.1.1, with the tags of jepsen.store.fressian; `values.edn` and `integers.edn` are the same values
as Clojure prints them.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

FRESSIAN = Path(__file__).parent.parent / "data" / "fressian"
ROOT, HISTORY = 9, 7  # block numbers; `test.fressian` refers to its history as block 7
_INDEX, _VALUE, _STREAM, _BIG_VECTOR = 1, 2, 4, 5
_CHUNKS = (("chunk-1", 49), ("chunk-2", 32))  # with how many operations each has


def block(kind: int, data: bytes) -> bytes:
    length = struct.pack(">q", 28 + len(data))
    rest = struct.pack(">h14x", kind)
    crc = zlib.crc32(length + bytes(4) + rest, zlib.crc32(data))
    return length + struct.pack(">I", crc) + rest + data


def chunk(name: str) -> bytes:
    return (FRESSIAN / f"{name}.fressian").read_bytes()


def file_of(blocks: Mapping[int, bytes], root: int = ROOT) -> bytes:
    """The blocks one after the other, and their index."""
    data, places = bytes(18), {}
    for number, each in blocks.items():
        places[number] = len(data)
        data += each
    index = struct.pack(">i", root)
    for number, at in places.items():
        index += struct.pack(">iq", number, at)
    head = b"JEPSEN" + struct.pack(">iq", 1, len(data))
    return head + data[18:] + block(_INDEX, index)


def vector(chunks: Sequence[tuple[int, int]], count: int) -> bytes:
    """Of chunks, each with the place of its first element and its block."""
    parts = [struct.pack(">q", count), *(struct.pack(">qi", *each) for each in chunks)]
    return block(_BIG_VECTOR, b"".join(parts))


def whole() -> bytes:
    """A test of 80 operations and one of the nemesis, in two chunks."""
    blocks = {20 + place: block(_STREAM, chunk(name)) for place, (name, _) in enumerate(_CHUNKS)}
    first = _CHUNKS[0][1]
    blocks[HISTORY] = vector([(0, 20), (first, 21)], first + _CHUNKS[1][1])
    blocks[ROOT] = block(_VALUE, chunk("test"))
    return file_of(blocks)
