"""Variable-length numbers: unsigned (KIP-482), and zig-zag as in records."""

INT32_BYTES = 5  # maximum for 32 bits
INT64_BYTES = 10


def write_unsigned(out: bytearray, value: int) -> None:
    """Append a non-negative number: seven bits per byte, the lowest first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def encode_signed(value: int) -> bytes:
    """A zig-zag varint, or varlong: the bytes are the same."""
    if 0 <= value < 4096:
        return _SMALL[value]
    return _encoded_signed(value)


def _encoded_signed(value: int) -> bytes:
    out = bytearray()
    write_unsigned(out, (value << 1) ^ (value >> 63))
    return bytes(out)


# Nearly every number in a record is small: one look-up instead of a loop.
_SMALL = tuple(_encoded_signed(value) for value in range(4096))


def read_unsigned(data: bytes, at: int, most_bytes: int = INT32_BYTES) -> tuple[int, int]:
    """The number at `at`, and where it ends.

    Raises IndexError if `data` ends before the number does, or if it has too many bytes.
    """
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value = byte & 0x7F
    for position in range(1, most_bytes):
        byte = data[at + position]
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at + position + 1
    raise IndexError(f"a varint of more than {most_bytes} bytes")


def read_signed(data: bytes, at: int, most_bytes: int = INT32_BYTES) -> tuple[int, int]:
    """The zig-zag number at `at`, and where it ends. Raises as `read_unsigned`."""
    byte = data[at]
    if byte < 0x80:  # nearly always, and records consist of these
        return (byte >> 1) ^ -(byte & 1), at + 1
    raw, at = read_unsigned(data, at, most_bytes)
    return (raw >> 1) ^ -(raw & 1), at
