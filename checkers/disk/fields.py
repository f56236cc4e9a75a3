"""Kafka's primitive fields, read from bytes (fixed integers, varints, compact strings, tags), and
compressed record blocks."""

import base64
import struct
import zlib

import pyarrow as pa

_LONGEST_VARINT = 10


class DamagedError(Exception):
    """Bytes that are not what they should be."""


class Fields:
    """A cursor over bytes. Every read raises DamagedError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        at = self.at
        if not 0 <= size <= len(self.data) - at:
            raise DamagedError(f"{size} bytes wanted at {at}, but {self.left} are left")
        self.at = at + size
        return self.data[at : at + size]

    def int8(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def boolean(self) -> bool:
        return self.int8() != 0

    def uint16(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def uvarint(self) -> int:
        if self.at < len(self.data) and (first := self.data[self.at]) < 0x80:
            self.at += 1  # one byte, as nearly all are
            return first
        value = shift = 0
        for byte in self.data[self.at : self.at + _LONGEST_VARINT]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                self.at += shift // 7
                return value
        raise DamagedError(f"varint without an end at {self.at}")

    def varint(self) -> int:
        """Zig-zag, as in records."""
        value = self.uvarint()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str | None:
        """A compact string, possibly null."""
        size = self.uvarint() - 1
        if size < 0:
            return None
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise DamagedError(f"a string that is no UTF-8 at {self.at}") from error

    def uuid(self) -> str:
        """Kafka's text form of a uuid: 22 characters of URL-safe base64."""
        return base64.urlsafe_b64encode(self.take(16)).rstrip(b"=").decode()


# Compressed record blocks, by the codecs of Kafka's batches.
#
# gzip, lz4 (its frame format) and zstd are streams. Snappy has the format of `snappy-java`: 16
# bytes of header, then blocks of raw snappy, each behind its size.


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
