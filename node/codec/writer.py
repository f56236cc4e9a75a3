"""Encodes dataclasses to bytes.

As in `reader`, adjacent fixed-width fields are packed at once; kio's own writer takes them one by
one and costs three times as much, which is most of what a small request costs a controller. Tests
compare the two.
"""

import struct
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any

from node.codec.fields import FIXED, MarkedField, UnencodableMessage, lacking, of_version, runs
from node.codec.varint import write_unsigned
from node.ids import ZERO_UUID

# Appends the encoding of a value to the bytes written so far.
Writer = Callable[[bytearray, Any], None]

_SHORT = 0x7E  # its compact length, which is one more, takes a byte
_NULL, _THERE = 0xFF, 1  # before a struct that may be null (KIP-893)
_MILLISECOND = timedelta(milliseconds=1)
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")


def write_whole(message: Any, version: int | None = None, kind: Any = None) -> bytes:
    """Encodes in a version (None: the class has only one), as a message of the class `kind`, if not
    its own. Raises UnencodableMessage on values that the protocol cannot carry, in this version."""
    out = bytearray()
    write_into(out, message, version, kind)
    return bytes(out)


def write_into(out: bytearray, message: Any, version: int | None = None, kind: Any = None) -> None:
    """Append a message. Raises as `write_whole`; bytes appended by then stay."""
    kind = kind or message.__class__
    try:
        struct_writer(kind, version)(out, message)
    except (struct.error, TypeError, UnicodeEncodeError) as error:
        raise UnencodableMessage(f"{kind.__name__}: {error}") from error


@cache
def struct_writer(message_class: Any, version: int | None) -> Writer:
    """A writer of one class in one version, compiled as the reader is."""
    flexible: bool = message_class.__flexible__
    fields = of_version(message_class, version)
    names: dict[str, Any] = {"write_tag": _write_tag, "write_unsigned": write_unsigned}
    lines = ["def write(out, message):"]
    for name, default in lacking(message_class, version).items():
        names[f"absent_{name}"], names["refuse"] = default, _refuse_absent
        lines += [
            f"    if message.{name} != absent_{name}:",
            f"        refuse({name!r}, {version})",
        ]
    for run in runs(field for field in fields if field.tag is None):
        lines += _fixed(run, names) if run[0].is_fixed else _single(run[0], flexible, names)
    if flexible:
        lines += _tags([field for field in fields if field.tag is not None], names)
    else:
        lines.append("    return")
    exec("\n".join(lines), names)
    writer: Writer = names["write"]
    return writer


def _fixed(run: list[MarkedField], names: dict[str, Any]) -> Iterator[str]:
    layout = struct.Struct(">" + "".join(FIXED[field.kafka_type] for field in run))
    names[f"pack_{run[0].name}"] = layout.pack
    values = []
    for field in run:
        value = f"message.{field.name}"
        convert = CONVERT.get(field.kafka_type)
        if convert is not None:
            names[f"convert_{field.name}"] = convert
            value = f"convert_{field.name}({value})"
        values.append(value)
    yield f"    out += pack_{run[0].name}({', '.join(values)})"


def _single(field: MarkedField, flexible: bool, names: dict[str, Any]) -> Iterator[str]:
    names[f"write_{field.name}"] = _field_writer(field, flexible)
    if flexible and field.array and field.struct is not None:
        yield from _structs(field, names)
    elif flexible and field.kafka_type == "string" and not field.array:
        yield from _string(field)
    else:
        yield f"    write_{field.name}(out, message.{field.name})"


def _string(field: MarkedField) -> Iterator[str]:
    """Nearly every string is short, and a call of its writer costs as much as writing it."""
    yield f"    value = message.{field.name}"
    yield "    content = b'' if value is None else value.encode()"
    yield f"    if value is None or len(content) > {_SHORT}:"
    yield f"        write_{field.name}(out, value)"
    yield "    else:"
    yield "        out.append(len(content) + 1)"
    yield "        out += content"


def _structs(field: MarkedField, names: dict[str, Any]) -> Iterator[str]:
    """Nearly every array is short as well."""
    names[f"write_each_{field.name}"] = struct_writer(field.struct, None)
    yield f"    values = message.{field.name}"
    yield f"    if values is None or len(values) > {_SHORT}:"
    yield f"        write_{field.name}(out, values)"
    yield "    else:"
    yield "        out.append(len(values) + 1)"
    yield "        for value in values:"
    yield f"            write_each_{field.name}(out, value)"


def _tags(tagged: list[MarkedField], names: dict[str, Any]) -> Iterator[str]:
    """KIP-482: ascending tags; those with default values are left out."""
    if not tagged:
        yield "    out.append(0)"
        return
    yield "    count, section = 0, bytearray()"
    for field in sorted(tagged, key=lambda field: field.tag or 0):
        names[f"write_{field.name}"] = _field_writer(field, flexible=True)
        names[f"default_{field.name}"] = field.default
        yield f"    value, default = message.{field.name}, default_{field.name}"
        yield "    if value is not default and value != default:"
        yield "        count += 1"
        if field.is_fixed:  # tag and size are known
            names[f"head_{field.name}"] = _tag_head(field)
            yield f"        section += head_{field.name}"
            yield f"        write_{field.name}(section, value)"
        else:
            yield f"        write_tag(section, {field.tag}, write_{field.name}, value)"
    yield "    write_unsigned(out, count)"
    yield "    out += section"


def _tag_head(field: MarkedField) -> bytes:
    head = bytearray()
    write_unsigned(head, field.tag or 0)
    write_unsigned(head, struct.calcsize(">" + FIXED[field.kafka_type]))
    return bytes(head)


def _field_writer(field: MarkedField, flexible: bool) -> Writer:
    if field.struct is not None:
        element = struct_writer(field.struct, None)
        element = _nullable_writer(element) if field.nullable_element else element
    elif field.kafka_type in FIXED:
        element = _fixed_writer(field.kafka_type)
    else:
        element = _variable_writer(field.kafka_type, field.nullable_element, flexible)
    return _array_writer(element, field.nullable, flexible) if field.array else element


def _fixed_writer(kafka_type: str) -> Writer:
    layout = struct.Struct(">" + FIXED[kafka_type])
    convert = CONVERT.get(kafka_type)

    def write(out: bytearray, value: Any) -> None:
        out += layout.pack(convert(value) if convert else value)

    return write


def _nullable_writer(element: Writer) -> Writer:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(_NULL)
        else:
            out.append(_THERE)
            element(out, value)

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


def _refuse_absent(name: str, version: int) -> None:
    raise TypeError(f"version {version} has no {name}")


def _refuse_unless(nullable: bool, kind: str) -> None:
    if not nullable:
        raise TypeError(f"a {kind} that cannot be null is None")


def _length_writer(layout: struct.Struct, flexible: bool) -> Callable[[bytearray, int], None]:
    def write_old(out: bytearray, length: int) -> None:
        out += layout.pack(length)

    def write_compact(out: bytearray, length: int) -> None:
        if length <= _SHORT:
            out.append(length + 1)
        else:
            write_unsigned(out, length + 1)

    return write_compact if flexible else write_old


def _write_tag(section: bytearray, tag: int, writer: Writer, value: Any) -> None:
    content = bytearray()
    writer(content, value)
    write_unsigned(section, tag)
    write_unsigned(section, len(content))
    section += content


CONVERT: dict[str, Callable[[Any], Any]] = {
    "uuid": lambda value: (ZERO_UUID if value is None else value).bytes,
    "error_code": lambda value: value.value,
    "timedelta_i32": lambda value: value // _MILLISECOND,
    "datetime_i64": lambda value: -1 if value is None else value,
}
