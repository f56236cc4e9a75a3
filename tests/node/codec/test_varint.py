"""Numbers of variable length come back, and end."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from node.codec.varint import (
    INT64_BYTES,
    encode_signed,
    read_signed,
    read_unsigned,
    write_unsigned,
)


def unsigned(value: int) -> bytes:
    out = bytearray()
    write_unsigned(out, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_numbers_are_these_bytes(value: int, encoded: str) -> None:
    assert unsigned(value) == bytes.fromhex(encoded)


@given(st.integers(0, 2**35 - 1))
@example(2**35 - 1)
def test_unsigned_numbers_come_back(value: int) -> None:
    encoded = unsigned(value)
    assert read_unsigned(b"?" + encoded + b"?", 1) == (value, 1 + len(encoded))
    for length in range(len(encoded)):
        with pytest.raises(IndexError):
            read_unsigned(encoded[:length], 0)


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
@example(2**63 - 1)
def test_signed_numbers_come_back(value: int) -> None:
    encoded = encode_signed(value)
    assert len(encoded) <= INT64_BYTES
    assert read_signed(b"?" + encoded + b"?", 1, INT64_BYTES) == (value, 1 + len(encoded))


@given(st.integers(-(2**31), 2**31 - 1))
@example(-(2**31))
def test_signed_numbers_of_32_bits_take_five_bytes(value: int) -> None:
    assert read_signed(encode_signed(value), 0)[0] == value


@pytest.mark.parametrize("most", [5, 10])
def test_a_number_has_so_many_bytes_and_no_more(most: int) -> None:
    assert read_unsigned(b"\xff" * (most - 1) + b"\x01", 0, most)[1] == most
    with pytest.raises(IndexError, match=f"more than {most} bytes"):
        read_unsigned(b"\xff" * most + b"\x01", 0, most)


def test_a_negative_number_is_not_written_as_unsigned() -> None:
    with pytest.raises(ValueError, match="byte"):
        unsigned(-1)
