"""Declared messages of every API, in every version: what kio's classes make of their bytes."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader

from node.codec import UnencodableMessage
from node.errors import ErrorCode
from node.ids import METADATA_TOPIC
from node.wire import unreleased
from node.wire.api import Api, Side, kio_class
from node.wire.api_versions import API_VERSIONS
from node.wire.apis import APIS, BROKER_APIS, BROKER_BY_KEY, BY_KEY
from node.wire.declared import Functions, Parts, Rows, find, kio_fields, ours_of, quorum_classes
from node.wire.frames import (
    RequestHeader,
    decode_request,
    decode_response,
    encode_response,
    written,
)
from tests.node.wire.sample_requests import REQUESTS
from tests.node.wire.sample_responses import RESPONSES
from tests.support.codec_shapes import kio_bytes

EVERY_API = list(dict.fromkeys((*APIS, *BROKER_APIS)))
OF_NO_RELEASE = ErrorCode.REQUEST_LIMIT_REACHED  # kio does not know it
# But for those that kio lacks.
EVERY_VERSION = [
    pytest.param(api, version, id=f"{api.request.__name__}-{version}")
    for api in EVERY_API
    for version in range(api.min_version, api.max_version + 1)
    if kio_class(api.package, api.name, version, "request").__module__ != unreleased.__name__
]
# Of which kio has no field: they say what is not in a message, or come from its header.
NOT_CARRIED = {"partition_ok", "supported", "client_id"}
# Never sent as such, and the index of a topic that has no meaning but in a request's answer.
LEFT_OUT = ("sliced", "entry")
NUMBERS = st.sampled_from([-1, 0, 1, 5, 127])
TEXTS = st.sampled_from(["", "a", "orders", METADATA_TOPIC, "x" * 130, "é"])


@cache
def drawn(kind: Any) -> st.SearchStrategy[Any]:
    """A value of an annotated type of ours."""
    if get_origin(kind) is Annotated:
        return drawn(get_args(kind)[0])
    if hasattr(kind, "__supertype__"):
        return drawn(kind.__supertype__)
    if isinstance(kind, UnionType):
        return st.one_of([drawn(arm) for arm in get_args(kind)])
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        if others == [...]:
            return st.lists(drawn(first), max_size=2).map(tuple)
        return st.tuples(*map(drawn, (first, *others)))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return st.builds(kind, **{n: drawn(hint) for n, hint in hints.items() if n not in LEFT_OUT})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from([each for each in kind if each is not OF_NO_RELEASE])
    plain = {
        NoneType: st.none(),
        bool: st.booleans(),
        int: NUMBERS,
        str: TEXTS,
        bytes: st.sampled_from([b"", b"abc", bytes(200)]),
        UUID: st.sampled_from([UUID(int=5), UUID(int=2**127)]),  # kio reads zero as None
    }
    return plain[kind]


def header_of(api: Api, version: int) -> RequestHeader:
    request_type = None if BY_KEY.get(api.key) is api else api.request
    return RequestHeader(
        api_key=api.key,
        api_version=version,
        correlation_id=7,
        client_id="c",
        request_type=request_type,
    )


def read_by_kio(api: Api, version: int, side: Side, frame: bytes) -> Any:
    message_class = kio_class(api.package, api.name, version, side)
    header, at = entity_reader(message_class.__header_schema__)(frame, 0)
    entity, size = entity_reader(message_class)(frame, at)
    assert at + size == len(frame)
    assert kio_bytes(header) + kio_bytes(entity) == frame
    return entity


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
@settings(max_examples=5)
@given(data=st.data())
def test_a_request_is_what_kio_reads_and_comes_back(
    api: Api, version: int, data: st.DataObject
) -> None:
    message, header = data.draw(drawn(api.request)), header_of(api, version)
    try:
        frame = written(api, header, message)
    except (UnencodableMessage, IndexError):  # more, fewer or other values than the version has
        return
    read_by_kio(api, version, "request", frame)
    served = BY_KEY if BY_KEY.get(api.key) is api else BROKER_BY_KEY
    header_read, again = decode_request(frame, served)
    assert decode_request(written(api, header, again), served) == (header_read, again)


@pytest.mark.parametrize(("api", "version"), EVERY_VERSION)
@settings(max_examples=5)
@given(data=st.data())
def test_an_answer_is_what_kio_reads_and_comes_back(
    api: Api, version: int, data: st.DataObject
) -> None:
    message, header = data.draw(drawn(api.response)), header_of(api, version)
    served = BY_KEY if BY_KEY.get(api.key) is api else BROKER_BY_KEY
    try:
        frame = encode_response(header, message, served)
    except UnencodableMessage:
        return
    read_by_kio(api, version, "response", frame)
    if api is API_VERSIONS and message.error is ErrorCode.UNSUPPORTED_VERSION:
        return  # told in version 0, whatever was asked
    again = decode_response(header, frame)
    assert type(again) is api.response
    assert decode_response(header, encode_response(header, again, served)) == again


def named(message_class: Any, levels: list[Any], top: Any) -> Iterator[str]:
    """The fields of ours that a version of kio's classes has."""
    for ours in ours_of(message_class):
        where = f"{message_class.__name__}.{ours.name}"
        mark = ours.mark
        if isinstance(mark, Functions | Parts):
            yield where
        elif isinstance(mark, Rows):
            if mark.path[0] in kio_fields(top):
                yield where
        elif find(mark, levels) is not None:
            yield where


@pytest.mark.parametrize("api", EVERY_API, ids=lambda api: api.request.__name__)
def test_every_name_is_one_that_some_served_version_has(api: Api) -> None:
    for side, message_class in (("request", api.request), ("response", api.response)):
        known: set[str] = set()
        for version in range(api.min_version, api.max_version + 1):
            top = kio_class(api.package, api.name, version, side)
            levels = [kio_fields(top)]
            if api.of_quorum:
                levels.append(kio_fields(quorum_classes(top)[2]))
            known |= set(named(message_class, levels, top))
        every = {f"{message_class.__name__}.{each.name}" for each in ours_of(message_class)}
        lost = {name for name in every - known if name.split(".")[1] not in NOT_CARRIED}
        assert lost == set()


def flattened(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Each field of each message in a value: its class, its name, what it holds. What is not
    compared is of one request and the answer to it alone."""
    if isinstance(value, tuple):
        for each in value:
            yield from flattened(each)
    elif is_dataclass(value):
        for field in fields(value):
            if not field.compare:
                continue
            held = getattr(value, field.name)
            yield type(value).__name__, field.name, held
            yield from flattened(held)


def test_every_field_has_a_value_in_some_sample_that_no_reader_would_make_up() -> None:
    """A misspelt name in a reader is otherwise taken for a field that the version lacks."""
    held: dict[tuple[str, str], list[Any]] = {}
    for sample in (*REQUESTS, *RESPONSES.values()):
        for class_name, name, value in flattened(sample):
            held.setdefault((class_name, name), []).append(value)
    made_up = (None, (), "", b"", 0, -1, False, 2**63 - 1)
    poor = [key for key, values in held.items() if all(value in made_up for value in values)]
    assert poor == []
