"""The encoding that a message class declares, and the errors of the codec.

Messages and records are dataclasses with fields that carry Kafka's type and, for tagged fields
(KIP-482), the tag. Only this module reads those marks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import groupby
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from node.lazy_dataclass import dataclass

# Errors of the codec: malformed bytes, too many elements, and values that cannot be encoded.


class MalformedMessage(ValueError):
    """These bytes are not a message of this class."""


class TooManyElements(MalformedMessage):
    """It may be a valid message, but has more elements than may be read in one step."""


class UnencodableMessage(ValueError):
    """A value cannot be encoded in this version, or exceeds the size of a frame."""


# `struct` codes of the fixed-width types; the last five stand for other Python types.
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "float64": "d",
    "uuid": "16s",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",  # milliseconds, as encoded: a timedelta cannot hold all values
    "datetime_i64": "q",
}
# A length, then that many bytes; `records` are batches, which only their reader decodes.
VARIABLE = ("string", "bytes", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedField:
    """One field: its Kafka type, or the class of the struct it holds (then `kafka_type` is "")."""

    name: str
    kafka_type: str
    value_class: Any  # of a value, or of an array's element
    array: bool
    nullable: bool  # the array itself, for an array
    nullable_element: bool  # kio reads the zero uuid as None
    tag: int | None
    default: Any
    since: int  # first version of the message with this field

    @property
    def struct(self) -> type | None:
        return None if self.kafka_type else self.value_class

    @property
    def is_fixed(self) -> bool:
        """Constant size, so that it can be packed together with its neighbours."""
        return self.kafka_type in FIXED and not self.array


def marked_fields(message_class: type[Any]) -> Iterator[MarkedField]:
    """The fields in the order in which they are written. An assertion fails on wrong marks."""
    assert "__slots__" in vars(message_class)
    assert not hasattr(message_class, "__post_init__")
    for field in fields(message_class):
        inner, nullable = _without_none(field.type)
        array = get_origin(inner) is tuple
        inner, nullable_element = _without_none(get_args(inner)[0] if array else inner)
        struct = is_dataclass(inner)
        kafka_type = "" if struct else field.metadata["kafka_type"]
        tag = field.metadata.get("tag")
        where = f"{message_class.__name__}.{field.name}"
        assert struct or kafka_type in FIXED or kafka_type in VARIABLE, where
        default = field.default
        if default is MISSING and tag is not None and struct and not array:
            default = _blank(inner)
        assert tag is None or (default is not MISSING and message_class.__flexible__), where
        may_be_null = nullable_element if array else nullable and tag is not None
        assert not struct or not may_be_null, f"{where}: a struct that may be null"
        yield MarkedField(
            name=field.name,
            kafka_type=kafka_type,
            value_class=inner,
            array=array,
            nullable=nullable,
            nullable_element=nullable_element if array else nullable,
            tag=tag,
            default=default,
            since=field.metadata.get("since", 0),
        )


def of_version(message_class: type[Any], version: int | None) -> list[MarkedField]:
    """The fields of a version; without one, all fields."""
    known = marked_fields(message_class)
    return [field for field in known if version is None or field.since <= version]


def lacking(message_class: type[Any], version: int | None) -> dict[str, Any]:
    """The fields that a version lacks, with their defaults."""
    return {
        field.name: field.default
        for field in marked_fields(message_class)
        if version is not None and field.since > version
    }


def runs(plain: Iterable[MarkedField]) -> Iterator[list[MarkedField]]:
    """Groups adjacent fixed-width fields; every other field alone."""
    for is_fixed, group in groupby(plain, key=lambda field: field.is_fixed):
        if is_fixed:
            yield list(group)
        else:
            yield from ([field] for field in group)


def _blank(struct: type[Any]) -> Any:
    """The default of an absent tagged struct: kio gives a default only to some of its fields."""
    blanks = {"int32": 0, "string": ""}
    return struct(
        **{
            each.name: blanks[each.kafka_type] if each.default is MISSING else each.default
            for each in marked_fields(struct)
        }
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is not UnionType:
        return annotation, False
    (inner,) = (arm for arm in get_args(annotation) if arm is not NoneType)
    return inner, True
