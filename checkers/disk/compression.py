"""Compressed record blocks, by the codecs of Kafka's batches.

gzip, lz4 (its frame format) and zstd are streams. Snappy has the format of `snappy-java`: 16 bytes
of header, then blocks of raw snappy, each behind its size.
"""

import struct
import zlib

import pyarrow as pa

from checkers.disk.fields import DamagedError, Fields

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
_STREAMS = {LZ4: "lz4", ZSTD: "zstd"}
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_SIZE = struct.Struct(">i")


def decompressed(codec: int, block: bytes) -> bytes:
    """The record block of a batch. Raises DamagedError for an unknown codec or damaged data."""
    try:
        match codec:
            case 0:
                return block
            case 1:  # GZIP
                return zlib.decompress(block, wbits=16 + zlib.MAX_WBITS)
            case 2:  # SNAPPY
                return _snappy(block)
            case 3 | 4:
                stream = pa.CompressedInputStream(pa.BufferReader(block), _STREAMS[codec])
                return bytes(stream.read())
    except (OSError, zlib.error, struct.error, pa.ArrowInvalid) as error:
        raise DamagedError(f"a block of codec {codec} does not decompress: {error}") from error
    raise DamagedError(f"codec {codec} is unknown")


def _snappy(block: bytes) -> bytes:
    if not block.startswith(_XERIAL):
        raise DamagedError("a snappy block without its header")
    at, parts = _XERIAL_HEADER, []
    while at < len(block):
        (size,) = _SIZE.unpack_from(block, at)
        at += _SIZE.size
        part = block[at : at + size]
        length = Fields(part).uvarint()  # raw snappy begins with its decompressed size
        parts.append(pa.Codec("snappy").decompress(part, length, asbytes=True))
        at += size
    return b"".join(parts)
