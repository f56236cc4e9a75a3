"""What is unpacked at once is what kio's classes read of the same bytes, whatever those are."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import ErrorCode
from node.ids import Endpoint, Epoch, NodeId
from node.wire import frames
from node.wire.apis import BY_KEY, Request
from node.wire.configs import (
    INCREMENTAL_ALTER_CONFIGS,
    AlterConfigsRequest,
    ConfigChange,
    ResourceChange,
)
from node.wire.fetch import FETCH, FetchRequest, FetchResponse
from node.wire.frames import MalformedFrame
from tests.node.wire.test_packed import (
    ANSWERS,
    FETCHES,
    INT8,
    MESSAGES,
    TEXTS,
    USUAL,
    header_of,
    versions,
)

TOLD = FetchResponse(
    leader=NodeId(1),
    epoch=Epoch(5),
    high_watermark=298,
    records=b"xyz",
    leader_endpoint=Endpoint(name="", host="node-1", port=9101),
)
LONG_WAY: dict[int, Any] = {
    api.key: replace(api, unpack_request=lambda *_: None, unpack_response=lambda *_: None)
    for api in (FETCH, INCREMENTAL_ALTER_CONFIGS)
}
CHANGES = st.builds(ConfigChange, name=TEXTS, operation=INT8, value=MESSAGES)
RESOURCES = st.builds(
    ResourceChange,
    type=INT8,
    name=TEXTS,
    changes=(st.lists(CHANGES, max_size=3) | CHANGES.map(lambda it: [it] * 127)).map(tuple),
)
ALTERS = st.builds(
    AlterConfigsRequest,
    resources=st.lists(RESOURCES, min_size=1, max_size=2).map(tuple),
    validate_only=st.booleans(),
)
USUAL_ALTER = AlterConfigsRequest(
    resources=(
        ResourceChange(
            type=16,
            name="register-3",
            changes=(ConfigChange(name="interval.ms", operation=0, value="70123"),),
        ),
    ),
    validate_only=False,
)
DAMAGE = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2)
CUT = st.integers(-3, 3)


def damaged(frame: bytes, damage: list[tuple[int, int]], cut: int) -> bytes:
    """Behind the header, mostly in one byte or two; cut short, or with zeros behind it."""
    changed = bytearray(frame)
    for at, byte in damage:
        changed[8 + at % (len(changed) - 8)] = byte
    return bytes(changed[:cut] if cut < 0 else changed + bytes(cut))


def request_read(frame: bytes, served: Any = BY_KEY) -> object:
    try:
        return frames.decode_request(frame, served)
    except MalformedFrame as error:
        return str(error)


def response_read(frame: bytes, version: int) -> object:
    try:
        return frames.decode_response(header_of(FETCH, version), frame)
    except MalformedFrame as error:
        return str(error)


def asked_in(version: int, message: Request) -> bytes:
    return frames.encode_request(message, correlation_id=7, client_id="c", version=version)[1]


@given(st.just(USUAL) | FETCHES, st.just(FETCH.max_version) | versions(FETCH), DAMAGE, CUT)
def test_a_request_is_read_alike(
    message: FetchRequest, version: int, damage: list[tuple[int, int]], cut: int
) -> None:
    frame = damaged(asked_in(version, message), damage, cut)
    assert request_read(frame) == request_read(frame, LONG_WAY)


@given(st.just(TOLD) | ANSWERS, versions(FETCH), DAMAGE, CUT)
def test_a_response_is_read_alike(
    message: FetchResponse, version: int, damage: list[tuple[int, int]], cut: int
) -> None:
    whole = frames.encode_response(header_of(FETCH, version), message)
    frame = damaged(whole, damage, cut)
    read = response_read(frame, version)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(frames, "BY_KEY", LONG_WAY)
        assert read == response_read(frame, version)


@given(
    st.just(USUAL_ALTER) | ALTERS,
    st.just(INCREMENTAL_ALTER_CONFIGS.max_version) | versions(INCREMENTAL_ALTER_CONFIGS),
    DAMAGE,
    CUT,
)
def test_a_change_of_configs_is_read_alike(
    message: AlterConfigsRequest, version: int, damage: list[tuple[int, int]], cut: int
) -> None:
    frame = damaged(asked_in(version, message), damage, cut)
    assert request_read(frame) == request_read(frame, LONG_WAY)


def test_what_clients_change_all_day_long_is_unpacked() -> None:
    frame = asked_in(1, USUAL_ALTER)
    unpack = INCREMENTAL_ALTER_CONFIGS.unpack_request
    assert unpack(frame, len(frame) - _body_of(frame), 1) == USUAL_ALTER


def test_what_replicas_say_all_day_long_is_unpacked() -> None:
    frame = asked_in(FETCH.max_version, USUAL)
    assert FETCH.unpack_request(frame, len(frame) - _body_of(frame), 18) == USUAL
    for told in (TOLD, replace(TOLD, records=b"", leader_endpoint=None)):
        answer = frames.encode_response(header_of(FETCH, 18), told)
        assert FETCH.unpack_response(answer, 5, 18) == told


@pytest.mark.parametrize("size", [0, 126, 127, 128, 16_383, 16_384, 70_000])
def test_records_of_any_size_are_read(size: int) -> None:
    """Those of many bytes by kio's classes."""
    told = replace(TOLD, records=bytes(size))
    assert response_read(frames.encode_response(header_of(FETCH, 18), told), 18) == told
    refused = replace(told, error=ErrorCode.FENCED_LEADER_EPOCH)
    assert response_read(frames.encode_response(header_of(FETCH, 18), refused), 18) == refused


def _body_of(frame: bytes) -> int:
    """Bytes behind the header, of client "c" in a flexible version."""
    return len(frame) - (2 + 2 + 4 + 2 + len("c") + 1)
