"""Classes with marks of every shape, and values for them."""

from dataclasses import dataclass, field, make_dataclass, replace
from datetime import timedelta
from io import BytesIO
from types import GenericAlias
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType
from kio.static.primitive import i16

from node.codec.fields import MarkedField, marked_fields
from node.ids import ZERO_UUID


def _integers(bits: int) -> st.SearchStrategy[int]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.sampled_from((least, -1, 0, 1, most)) | st.integers(least, most)


_TEXTS = st.text(max_size=8) | st.integers(0, 300).map(lambda size: "é" * size)
_BYTES = st.binary(max_size=8) | st.sampled_from((126, 127, 128, 16_383)).map(bytes)
PRIMITIVES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "bool": (bool, st.booleans()),
    "int8": (int, _integers(8)),
    "int16": (int, _integers(16)),
    "int32": (int, _integers(32)),
    "int64": (int, _integers(64)),
    "uint16": (int, st.sampled_from((0, 2**15, 2**16 - 1)) | st.integers(0, 2**16 - 1)),
    "float64": (float, st.floats(allow_nan=False)),
    "uuid": (UUID, st.uuids(allow_nil=True)),
    "error_code": (ErrorCode, st.sampled_from(ErrorCode)),
    "timedelta_i32": (timedelta, _integers(32).map(lambda ms: timedelta(milliseconds=ms))),
    "string": (str, _TEXTS),
    "bytes": (bytes, _BYTES),
    "records": (bytes, _BYTES),
}
_MAY_BE_NULL = ("uuid", "string", "bytes", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Of one field. `inner` is a Kafka type, or the class of a struct."""

    inner: str | type
    array: bool
    nullable: bool
    default: Any = None  # of a tagged field
    tag: int | None = None


def marked_class(name: str, flexible: bool, shapes: dict[str, Shape]) -> type[Any]:
    """A class as somebody would write it; kio's own codec takes it too."""
    rows: list[Any] = []
    for field_name, shape in shapes.items():
        struct = isinstance(shape.inner, type)
        annotation: Any = shape.inner if struct else PRIMITIVES[str(shape.inner)][0]
        marks: dict[str, Any] = {} if struct else {"kafka_type": shape.inner}
        given: dict[str, Any] = {}
        if shape.tag is not None:
            marks["tag"] = shape.tag
            given["default"] = shape.default
        if shape.array:
            annotation = GenericAlias(tuple, (annotation, ...))
        if shape.nullable:
            annotation = annotation | None
        rows.append((field_name, annotation, field(metadata=marks, **given)))
    namespace = {"__type__": EntityType.nested, "__version__": i16(0), "__flexible__": flexible}
    return make_dataclass(name, rows, namespace=namespace, frozen=True, slots=True, kw_only=True)


def kio_bytes(message: Any) -> bytes:
    buffer = BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def values_of(message_class: type[Any]) -> st.SearchStrategy[Any]:
    fields = marked_fields(message_class)
    return st.builds(message_class, **{each.name: _values(each) for each in fields})


def _values(each: MarkedField) -> st.SearchStrategy[Any]:
    values = values_of(each.struct) if each.struct else PRIMITIVES[each.kafka_type][1]
    if each.kafka_type == "uuid" and each.nullable_element:
        values = values.filter(lambda value: value != ZERO_UUID)
    if each.array:
        values = st.lists(values, max_size=3).map(tuple)
    return values | st.none() if each.nullable else values


@st.composite
def classes(draw: st.DrawFn, flexible: bool, depth: int = 2) -> type[Any]:
    """Of any fields in any order, structs of structs down to `depth`."""
    count = draw(st.integers(0 if flexible else 1, 5))
    tags = draw(st.permutations([0, 1, 5, 127, 128]))
    shapes = {f"field_{n}": draw(_shapes(flexible, depth, tags[n])) for n in range(count)}
    return marked_class(f"Drawn{depth}", flexible, shapes)


@st.composite
def _shapes(draw: st.DrawFn, flexible: bool, depth: int, tag: int) -> Shape:
    inner: str | type = draw(st.sampled_from(list(PRIMITIVES)))
    if depth > 0 and draw(st.integers(0, 3)) == 0:
        inner = draw(classes(flexible, depth - 1))
    array = draw(st.booleans())
    is_struct = isinstance(inner, type)
    nullable = (array or is_struct or inner in _MAY_BE_NULL) and draw(st.booleans())
    plain = Shape(inner=inner, array=array, nullable=nullable)
    may_be_tagged = flexible and (array or not (is_struct and nullable))
    if not may_be_tagged or draw(st.booleans()):
        return plain
    if nullable:
        return replace(plain, tag=tag)  # kio cannot write null where that is not the default
    if nullable:
        return replace(plain, tag=tag)  # kio cannot write null where that is not the default
    (described,) = marked_fields(marked_class("One", flexible, {"field": plain}))
    return replace(plain, tag=tag, default=draw(_values(described)))
