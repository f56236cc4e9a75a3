"""Translates kio's messages to our declared ones, and back.

One expression makes a message, for each class of kio's: a call for each field would take twice as
long, and a broker reads a message with each fetch.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from datetime import timedelta
from enum import IntEnum
from functools import cache, lru_cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.codec.fields import MarkedField, UnencodableMessage, marked_fields
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
    Tagged,
    find,
    kio_fields,
    our_error,
    ours_of,
    parts_of,
    quorum_classes,
    row_classes,
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


# Makes of our declared messages what the codec writes as kio's: the inverse of `reader`.
#
# The codec only reads the fields of a message, so any value that has them will do.


Write = Callable[[Any], Any]
_Pick = tuple[str, str, Write | None]  # to a name, from a path, converted

_ZERO: dict[str, Any] = {"bool": False, "string": "", "bytes": b"", "records": b"", "uuid": None}


@cache
def writer(message_class: Any, kio_class: Any, always: Any = None) -> Write:
    """Makes what the codec writes as a message of kio's class. `always`: pairs of names and values,
    of what only kio has.
    """
    return _struct_writer(message_class, (kio_fields(kio_class),), kio_class, dict(always or ()))


@cache
def quorum_writer(message_class: Any, kio_class: Any, always: Any = None) -> Write:
    """As `writer`, of a message of the quorum. An error that concerns the whole request is at the
    top, with no topics; all others are at the partition.
    """
    fixed = dict(always or ())
    topics, topic_class, partition_class = quorum_classes(kio_class)
    levels = (kio_fields(kio_class), kio_fields(partition_class))
    write_top = _struct_writer(message_class, levels, kio_class, fixed, 0)
    write_partition = _struct_writer(message_class, levels, partition_class, fixed, 1)
    blank = _blanks(topic_class, OF_QUORUM)

    def write(message: Any) -> Any:
        made = write_top(message)
        if not getattr(message, "top_error", None):
            topic = SimpleNamespace(**blank | {"partitions": (write_partition(message),)})
            setattr(made, topics, (topic,))
        return made

    return write


def _values(picks: Sequence[_Pick]) -> Callable[[Any], dict[str, Any]]:
    """Takes a struct; returns values by name."""
    names = [name for name, _, _ in picks]
    converts = [(name, convert) for name, _, convert in picks if convert is not None]
    paths = [path for _, path, _ in picks]
    if paths == [ITSELF]:
        return lambda element: {names[0]: element}
    get = attrgetter(*paths)

    def read(struct: Any) -> dict[str, Any]:
        found = get(struct)
        values = dict(zip(names, found, strict=True)) if len(names) > 1 else {names[0]: found}
        for name, convert in converts:
            values[name] = convert(values[name])
        return values

    return read


def _struct_writer(
    message_class: Any,
    levels: Sequence[KioFields],
    kio_class: Any,
    always: Mapping[str, Any],
    at_level: int = 0,
    paths: Sequence[tuple[str, Ours]] | None = None,
) -> Write:
    """Of the level `at_level`. `paths`: the fields of ours, with their paths, if not all."""
    picks: list[_Pick] = []
    picked: set[str] = set()
    made: list[tuple[str, Write]] = []
    only: list[tuple[Write, Write]] = []
    owns: list[Callable[[Any, int], dict[str, Any]]] = []
    for path, ours in _paths(message_class) if paths is None else paths:
        if isinstance(ours.mark, Functions):
            owns += _own_writer(path, ours.mark)
        elif isinstance(ours.mark, Rows):
            if ours.mark.path[0] in levels[at_level]:
                made.append(
                    (ours.mark.path[0], _rows_writer(path, ours, ours.mark, kio_class, always))
                )
        elif isinstance(ours.mark, OneBefore) and ours.mark.name not in levels[at_level]:
            only.append((attrgetter(path), writer(ours.element, kio_class, tuple(always.items()))))
        else:
            found = find(ours.mark, levels)
            if found is not None and found[0] == at_level and found[1] not in picked:
                picked.add(found[1])
                field = levels[at_level][found[1]]
                picks.append((found[1], path, _to_kio(ours, field, always)))
    blank = _blanks(kio_class, always)
    version = int(kio_class.__version__)
    structs = _structs_within(kio_class, picks, always)
    picks = [pick for pick in picks if "." not in pick[0]]
    values_of = _values(picks) if picks else lambda _: {}
    made += structs
    if not made and not owns and not only:
        return lambda message: SimpleNamespace(**blank | values_of(message))

    def write(message: Any) -> Any:
        values = dict(blank)
        for get, write_only in only:
            values |= vars(write_only(_only(get(message))))
        values |= values_of(message)
        for name, make in made:
            values[name] = make(message)
        for own in owns:
            values |= own(message, version)
        return SimpleNamespace(**values)

    return write


def _only(elements: Sequence[Any]) -> Any:
    if len(elements) != 1:
        raise UnencodableMessage(f"{len(elements)} elements, where the version has one")
    return elements[0]


def _own_writer(path: str, mark: Functions) -> list[Callable[[Any, int], dict[str, Any]]]:
    if mark.write is not None:
        return [mark.write]
    if mark.value is None:
        return []
    value, get = mark.value, attrgetter(path)
    return [lambda message, _version: value(get(message))]


def _paths(message_class: Any) -> Iterator[tuple[str, Ours]]:
    """Every field, and the parts of those that are kept together."""
    for ours in ours_of(message_class):
        if isinstance(ours.mark, Parts):
            yield from ((f"{ours.name}.{part.name}", part) for part in parts_of(ours, ours.mark))
        else:
            yield ours.name, ours


def _structs_within(
    kio_class: Any, picks: Iterable[_Pick], always: Mapping[str, Any]
) -> list[tuple[str, Write]]:
    """The structs that fields with a path of two names are in."""
    inner: dict[str, list[_Pick]] = {}
    for name, path, convert in picks:
        if "." in name:
            head, tail = name.split(".")
            inner.setdefault(head, []).append((tail, path, convert))
    found = []
    for head, those in inner.items():
        field = kio_fields(kio_class)[head]
        make = SimpleNamespace if field.tag is None else Tagged
        found.append((head, _struct_maker(make, _blanks(field.struct, always), _values(those))))
    return found


def _struct_maker(
    make: Any, blank: dict[str, Any], values: Callable[[Any], dict[str, Any]]
) -> Write:
    return lambda message: make(**blank | values(message))


def _rows_writer(
    path: str, ours: Ours, mark: Rows, kio_class: Any, always: Mapping[str, Any]
) -> Write:
    steps = mark.path
    classes = row_classes(kio_class, steps)
    levels = [kio_fields(each) for each in classes]
    is_flat = len(levels) < len(steps)
    if is_flat:
        levels.append({ITSELF: levels[-1][steps[-1]]})
    of_element = list(_paths(ours.element))
    writes = [
        _struct_writer(ours.element, levels, each, always, level, of_element)
        for level, each in enumerate(classes)
    ]
    if is_flat:
        (itself,) = (
            attrgetter(path)
            for path, each in of_element
            if find(each.mark, levels) == (len(steps) - 1, ITSELF)
        )
        writes.append(itself)
    keys = mark.keys

    def structs(items: Sequence[Any], level: int) -> tuple[Any, ...]:
        write = writes[level]
        if level + 1 == len(steps):
            return tuple([write(item) for item in items])
        made = []
        for group in _groups(items, keys[level] if keys else None):
            struct = write(group[0])
            setattr(struct, steps[level + 1], structs(group, level + 1))
            made.append(struct)
        return tuple(made)

    get, unless, version = attrgetter(path), mark.unless, int(kio_class.__version__)

    def write_rows(message: Any) -> Any:
        items = () if unless is not None and unless(message, version) else get(message)
        return None if items is None else structs(items, 0)

    return write_rows


def _groups(items: Sequence[Any], key: Callable[[Any], Any] | None) -> Iterable[Sequence[Any]]:
    """In the order in which they first appear."""
    if key is None:
        return [(item,) for item in items]
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found.values()


def _to_kio(
    ours: Ours, field: MarkedField, always: Mapping[str, Any]
) -> Callable[[Any], Any] | None:
    if field.struct is not None:
        write = writer(ours.element or ours.inner, field.struct, tuple(always.items()))
        if field.array:
            return lambda value: None if value is None else tuple([write(each) for each in value])
        return lambda value: None if value is None else write(value)
    if field.array and is_dataclass(ours.element):
        return _scalars_writer(ours.element, field)
    if field.kafka_type == "timedelta_i32":
        return _delta
    null = ours.null
    if null is not MISSING and not field.nullable:
        return lambda value: null if value is None else value
    return None


def _scalars_writer(element: Any, field: MarkedField) -> Write:
    """Of our structs the one field that kio's elements are."""
    (ours,) = (each for each in ours_of(element) if find(each.mark, ({ITSELF: field},)))
    get, null = attrgetter(ours.name), ours.null

    def write(values: Any) -> Any:
        found = [get(value) for value in values]
        return tuple([null if value is None else value for value in found])

    return write


@lru_cache(maxsize=256)
def _delta(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def _blanks(kio_class: Any, always: Mapping[str, Any]) -> dict[str, Any]:
    """What only kio has. A struct without a default has none: it is declared."""
    found = {}
    for field in marked_fields(kio_class):
        if field.name in always:
            found[field.name] = always[field.name]
        elif field.default is not MISSING:
            found[field.name] = field.default
            if field.kafka_type == "timedelta_i64":
                found[field.name] = field.default // _MILLISECOND
        elif field.array:
            found[field.name] = None if field.nullable else ()
        elif field.struct is None:
            found[field.name] = None if field.nullable else _zero(field)
    return found


def _zero(field: MarkedField) -> Any:
    if field.kafka_type == "error_code":
        return ErrorCode.NONE
    if field.kafka_type == "timedelta_i32":
        return timedelta(0)
    return _ZERO.get(field.kafka_type, 0)
