"""What kio's message classes say about their own bytes.

kio's classes are dataclasses whose fields carry Kafka's type and, for tagged fields (KIP-482), the
tag. This is the only place that looks into them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import groupby
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

# How `struct` calls the types of fixed width; the last three stand for something else.
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uuid": "16s",
    "error_code": "h",
    "timedelta_i32": "i",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WireField:
    """One field: its Kafka type, or the class of the struct it holds (then `kafka_type` is "")."""

    name: str
    kafka_type: str
    struct: type | None
    array: bool
    nullable: bool
    tag: int | None

    @property
    def is_fixed(self) -> bool:
        """Always as many bytes, so that it can be packed together with its neighbours."""
        return self.kafka_type in FIXED and not self.array


def wire_fields(message_class: type[Any]) -> Iterator[WireField]:
    """The fields in the order in which they are written."""
    for field in fields(message_class):
        inner, nullable = _without_none(field.type)
        array = get_origin(inner) is tuple
        if array:
            inner = get_args(inner)[0]
        struct = inner if isinstance(inner, type) and is_dataclass(inner) else None
        tag = field.metadata.get("tag")
        assert tag is None or field.default is not MISSING, f"{message_class}.{field.name}"
        assert struct is None or array or not nullable, f"{message_class}.{field.name}"
        yield WireField(
            name=field.name,
            kafka_type="" if struct else field.metadata["kafka_type"],
            struct=struct,
            array=array,
            nullable=nullable,
            tag=tag,
        )


def runs(plain: Iterable[WireField]) -> Iterator[list[WireField]]:
    """Neighbours of fixed width together, every other field alone."""
    for is_fixed, group in groupby(plain, key=lambda field: field.is_fixed):
        if is_fixed:
            yield list(group)
        else:
            yield from ([field] for field in group)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is not UnionType:
        return annotation, False
    (inner,) = (arm for arm in get_args(annotation) if arm is not NoneType)
    return inner, True
