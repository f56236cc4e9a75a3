"""The content of a record of a log: its value, repeated, so that damage anywhere is seen.

Clients write it; it is read back by them and from the disks of brokers.
"""

WORD = 8  # a value, big-endian
NOBODYS = -1  # the value of a record that no client can have sent
# A value is its producer's process and, in this many bits, a number that the process counts up.
NUMBER_BITS = 32
NUMBERS = (1 << NUMBER_BITS) - 1


def value_of(process: int, number: int) -> int:
    """The value of a process' record: no other process ever sends it."""
    return process << NUMBER_BITS | number


def value_name(value: int) -> str:
    """A value as people read it: `6/0` is the first record that process 6 sent."""
    if value == NOBODYS:
        return "a record that no client sent"
    return f"{value >> NUMBER_BITS}/{value & NUMBERS}"


def payload(value: int, size: int) -> bytes:
    """The bytes of a record of `size` bytes, a multiple of `WORD`."""
    return value.to_bytes(WORD, "big") * (size // WORD)


def value_in(data: bytes | None) -> int:
    """The value that a record carries; `NOBODYS` if its bytes are not what a client sends."""
    if not data or len(data) % WORD or data[0] > 0x7F:
        return NOBODYS
    word = data[:WORD]
    return int.from_bytes(word, "big") if word * (len(data) // WORD) == data else NOBODYS
