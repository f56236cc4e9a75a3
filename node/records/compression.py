"""Decompresses the records of a batch, only as far as needed.

Kafka's codecs: gzip; snappy, with or without the framing of Java's library; lz4, in its frames;
zstd, by a library of its own, which is imported with the first batch that needs it.

A client may send a compression bomb (a thousand to one in gzip), so little is decompressed beyond
the requested bytes. Snappy and lz4 take some tenth of a microsecond a byte.
"""

import zlib

_GZIP = 31  # selects gzip headers in zlib
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_BYTES = 16  # header of the framing, with its two versions
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_CONTENT_SIZE, _BLOCK_CHECKSUMS, _DICTIONARY, _VERSIONS, _VERSION_1 = 0x08, 0x10, 0x01, 0xC0, 0x40
_STORED = 1 << 31  # flag in a block's length: it is not compressed
_LEAST_MATCH = 4  # bytes, of lz4
_LONG = 15  # largest value of four bits: more bytes follow
_ZSTD_PIECE = 64  # bytes, of which each four may expand to 128 KiB


class DamagedCompression(ValueError):
    """The bytes are not valid for the codec."""


def can_open(codec: str) -> bool:
    return codec in _OPENERS


def opened(codec: str, data: bytes, most: int) -> bytes:
    """The first `most` decompressed bytes of `data`, or all of them; `codec` is one of `CODECS`.
    Raises DamagedCompression."""
    try:
        return _OPENERS[codec](data, most)[:most]
    except (zlib.error, IndexError) as error:
        raise DamagedCompression(str(error)) from error


def _gzip(data: bytes, most: int) -> bytes:
    stream = zlib.decompressobj(_GZIP)
    found = stream.decompress(data, most)
    if not stream.eof and len(found) < most:
        raise DamagedCompression("gzip ends too early")
    return found


def _snappy(data: bytes, most: int) -> bytes:
    out = bytearray()
    if not data.startswith(_XERIAL):
        _snappy_block(data, 0, len(data), out, most)
        return bytes(out)
    at = _XERIAL_BYTES
    while at < len(data) and len(out) < most:
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if at + size > len(data):
            raise DamagedCompression("a block of snappy runs past the end")
        _snappy_block(data, at, at + size, out, most)
        at += size
    return bytes(out)


def _snappy_block(data: bytes, at: int, end: int, out: bytearray, most: int) -> None:
    base, size, shift = len(out), 0, 0
    while True:
        size |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            break
    while at < end and len(out) < most:
        tag = data[at]
        kind, at = tag & 3, at + 1
        if kind == 0:
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at : at + extra], "little")
                at += extra
            length += 1
            if at + length > end:
                raise DamagedCompression("a literal of snappy runs past its block")
            out += data[at : at + length]
            at += length
            continue
        if kind == 1:
            length, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            width = 2 if kind == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(data[at : at + width], "little")
            at += width
        _copy(out, base, offset, length)
    if at == end and len(out) - base != size:
        raise DamagedCompression(f"{len(out) - base} bytes of snappy, which says {size}")


def _lz4(data: bytes, most: int) -> bytes:
    if not data.startswith(_LZ4_MAGIC):
        raise DamagedCompression("lz4 begins otherwise")
    flags = data[4]
    if flags & _VERSIONS != _VERSION_1:
        raise DamagedCompression("another version of lz4")
    at = 7 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY else 0)
    out = bytearray()
    while len(out) < most:
        if at + 4 > len(data):
            raise DamagedCompression("lz4 ends without an end mark")
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if size == 0:
            break
        end = at + (size & ~_STORED)
        if end > len(data):
            raise DamagedCompression("a block of lz4 runs past the end")
        if size & _STORED:
            out += data[at:end]
        else:
            _lz4_block(data, at, end, out, most)
        at = end + (4 if flags & _BLOCK_CHECKSUMS else 0)
    return bytes(out)


def _lz4_block(data: bytes, at: int, end: int, out: bytearray, most: int) -> None:
    """It may copy from earlier blocks."""
    while at < end and len(out) < most:
        token = data[at]
        length, at = _lz4_length(data, at + 1, token >> 4)
        if at + length > end:
            raise DamagedCompression("a literal of lz4 runs past its block")
        out += data[at : at + length]
        at += length
        if at == end:
            return
        offset = data[at] | data[at + 1] << 8
        length, at = _lz4_length(data, at + 2, token & 15)
        _copy(out, 0, offset, length + _LEAST_MATCH)


def _lz4_length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == _LONG:
        while True:
            more, at = data[at], at + 1
            length += more
            if more != 255:
                break
    return length, at


def _copy(out: bytearray, base: int, offset: int, length: int) -> None:
    """Copies from `offset` bytes back; the source may overlap the bytes being written."""
    start = len(out) - offset
    if offset == 0 or start < base:
        raise DamagedCompression("it copies from before its beginning")
    if offset >= length:
        out += out[start : start + length]
    else:
        out += (out[start:] * (length // offset + 1))[:length]


def _zstd(data: bytes, most: int) -> bytes:
    """One frame, as producers write it, or several. The window limit is that of Java's library."""
    import zstandard

    out, rest = bytearray(), data
    try:
        while len(out) < most and (rest or not out):
            frame, at = zstandard.ZstdDecompressor().decompressobj(), 0
            while not frame.eof and len(out) < most:
                if at >= len(rest):
                    raise DamagedCompression("zstd ends too early")
                out += frame.decompress(rest[at : at + _ZSTD_PIECE])
                at += _ZSTD_PIECE
            rest = frame.unused_data + rest[at:]
    except zstandard.ZstdError as error:
        raise DamagedCompression(str(error)) from error
    return bytes(out)


_OPENERS = {"gzip": _gzip, "snappy": _snappy, "lz4": _lz4, "zstd": _zstd}
