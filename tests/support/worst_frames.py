"""The frames that give a node the most work for what it accepts of one: elements and bytes at their
limits, in every shape that a schema allows, and with values that the controller works on longest.
It knows brokers (`worst_cluster_requests`).
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from node import limits
from node.codec import write_whole
from node.codec.fields import MarkedField, marked_fields
from node.codec.varint import write_unsigned
from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from node.limits import MAX_ELEMENTS, MAX_STRING_BYTES
from node.wire.api import Api, kio_class
from node.wire.apis import APIS, Request
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from node.wire.frames import RequestHeader, encode_request, request_header
from node.wire.topic_changes import CreateTopicsRequest, NewTopic
from tests.support.worst_cluster_requests import cluster_requests

CLIENT_METRICS = 16
SET, DELETE, APPEND, SUBTRACT = range(4)
LIST_KEYS = ("match", "metrics")
# A value of each of Kafka's types; of names and ids of topics, those that are looked at further.
PLAIN: dict[str, Any] = {
    "bytes": b"",
    "records": b"",
    "bool": False,
    "uuid": None,
    "string": "",
    "timedelta_i32": timedelta(0),
    **dict.fromkeys(("int8", "int16", "int32", "int64", "timedelta_i64", "uint16"), 0),
}
METADATA: dict[str, Any] = {"string": METADATA_TOPIC, "uuid": METADATA_TOPIC_ID}


def worst_frames(max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """What each is, and its bytes: at most `max_bytes`."""
    every = (*_many(), *_long(max_bytes), *_patterns(), *cluster_requests(max_bytes))
    for name, request in every:
        _, frame = encode_request(request, correlation_id=1, client_id="worst")
        assert len(frame) <= max_bytes, f"{name}: {len(frame)} bytes"
        yield name, frame
    yield from shaped_frames()


def _many() -> Iterator[tuple[str, Request]]:
    """As many elements as a frame may have."""
    half, quarter = MAX_ELEMENTS // 2, MAX_ELEMENTS // 4
    one = ConfigChange(name="interval.ms", operation=SET, value="1000")
    three = (one, *(ConfigChange(name=key, operation=SET, value="") for key in LIST_KEYS))
    for only in (True, False):
        what = "validates" if only else "alters"
        yield f"{what} {half} resources", _alter([(f"r{n}", (one,)) for n in range(half)], only)
        yield (
            f"{what} {quarter} whole resources",
            _alter([(f"r{n}", three) for n in range(quarter)], only),
        )
    yield "alters one resource many times", _alter([("r", (one,))] * half)
    yield "alters a key many times", _alter([("r", (one,) * (MAX_ELEMENTS - 1))])
    names = tuple(f"k{n}" for n in range(MAX_ELEMENTS - 1))
    unknown = tuple(ConfigChange(name=name, operation=SET, value="") for name in names)
    yield "alters unknown keys", _alter([("r", unknown)])
    yield "describes resources", _describe([(f"r{n}", None) for n in range(MAX_ELEMENTS)])
    yield "describes one resource many times", _describe([("r0", None)] * MAX_ELEMENTS)
    yield "describes many keys", _describe([("r0", names)])
    topics = tuple(NewTopic(name=f"t{n}") for n in range(MAX_ELEMENTS))
    yield "creates topics", CreateTopicsRequest(topics=topics)


def _long(max_bytes: int) -> Iterator[tuple[str, Request]]:
    """As many bytes as a frame may have, in values as long as a string can be."""
    count = max_bytes // (MAX_STRING_BYTES + 100)
    items = ",".join(f"{n:x}" for n in range(MAX_STRING_BYTES // 2))[:MAX_STRING_BYTES]
    for key in LIST_KEYS:
        for operation in (SET, APPEND, SUBTRACT):
            for value in (
                items,
                "," * MAX_STRING_BYTES,
                "a" * MAX_STRING_BYTES,
                "a," * (MAX_STRING_BYTES // 2),
            ):
                change = ConfigChange(name=key, operation=operation, value=value)
                again = [(f"long{n}", (change,)) for n in range(count)]
                yield f"operation {operation} on {key}, {value[:8]}...", _alter(again)
    yield "describes long values", _describe([(f"long{n}", None) for n in range(count)])
    yield "describes a long value many times", _describe([("long0", None)] * MAX_ELEMENTS)


def _patterns() -> Iterator[tuple[str, Request]]:
    """As many as one request may have, as long as they may be, of what takes long to compile."""
    for piece in ("(a|b)", "(a?)", "(?i:[a-z])", "[^\\w]", "(?=a)", "a{9}"):
        longest = limits.MAX_PATTERN_CHARACTERS - 3  # and a number: Python remembers patterns
        most = min(longest // len(piece), limits.MAX_PATTERN_GROUPS)
        entry = f"client_id={piece * most}"
        count = limits.MAX_PATTERN_CHARACTERS_PER_USER_OP // (len(entry) + 4)
        changes = [
            (f"p{n}", (ConfigChange(name="match", operation=SET, value=f"{entry}{n:03}"),))
            for n in range(count)
        ]
        yield f"patterns of {piece}", _alter(changes)


def _alter(
    resources: Sequence[tuple[str, tuple[ConfigChange, ...]]], validate_only: bool = False
) -> AlterConfigsRequest:
    changes = tuple(
        ResourceChange(type=CLIENT_METRICS, name=name, changes=entries)
        for name, entries in resources
    )
    return AlterConfigsRequest(resources=changes, validate_only=validate_only)


def _describe(resources: list[tuple[str, tuple[str, ...] | None]]) -> DescribeConfigsRequest:
    queries = (ResourceQuery(type=CLIENT_METRICS, name=name, keys=keys) for name, keys in resources)
    return DescribeConfigsRequest(resources=tuple(queries))


# --- by the schema alone ---


def shaped_frames(apis: Sequence[Api] = APIS) -> Iterator[tuple[str, bytes]]:
    """Of every API in every version: its elements in each of its arrays, and unknown tags."""
    for api in apis:
        for version in range(api.min_version, api.max_version + 1):
            request = kio_class(api.package, api.name, version, "request")
            header = RequestHeader(
                api_key=api.key, api_version=version, correlation_id=1, client_id="worst"
            )
            start = request_header(header, flexible=request.__flexible__)
            name = f"{api.name} {version}"
            for path in array_paths(request):
                for outer in (1, 70, MAX_ELEMENTS // (2 * len(path))):
                    body = write_whole(filled(request, path, outer))
                    yield f"{name}, {'.'.join(path)}, {outer} outside", start + body
            if request.__flexible__:
                plain = write_whole(filled(request, (), 1))
                yield f"{name}, unknown tags", start + plain[:-1] + _unknown_tags()


def array_paths(message: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of arrays that lead to each array, from the outermost."""
    for field in marked_fields(message):
        here = (*before, field.name) if field.array else before
        if field.array:
            yield here
        if field.struct is not None:
            yield from array_paths(field.struct, here)


def filled(message: Any, path: tuple[str, ...], outer: int) -> Any:
    """A message with `outer` elements in the first array of `path`, as many as the rest of the
    budget gives each of them in the last one, and one in those between."""
    if len(path) == 1:
        return _built(message, path, (MAX_ELEMENTS,))
    between = (1,) * (len(path) - 2)
    inner = MAX_ELEMENTS // outer - 1 - len(between)
    return _built(message, path, (outer, *between, inner))


def _built(message: Any, path: tuple[str, ...], counts: tuple[int, ...]) -> Any:
    return message(
        **{f.name: _value(f, path, counts) for f in marked_fields(message) if f.tag is None}
    )


def _value(field: MarkedField, path: tuple[str, ...], counts: tuple[int, ...]) -> Any:
    if not field.array:
        return _element(field, (), ())
    if path[:1] != (field.name,):
        return ()
    return (_element(field, path[1:], counts[1:]),) * counts[0]


def _element(field: MarkedField, path: tuple[str, ...], counts: tuple[int, ...]) -> Any:
    if field.struct is not None:
        return _built(field.struct, path, counts)
    plain = PLAIN[field.kafka_type]
    return METADATA.get(field.kafka_type, plain) if "topic" in field.name else plain


def _unknown_tags() -> bytes:
    """A section of them, each as short as it can be: a tag, and a size of nothing."""
    out = bytearray()
    write_unsigned(out, MAX_ELEMENTS)
    for tag in range(100, 100 + MAX_ELEMENTS):
        write_unsigned(out, tag)
        out.append(0)
    return bytes(out)
