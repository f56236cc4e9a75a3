"""The strings of a record, also those of what is in it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from node import limits
from node.codec.fields import MarkedField, marked_fields

_MOST_BYTES = 4  # of a character in UTF-8


def strings(record: Any) -> Iterator[str]:
    """Of a dataclass with the marks of `node.codec`."""
    for field in _with_strings(record.__class__):
        value = getattr(record, field.name)
        for each in value or () if field.array else (value,):
            if field.struct is not None:
                yield from strings(each)
            elif each is not None:
                yield each


def is_too_long(text: str) -> bool:
    """Has it more bytes than every version can carry?"""
    is_near = len(text) * _MOST_BYTES > limits.MAX_STRING_BYTES
    return is_near and len(text.encode()) > limits.MAX_STRING_BYTES


@cache
def _with_strings(record_class: Any) -> tuple[MarkedField, ...]:
    return tuple(
        field
        for field in marked_fields(record_class)
        if field.kafka_type == "string"
        or (field.struct is not None and _with_strings(field.struct))
    )
