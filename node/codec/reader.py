"""Decodes bytes from untrusted senders to dataclasses.

kio's own readers are fast, but unfit for a server: an array length of two thousand million makes
them allocate that much and abort the process, and an unknown tagged field, which KIP-482 says to
skip, is a KeyError. These readers check every length against the bytes that are left, count the
elements of a message, and skip unknown tags. Tests compare the two on every input that both can
read.
"""

import struct
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any, TypeVar
from uuid import UUID

from node import limits
from node.codec.fields import (
    FIXED,
    MalformedMessage,
    MarkedField,
    TooManyElements,
    lacking,
    of_version,
    runs,
)
from node.codec.varint import read_unsigned
from node.ids import ZERO_UUID

T = TypeVar("T")


class Budget:
    """How many elements the rest of a message may have: of all its arrays, at any nesting, and of
    its tagged-field sections."""

    def __init__(self, most: int = limits.MAX_ELEMENTS) -> None:
        self._most = self._left = most

    def take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise TooManyElements(f"more than {self._most} elements")


# Takes a position; returns the value there, and its end.
Reader = Callable[[bytes, int, Budget], tuple[Any, int]]
Convert = Callable[[Any], Any]


def read_whole(
    message_class: type[T],
    data: bytes,
    at: int = 0,
    malformed: type[Exception] = MalformedMessage,
    version: int | None = None,
    *,
    may_be_followed: bool = False,
    most: int = limits.MAX_ELEMENTS,
) -> T:
    """The message that fills `data` from `at` to its end, in a version (None: the class has only
    one); if trailing bytes are allowed, they are ignored. It has at most `most` elements. Raises
    `malformed`, and nothing else."""
    read = whole_reader(message_class, malformed, version, may_be_followed, most)  # type: ignore[arg-type]  # a class is hashable
    message: T = read(data, at)
    return message


@cache
def whole_reader(
    message_class: Any,
    malformed: Any,
    version: int | None,
    may_be_followed: bool = False,
    most: int = limits.MAX_ELEMENTS,
) -> Callable[[bytes, int], Any]:
    """The function behind `read_whole`, for callers that read many of a class: takes bytes, offset.

    One function with the reader of the class: a starting node calls it for every record.
    """
    body, names = _compiled(message_class, version)
    names["faults"] = (struct.error, ValueError, IndexError)
    names["malformed"], names["Budget"], names["most"] = malformed, Budget, most
    what = message_class.__name__
    lines = [
        "def read(data, at):",
        "    budget = Budget(most)",
        "    try:",
        *(f"    {line}" for line in body),
        "    except faults as error:",
        f"        raise malformed(f'not a {what}: {{error}}') from error",
    ]
    if not may_be_followed:
        lines += [
            "    if at != len(data):",
            f"        raise malformed(f'{{len(data) - at}} bytes left over after a {what}')",
        ]
    read: Callable[[bytes, int], Any] = _defined([*lines, "    return message"], names)
    return read


@cache
def struct_reader(message_class: Any, version: int | None) -> Reader:
    """A reader of one class in one version."""
    body, names = _compiled(message_class, version)
    lines = ["def read(data, at, budget):", *body, "    return message, at"]
    read: Reader = _defined(lines, names)
    return read


def _defined(lines: list[str], names: dict[str, Any]) -> Any:
    exec("\n".join(lines), names)
    return names["read"]


def _compiled(message_class: Any, version: int | None) -> tuple[list[str], dict[str, Any]]:
    """The source lines that decode a `message` from `data` at `at`, and the names that they use.

    A loop over the fields takes twice as long, and followers read every record twice. Adjacent
    fixed-width fields are unpacked at once, and values are set by the slots' own setters, as the
    constructor of a frozen class does, but looked up only once.
    """
    flexible: bool = message_class.__flexible__
    fields = of_version(message_class, version)
    absent = lacking(message_class, version)
    tagged = [field for field in fields if field.tag is not None]
    names: dict[str, Any] = {"make": object.__new__, "cls": message_class, "read_tags": _read_tags}
    lines: list[str] = []
    for run in runs(field for field in fields if field.tag is None):
        lines += _fixed(run, names) if run[0].is_fixed else _single(run[0], flexible, names)
    if flexible:
        names["tags"] = {field.tag: (field.name, _field_reader(field, True)) for field in tagged}
        names["defaults"] = {field.name: field.default for field in tagged}
        lines += [
            "    if data[at]:",
            "        tagged, at = read_tags(data, at, tags, defaults, budget)",
            "    else:",
            "        tagged = defaults",
            "        at += 1",
        ]
    lines.append("    message = make(cls)")
    for field in fields:
        names[f"set_{field.name}"] = getattr(message_class, field.name).__set__
        value = f"_{field.name}" if field.tag is None else f"tagged[{field.name!r}]"
        lines.append(f"    set_{field.name}(message, {value})")
    for name, default in absent.items():
        names[f"set_{name}"] = getattr(message_class, name).__set__
        names[f"absent_{name}"] = default
        lines.append(f"    set_{name}(message, absent_{name})")
    return lines, names


def _fixed(run: list[MarkedField], names: dict[str, Any]) -> Iterator[str]:
    if [field.kafka_type for field in run] == ["int8"]:
        # A metadata record begins with such a field, and calling `struct` takes longer than this.
        yield f"    _{run[0].name} = (data[at] ^ 0x80) - 0x80"
        yield "    at += 1"
        return
    layout = struct.Struct(">" + "".join(FIXED[field.kafka_type] for field in run))
    names[f"unpack_{run[0].name}"] = layout.unpack_from
    yield f"    {', '.join('_' + field.name for field in run)}, = unpack_{run[0].name}(data, at)"
    yield f"    at += {layout.size}"
    for field in run:
        convert = _convert(field)
        if convert is not None:
            names[f"convert_{field.name}"] = convert
            yield f"    _{field.name} = convert_{field.name}(_{field.name})"


def _single(field: MarkedField, flexible: bool, names: dict[str, Any]) -> Iterator[str]:
    names[f"read_{field.name}"] = _field_reader(field, flexible)
    read = f"_{field.name}, at = read_{field.name}(data, at, budget)"
    if field.kafka_type != "string" or field.array or not flexible:
        yield f"    {read}"
        return
    # Nearly every string is short, and a call of its reader costs as much as reading it. If `data`
    # ends within the string, the byte after it is missing: every struct continues, with its tags at
    # the latest.
    yield "    length = data[at]"
    yield "    end = at + length"
    yield "    if 0 < length < 0x80:"
    yield f"        _{field.name} = data[at + 1:end].decode()"
    yield "        at = end"
    yield "    else:"
    yield f"        {read}"


def _field_reader(field: MarkedField, flexible: bool) -> Reader:
    if field.struct is not None:
        element = struct_reader(field.struct, None)
        element = _nullable_reader(element) if field.nullable_element else element
    elif field.kafka_type in FIXED:
        element = _fixed_reader(field)
    else:
        element = _variable_reader(field.kafka_type, field.nullable_element, flexible)
    return _array_reader(element, field.nullable, flexible) if field.array else element


def _fixed_reader(field: MarkedField) -> Reader:
    layout = struct.Struct(">" + FIXED[field.kafka_type])
    convert = _convert(field)

    def read(data: bytes, at: int, _budget: Budget) -> tuple[Any, int]:
        (value,) = layout.unpack_from(data, at)
        return (convert(value) if convert else value), at + layout.size

    return read


def _nullable_reader(element: Reader) -> Reader:
    """Reads a nullable struct (KIP-893): a byte says whether it is present."""

    def read(data: bytes, at: int, budget: Budget) -> tuple[Any, int]:
        is_null = data[at] >= 0x80  # below zero
        return (None, at + 1) if is_null else element(data, at + 1, budget)

    return read


def _variable_reader(kafka_type: str, nullable: bool, flexible: bool) -> Reader:
    text = kafka_type == "string"
    width = struct.Struct(">h" if text else ">i")

    def read(data: bytes, at: int, _budget: Budget) -> tuple[Any, int]:
        if flexible:
            length = data[at]
            if length < 0x80:
                at += 1
            else:
                length, at = read_unsigned(data, at)
            length -= 1
        else:
            (length,) = width.unpack_from(data, at)
            at += width.size
        end = at + length
        if length < 0:
            if nullable and length == -1:
                return None, at
            raise MalformedMessage(f"length {length} of a {kafka_type}")
        if end > len(data):
            raise MalformedMessage(f"{kafka_type} of {length} bytes, {len(data) - at} left")
        chunk = data[at:end]
        return (chunk.decode() if text else chunk), end

    return read


def _array_reader(element: Reader, nullable: bool, flexible: bool) -> Reader:
    width = struct.Struct(">i")

    def read(data: bytes, at: int, budget: Budget) -> tuple[Any, int]:
        if flexible:
            count, at = read_unsigned(data, at)
            count -= 1
        else:
            (count,) = width.unpack_from(data, at)
            at += width.size
        if count < 0:
            if nullable and count == -1:
                return None, at
            raise MalformedMessage(f"array of {count} elements")
        # Every element takes at least a byte.
        if count > len(data) - at:
            raise MalformedMessage(f"array of {count} elements, {len(data) - at} bytes left")
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
    defaults: dict[str, Any],
    budget: Budget,
) -> tuple[dict[str, Any], int]:
    """KIP-482: known tags are read, others skipped by their size."""
    values = dict(defaults)
    count, at = read_unsigned(data, at)
    budget.take(count)
    for _ in range(count):
        tag, at = read_unsigned(data, at)
        size, at = read_unsigned(data, at)
        end = at + size
        if end > len(data):
            raise MalformedMessage(f"tag {tag} of {size} bytes, {len(data) - at} left")
        if tag in tags:
            name, reader = tags[tag]
            values[name], after = reader(data, at, budget)
            if after != end:
                raise MalformedMessage(f"tag {tag} of {size} bytes, {after - at} used")
        at = end
    return values, at


def skip_tags(data: bytes, at: int) -> int:
    """Skip a tagged-field section without known tags. Errors as in `struct_reader`."""
    return _read_tags(data, at, {}, {}, Budget())[1]


_OF_NO_RELEASE = frozenset((966,))  # REQUEST_LIMIT_REACHED (KIP-966, part two): kio lacks it


def _convert(field: MarkedField) -> Convert | None:
    """The conversion of what `struct` unpacked to the field's value, if they differ."""
    match field.kafka_type:
        case "uuid":
            return _uuid_or_none if field.nullable_element else _uuid
        case "error_code":
            of_kio = field.value_class
            return lambda number: of_kio(number) if number not in _OF_NO_RELEASE else number
        case "timedelta_i32":
            return _milliseconds
        case "datetime_i64":
            return _moment
    return None


def _moment(value: int) -> int | None:
    """Milliseconds since 1970, as encoded; -1 means None."""
    return None if value == -1 else value


@lru_cache(maxsize=256)
def _uuid(raw: bytes) -> UUID:
    return UUID(bytes=raw)


@lru_cache(maxsize=256)
def _uuid_or_none(raw: bytes) -> UUID | None:
    value = UUID(bytes=raw)
    return None if value == ZERO_UUID else value


@lru_cache(maxsize=256)
def _milliseconds(value: int) -> timedelta:
    return timedelta(milliseconds=value)
