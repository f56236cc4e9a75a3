"""Makes our declared messages from kio's: the inverse of `writer`.

One expression makes a message, for each class of kio's: a call for each field would take twice as
long, and a broker reads a message with each fetch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING, is_dataclass
from datetime import timedelta
from enum import IntEnum
from functools import cache
from typing import Any
from uuid import UUID

from node.codec.fields import MarkedField
from node.errors import ErrorCode
from node.wire.declared import (
    ENTRY,
    ITSELF,
    OF_QUORUM,
    Functions,
    KioFields,
    OneBefore,
    Ours,
    Parts,
    Read,
    Rows,
    find,
    kio_fields,
    our_error,
    ours_of,
    parts_of,
    quorum_classes,
    some_uuid,
)

_MILLISECOND = timedelta(milliseconds=1)
# A variable, the fields of what it holds, and whether it holds the only one of them itself.
_Level = tuple[str, KioFields, bool]


@cache
def reader(message_class: Any, kio_class: Any) -> Read:
    """Makes a message of ours from kio's."""
    names: dict[str, Any] = {}
    made = _made(message_class, [("top", kio_fields(kio_class), False)], names)
    return _compiled("top", made, names)


@cache
def quorum_reader(message_class: Any, kio_class: Any) -> Read:
    """As `reader`, of a message of the quorum, which has exactly one partition. A request without
    it is refused by the core; an answer without it is an error, whether it has a code or not.
    """
    topics, _, partition_class = quorum_classes(kio_class)
    names: dict[str, Any] = {}
    top = ("top", kio_fields(kio_class), False)
    made = _made(message_class, [top, ("partition", kio_fields(partition_class), False)], names)
    build = _compiled("top, partition", made, names)
    is_request = any(each.name == "partition_ok" for each in ours_of(message_class))
    refused = _made(message_class, [top, ("partition", {}, False)], names, "partition_ok=False")
    refuse = _compiled("top, partition", refused, names) if is_request else None

    def read(entity: Any) -> Any:
        partition = _metadata_partition(getattr(entity, topics))
        if partition is not None:
            return build(entity, partition)
        if refuse is not None:
            return refuse(entity, None)
        error = our_error(entity.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR
        return message_class(top_error=error)

    return read


def _metadata_partition(topics: Iterable[Any]) -> Any | None:
    """The one partition of the one topic, if it is `__cluster_metadata`-0; otherwise None.

    Before Fetch v13 topics are named, from then on they have ids.
    """
    match tuple(topics):
        case (topic,) if len(topic.partitions) == 1:
            (partition,) = topic.partitions
        case _:
            return None
    is_metadata = all(getattr(topic, name, value) == value for name, value in OF_QUORUM.items())
    names = ("partition_index", "partition", "index")
    return partition if is_metadata and not any(getattr(partition, n, 0) for n in names) else None


def _compiled(variables: str, expression: str, names: dict[str, Any]) -> Read:
    read: Read = eval(f"lambda {variables}: {expression}", names)
    return read


def _bound(value: Any, names: dict[str, Any]) -> str:
    """The name of a value in an expression."""
    name = f"bound_{len(names)}"
    names[name] = value
    return name


def _made(message_class: Any, levels: Sequence[_Level], names: dict[str, Any], *more: str) -> str:
    """The expression that makes one of ours from structs of kio's."""
    values = [(each.name, _read(each, levels, names)) for each in ours_of(message_class)]
    given = [*(f"{name}={value}" for name, value in values if value is not None), *more]
    return f"{_bound(message_class, names)}({', '.join(given)})"


def _read(ours: Ours, levels: Sequence[_Level], names: dict[str, Any]) -> str | None:
    """None: the version lacks it, or it is not carried."""
    mark = ours.mark
    if isinstance(mark, Functions):
        structs = ", ".join(variable for variable, _, is_bare in levels if not is_bare)
        return None if mark.read is None else f"{_bound(mark.read, names)}({structs})"
    if isinstance(mark, Rows):
        return _rows(ours, mark, levels[0], names) if mark.path[0] in levels[0][1] else None
    if isinstance(mark, Parts):
        values = [(part.name, _read(part, levels, names)) for part in parts_of(ours, mark)]
        given = [f"{name}={value}" for name, value in values if value is not None]
        return f"{_bound(ours.inner, names)}({', '.join(given)})"
    found = find(mark, [fields for _, fields, _ in levels])
    if found is not None:
        level, name = found
        variable, fields, is_bare = levels[level]
        return _value(ours, fields[name], variable if is_bare else f"{variable}.{name}", names)
    if isinstance(mark, OneBefore):
        return f"({_made(ours.element, levels, names)},)"
    return None if mark.absent is MISSING else _bound(mark.absent, names)


def _rows(ours: Ours, mark: Rows, top: _Level, names: dict[str, Any]) -> str:
    """Loops over the arrays of the path, one in the other."""
    levels: list[_Level] = []
    loops, at, fields = [], *top[:2]
    for depth, step in enumerate(mark.path):
        field, outer, at = fields[step], f"{at}.{step}", _bound(None, names)
        if mark.entries and not depth:
            entry = _bound(None, names)
            levels.append((entry, {"entry": ENTRY}, True))
            loops.append(f"for {entry}, {at} in enumerate({outer})")
        else:
            loops.append(f"for {at} in {outer}")
        fields = {ITSELF: field} if field.struct is None else kio_fields(field.struct)
        levels.append((at, fields, field.struct is None))
    rows = f"tuple([{_made(ours.element, levels, names)} {' '.join(loops)}])"
    return _unless_none(ours, top[1][mark.path[0]], f"{top[0]}.{mark.path[0]}", rows)


def _unless_none(ours: Ours, field: MarkedField, at: str, value: str) -> str:
    empty = None if ours.may_be_none else ()
    return f"({empty} if {at} is None else {value})" if field.nullable else value


def _value(ours: Ours, field: MarkedField, at: str, names: dict[str, Any]) -> str:
    """The expression of our value from the one of kio's."""
    if field.array:
        each = _bound(None, names)
        if field.struct is not None or is_dataclass(ours.element):
            is_bare = field.struct is None
            fields = {ITSELF: field} if is_bare else kio_fields(field.struct)
            element = _made(ours.element, [(each, fields, is_bare)], names)
        elif ours.element is UUID:
            element = f"{_bound(some_uuid, names)}({each})"
        else:
            return _unless_none(ours, field, at, at)
        return _unless_none(ours, field, at, f"tuple([{element} for {each} in {at}])")
    if field.struct is not None:
        return _unless_none(
            ours, field, at, _made(ours.inner, [(at, kio_fields(field.struct), False)], names)
        )
    if ours.inner is ErrorCode:
        return f"{_bound(our_error, names)}({at})"
    if isinstance(ours.inner, type) and issubclass(ours.inner, IntEnum):
        return f"{_bound(ours.inner, names)}({at})"
    if field.kafka_type == "timedelta_i32":
        return f"{at} // {_bound(_MILLISECOND, names)}"
    if field.kafka_type == "datetime_i64":
        return f"(-1 if {at} is None else {at})"
    if ours.kind is UUID:
        return f"{_bound(some_uuid, names)}({at})"
    if ours.kind in (str, bytes) and field.nullable:
        return f"({at} or {ours.kind()!r})"
    return at
