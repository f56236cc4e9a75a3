"""What a record of a log says: its value, over and over, so that damage anywhere is seen.

Written by the clients, read back by them and from the disks of brokers.
"""

WORD = 8  # a value, big-endian
NOBODYS = -1  # the value of a record that no client can have sent


def payload(value: int, size: int) -> bytes:
    """The bytes of a record of `size` bytes, a multiple of `WORD`."""
    return value.to_bytes(WORD, "big") * (size // WORD)


def value_in(data: bytes | None) -> int:
    """The value that a record carries; `NOBODYS` if its bytes are not what a client sends."""
    if not data or len(data) % WORD or data[0] > 0x7F:
        return NOBODYS
    word = data[:WORD]
    return int.from_bytes(word, "big") if word * (len(data) // WORD) == data else NOBODYS
