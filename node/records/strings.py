"""The strings of a record, also those of what is in it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from node.codec.fields import MarkedField, marked_fields


def strings(record: Any) -> Iterator[str]:
    """Of a dataclass with the marks of `node.codec`."""
    for field in _with_strings(record.__class__):
        value = getattr(record, field.name)
        for each in value or () if field.array else (value,):
            if field.struct is not None:
                yield from strings(each)
            elif each is not None:
                yield each


@cache
def _with_strings(record_class: Any) -> tuple[MarkedField, ...]:
    return tuple(
        field
        for field in marked_fields(record_class)
        if field.kafka_type == "string"
        or (field.struct is not None and _with_strings(field.struct))
    )
