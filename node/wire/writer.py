"""Makes of our declared messages what the codec writes as kio's: the inverse of `reader`.

The codec only reads the fields of a message, so any value that has them will do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from datetime import timedelta
from functools import cache, lru_cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

from node.codec.fields import MarkedField, UnencodableMessage, marked_fields
from node.errors import ErrorCode
from node.wire.declared import (
    ITSELF,
    OF_QUORUM,
    Functions,
    KioFields,
    OneBefore,
    Ours,
    Parts,
    Rows,
    Tagged,
    find,
    kio_fields,
    ours_of,
    parts_of,
    quorum_classes,
    row_classes,
)

Write = Callable[[Any], Any]
_Pick = tuple[str, str, Write | None]  # to a name, from a path, converted

_MILLISECOND = timedelta(milliseconds=1)
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
