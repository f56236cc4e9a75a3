"""kio's message classes to bytes.

As in `reader`, fields of fixed width that follow each other are packed at once; kio's own writer
takes them one by one and costs three times as much, which is most of what a small request costs a
controller. Tests hold the two equal.
"""

import struct
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from functools import cache
from operator import attrgetter
from typing import Any

from node.ids import ZERO_UUID
from node.wire.fields import FIXED, WireField, runs, wire_fields
from node.wire.malformed import UnencodableMessage

# Appends the encoding of a value to what is written so far.
Writer = Callable[[bytearray, Any], None]

_MILLISECOND = timedelta(milliseconds=1)
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")


def write_whole(message: Any) -> bytes:
    """Raises UnencodableMessage on values that the protocol cannot carry."""
    out = bytearray()
    try:
        struct_writer(message.__class__)(out, message)
    except (struct.error, TypeError, UnicodeEncodeError) as error:
        raise UnencodableMessage(f"{message.__class__.__name__}: {error}") from error
    return bytes(out)


@cache
def struct_writer(message_class: Any) -> Writer:
    flexible: bool = message_class.__flexible__
    described = list(wire_fields(message_class))
    plain = [field for field in described if field.tag is None]
    steps = [_step(run, flexible) for run in runs(plain)]
    tagged = sorted(
        (field.tag, field.name, _default(message_class, field.name), _field_writer(field, flexible))
        for field in described
        if field.tag is not None
    )

    def write(out: bytearray, message: Any) -> None:
        for step in steps:
            step(out, message)
        if tagged:
            _write_tags(out, message, tagged)
        elif flexible:
            out.append(0)  # how many tagged fields there are

    return write


def _default(message_class: Any, name: str) -> Any:
    return next(field.default for field in fields(message_class) if field.name == name)


def _step(run: list[WireField], flexible: bool) -> Writer:
    if run[0].is_fixed:
        return _fixed_step(run)
    return _single_step(run[0].name, _field_writer(run[0], flexible))


def _fixed_step(run: list[WireField]) -> Writer:
    layout = struct.Struct(">" + "".join(FIXED[field.kafka_type] for field in run))
    converted = [(at, CONVERT[f.kafka_type]) for at, f in enumerate(run) if f.kafka_type in CONVERT]
    if len(run) == 1:
        return _single_step(run[0].name, _fixed_writer(run[0].kafka_type))
    values_of = attrgetter(*(field.name for field in run))

    def step(out: bytearray, message: Any) -> None:
        values = list(values_of(message))
        for at, convert in converted:
            values[at] = convert(values[at])
        out += layout.pack(*values)

    return step


def _single_step(name: str, writer: Writer) -> Writer:
    def step(out: bytearray, message: Any) -> None:
        writer(out, getattr(message, name))

    return step


def _field_writer(field: WireField, flexible: bool) -> Writer:
    if field.struct is not None:
        element = struct_writer(field.struct)
    elif field.kafka_type in FIXED:
        element = _fixed_writer(field.kafka_type)
    else:
        nullable = field.nullable and not field.array
        element = _variable_writer(field.kafka_type, nullable, flexible)
    return _array_writer(element, field.nullable, flexible) if field.array else element


def _fixed_writer(kafka_type: str) -> Writer:
    layout = struct.Struct(">" + FIXED[kafka_type])
    convert = CONVERT.get(kafka_type)

    def write(out: bytearray, value: Any) -> None:
        out += layout.pack(convert(value) if convert else value)

    return write


def _variable_writer(kafka_type: str, nullable: bool, flexible: bool) -> Writer:
    text = kafka_type == "string"
    length = _length_writer(_INT16 if text else _INT32, flexible)

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            _refuse_unless(nullable, kafka_type)
            length(out, -1)
            return
        content = value.encode() if text else value
        length(out, len(content))
        out += content

    return write


def _array_writer(element: Writer, nullable: bool, flexible: bool) -> Writer:
    length = _length_writer(_INT32, flexible)

    def write(out: bytearray, values: Any) -> None:
        if values is None:
            _refuse_unless(nullable, "array")
            length(out, -1)
            return
        length(out, len(values))
        for value in values:
            element(out, value)

    return write


def _refuse_unless(nullable: bool, kind: str) -> None:
    if not nullable:
        raise TypeError(f"a {kind} that cannot be null is None")


def _length_writer(layout: struct.Struct, flexible: bool) -> Callable[[bytearray, int], None]:
    def write_old(out: bytearray, length: int) -> None:
        out += layout.pack(length)

    def write_compact(out: bytearray, length: int) -> None:
        if length < 0x7F:
            out.append(length + 1)
        else:
            write_varint(out, length + 1)

    return write_compact if flexible else write_old


def _write_tags(out: bytearray, message: Any, tagged: list[tuple[Any, ...]]) -> None:
    """KIP-482: ascending tags, those left out whose value is the default."""
    count = 0
    section = bytearray()
    for tag, name, default, writer in tagged:
        value = getattr(message, name)
        if value != default:
            content = bytearray()
            writer(content, value)
            write_varint(section, tag)
            write_varint(section, len(content))
            section += content
            count += 1
    write_varint(out, count)
    out += section


def write_varint(out: bytearray, value: int) -> None:
    """Unsigned LEB128 (KIP-482)."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


CONVERT: dict[str, Callable[[Any], Any]] = {
    "uuid": lambda value: (ZERO_UUID if value is None else value).bytes,
    "error_code": lambda value: value.value,
    "timedelta_i32": lambda value: value // _MILLISECOND,
}
