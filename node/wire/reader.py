"""Bytes to kio's message classes, for bytes that anybody may have sent.

kio has readers of its own, compiled and quick, but not for a server: an array length of two
thousand million makes them allocate that much and abort the process, and an unknown tagged field,
which KIP-482 says to skip, is a KeyError. These readers check every length against the bytes that
are left, count the elements of a frame, and skip what they do not know. Tests hold the two equal on
whatever both can read.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode as KioErrorCode

from node import limits
from node.ids import ZERO_UUID
from node.wire.fields import FIXED, WireField, runs, wire_fields
from node.wire.malformed import MalformedFrame


@dataclass(slots=True)
class Budget:
    """How many elements the rest of a frame may have: of all its arrays, however they are nested,
    and of its sections of tagged fields."""

    left: int = limits.MAX_ELEMENTS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise MalformedFrame(f"more than {limits.MAX_ELEMENTS} elements")


Reader = Callable[[bytes, int, Budget], tuple[Any, int]]


def read_whole(message_class: Any, data: bytes, at: int) -> Any:
    """The message that fills `data` from `at` to its end. Raises MalformedFrame, nothing else."""
    try:
        message, end = struct_reader(message_class)(data, at, Budget())
    except (struct.error, ValueError, IndexError) as error:
        raise MalformedFrame(f"{message_class.__name__}: {error}") from error
    if end != len(data):
        raise MalformedFrame(f"{message_class.__name__}: {len(data) - end} bytes too many")
    return message


@cache
def struct_reader(message_class: Any) -> Reader:
    """A reader of one class; fields of fixed width that follow each other are unpacked at once."""
    flexible: bool = message_class.__flexible__
    described = list(wire_fields(message_class))
    plain = [f for f in described if f.tag is None]
    steps = [_step(run, flexible) for run in runs(plain)]
    tags = {f.tag: (f.name, _field_reader(f, flexible)) for f in described if f.tag is not None}

    def read(data: bytes, at: int, budget: Budget) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        for step in steps:
            at = step(data, at, values, budget)
        if flexible:
            at = _read_tags(data, at, tags, values, budget)
        return message_class(**values), at

    return read


Step = Callable[[bytes, int, dict[str, Any], Budget], int]


def _step(run: list[WireField], flexible: bool) -> Step:
    if run[0].is_fixed:
        return _fixed_step(run)
    return _single_step(run[0].name, _field_reader(run[0], flexible))


def _fixed_step(run: list[WireField]) -> Step:
    layout = struct.Struct(">" + "".join(FIXED[f.kafka_type] for f in run))
    names = [f.name for f in run]
    converted = [(f.name, CONVERT[f.kafka_type]) for f in run if f.kafka_type in CONVERT]

    def step(data: bytes, at: int, values: dict[str, Any], _budget: Budget) -> int:
        values.update(zip(names, layout.unpack_from(data, at), strict=True))
        for name, convert in converted:
            values[name] = convert(values[name])
        return at + layout.size

    return step


def _single_step(name: str, reader: Reader) -> Step:
    def step(data: bytes, at: int, values: dict[str, Any], budget: Budget) -> int:
        values[name], at = reader(data, at, budget)
        return at

    return step


def _field_reader(field: WireField, flexible: bool) -> Reader:
    if field.struct is not None:
        element = struct_reader(field.struct)
    else:
        element = _primitive_reader(field.kafka_type, field.nullable and not field.array, flexible)
    if not field.array:
        return element
    return _array_reader(element, field.nullable, flexible)


def _primitive_reader(kafka_type: str, nullable: bool, flexible: bool) -> Reader:
    if kafka_type in FIXED:
        return _fixed_reader(kafka_type)
    text = kafka_type == "string"
    width = struct.Struct(">h" if text else ">i")

    def read(data: bytes, at: int, _budget: Budget) -> tuple[Any, int]:
        if flexible:
            length, at = read_varint(data, at)
            length -= 1
        else:
            (length,) = width.unpack_from(data, at)
            at += width.size
        if length < 0:
            if nullable and length == -1:
                return None, at
            raise MalformedFrame(f"length {length} of a {kafka_type}")
        end = at + length
        if end > len(data):
            raise MalformedFrame(f"{kafka_type} of {length} bytes, {len(data) - at} left")
        chunk = data[at:end]
        return (chunk.decode() if text else chunk), end

    return read


def _fixed_reader(kafka_type: str) -> Reader:
    layout = struct.Struct(">" + FIXED[kafka_type])
    convert = CONVERT.get(kafka_type)

    def read(data: bytes, at: int, _budget: Budget) -> tuple[Any, int]:
        (value,) = layout.unpack_from(data, at)
        return (convert(value) if convert else value), at + layout.size

    return read


def _array_reader(element: Reader, nullable: bool, flexible: bool) -> Reader:
    width = struct.Struct(">i")

    def read(data: bytes, at: int, budget: Budget) -> tuple[Any, int]:
        if flexible:
            count, at = read_varint(data, at)
            count -= 1
        else:
            (count,) = width.unpack_from(data, at)
            at += width.size
        if count < 0:
            if nullable and count == -1:
                return None, at
            raise MalformedFrame(f"array of {count} elements")
        # Every element takes a byte at least.
        if count > len(data) - at:
            raise MalformedFrame(f"array of {count} elements, {len(data) - at} bytes left")
        budget.take(count)
        elements = []
        for _ in range(count):
            value, at = element(data, at, budget)
            elements.append(value)
        return tuple(elements), at

    return read


def _read_tags(
    data: bytes,
    at: int,
    tags: dict[int, tuple[str, Reader]],
    values: dict[str, Any],
    budget: Budget,
) -> int:
    """KIP-482: known tags are read, others skipped by their size."""
    if data[at] == 0:
        return at + 1
    count, at = read_varint(data, at)
    budget.take(count)
    for _ in range(count):
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        end = at + size
        if end > len(data):
            raise MalformedFrame(f"tag {tag} of {size} bytes, {len(data) - at} left")
        if tag in tags:
            name, reader = tags[tag]
            values[name], after = reader(data, at, budget)
            if after != end:
                raise MalformedFrame(f"tag {tag} of {size} bytes, {after - at} used")
        at = end
    return at


def skip_tags(data: bytes, at: int) -> int:
    """Past a tagged-field section of which nothing is known. Errors as in `read_whole`."""
    return _read_tags(data, at, {}, {}, Budget())


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Unsigned LEB128 of at most five bytes (KIP-482)."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value = byte & 0x7F
    for position in range(1, 5):
        byte = data[at + position]
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at + position + 1
    raise MalformedFrame("a varint of more than five bytes")


@lru_cache(maxsize=256)
def _uuid(raw: bytes) -> UUID | None:
    value = UUID(bytes=raw)
    return None if value == ZERO_UUID else value


@lru_cache(maxsize=256)
def _milliseconds(value: int) -> timedelta:
    return timedelta(milliseconds=value)


CONVERT: dict[str, Callable[[Any], Any]] = {
    "uuid": _uuid,
    "error_code": KioErrorCode,
    "timedelta_i32": _milliseconds,
}
