"""Variable-length integers, as records use them: zig-zag (signed) and plain (unsigned)."""

_MAX_BYTES = 10  # what 64 bits need


def _zigzag(value: int) -> int:
    return (value << 1) ^ (value >> 63)


def encode_unsigned(value: int) -> bytes:
    """An unsigned varint. `value` must not be negative."""
    assert value >= 0
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# Nearly every number in a record is small: one look-up instead of a loop.
_SMALL = tuple(encode_unsigned(_zigzag(value)) for value in range(4096))


def encode_varint(value: int) -> bytes:
    """A zig-zag varint (or varlong: the bytes are the same)."""
    if 0 <= value < 4096:
        return _SMALL[value]
    return encode_unsigned(_zigzag(value))


def read_unsigned(data: bytes, position: int) -> tuple[int, int]:
    """The number at `position` and the position after it.

    Raises IndexError where `data` ends before the number does, and where it never ends.
    """
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    for index in range(1, _MAX_BYTES):
        byte = data[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise IndexError(position + _MAX_BYTES)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The zig-zag number at `position` and the position after it. Raises as `read_unsigned`."""
    raw, position = read_unsigned(data, position)
    return (raw >> 1) ^ -(raw & 1), position
