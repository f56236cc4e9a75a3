"""Answers damaged at every byte, and what may become of them."""

from collections.abc import Callable, Iterator
from typing import Any

from workloads.wire.fields import MalformedAnswerError

Read = Callable[[bytes], Any]


def damaged(answer: bytes) -> Iterator[bytes]:
    """Cut, torn and with each byte changed in several ways."""
    for at in range(len(answer)):
        yield answer[:at]
        yield answer[:at] + answer[at + 1 :]
        yield answer[: at + 1] + answer[at:]
        for byte in {0x00, 0x01, 0x7F, 0x80, 0xFF, answer[at] ^ 0x01, answer[at] ^ 0x80}:
            if byte != answer[at]:
                yield answer[:at] + bytes((byte,)) + answer[at + 1 :]
    yield answer + b"\x00"
    yield answer + answer


def read_or_malformed(answer: bytes, read: Read) -> tuple[int, int]:
    """How many damaged answers were read all the same, and how many were malformed.

    Any other exception would end a client, and is let through.
    """
    legal = malformed = 0
    for each in damaged(answer):
        try:
            read(each)
        except MalformedAnswerError:
            malformed += 1
        else:
            legal += 1
    return legal, malformed
