"""What strangers send: everything that is not a request is MalformedFrame, and costs little."""

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.codec.varint import write_unsigned
from node.limits import MAX_ELEMENTS, MAX_NAMED_ELEMENTS
from node.wire import MalformedFrame, decode_request, decode_response, encode_request
from node.wire.api_versions import ApiVersionsRequest
from node.wire.apis import BY_REQUEST, Request
from node.wire.configs import DescribeConfigsRequest
from node.wire.frames import RequestHeader
from tests.node.wire.sample_requests import REQUESTS


def every_frame() -> Iterator[bytes]:
    for message in REQUESTS:
        api = BY_REQUEST[type(message)]
        for version in range(api.min_version, api.max_version + 1):
            yield encode_request(message, correlation_id=1, client_id="c", version=version)[1]


FRAMES = list(every_frame())


def decodes(frame: bytes) -> Request | None:
    try:
        return decode_request(frame)[1]
    except MalformedFrame:
        return None


@pytest.mark.parametrize("frame", FRAMES)
def test_no_frame_can_be_cut_anywhere(frame: bytes) -> None:
    for length in range(len(frame)):
        assert decodes(frame[:length]) is None


@pytest.mark.parametrize("frame", FRAMES)
def test_nothing_may_follow_a_request(frame: bytes) -> None:
    assert decodes(frame + b"\0") is None


@pytest.mark.parametrize(
    ("key", "version"),
    [(1, 11), (1, 19), (52, 3), (52, -1), (0, 9), (3, 12), (80, 0), (-1, 0), (32767, 0), (59, 1)],
)
def test_what_is_not_served_is_refused(key: int, version: int) -> None:
    start = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    with pytest.raises(MalformedFrame):
        decode_request(start + b"\0\0\0\1\xff\xff\0" + b"\0" * 40)


@given(st.integers(0, len(FRAMES) - 1), st.data())
def test_damage_is_refused_or_read_but_nothing_else(number: int, data: st.DataObject) -> None:
    frame = bytearray(FRAMES[number])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    decodes(bytes(frame))


@given(st.binary(max_size=200))
def test_noise_is_refused_or_read_but_nothing_else(noise: bytes) -> None:
    decodes(noise)


@pytest.mark.parametrize(
    "body",
    [
        b"\0\0\xff\xff\xff\xff\x07" + b"\0" * 20,  # compact array of 2**31 - 2
        b"\0\0\xfe\xff\xff\xff\x0f" + b"\0" * 20,
        b"\xff\xff\xff\xff\x0f",  # a string of 4 GiB
    ],
)
def test_absurd_lengths_allocate_nothing(body: bytes) -> None:
    frame = b"\0\x34\0\2\0\0\0\1\0\1c\0" + body  # Vote 2
    tracemalloc.start()
    try:
        assert decodes(frame) is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_negative_lengths_in_old_encodings() -> None:
    # IncrementalAlterConfigs 0: an array of -1, of -2, of 2**31 - 1 resources.
    for count in (b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x7f\xff\xff\xff"):
        assert decodes(b"\0\x2c\0\0\0\0\0\1\xff\xff" + count + b"\0") is None
    # A resource name of -1 and of -2 bytes.
    for length in (b"\xff\xff", b"\xff\xfe"):
        start = b"\0\x2c\0\0\0\0\0\1\xff\xff" + b"\0\0\0\1" + b"\x10"
        assert decodes(start + length + b"\0\0\0\0\0") is None


def test_client_ids() -> None:
    assert decode_request(b"\0\x12\0\0\0\0\0\1\xff\xff")[0].client_id is None
    for bad in (b"\xff\xfe", b"\0\5ab", b"\0\2\xff\xff"):
        assert decodes(b"\0\x12\0\0\0\0\0\1" + bad) is None


def test_invalid_utf8() -> None:
    frame = b"\0\x2c\0\0\0\0\0\1\xff\xff" + b"\0\0\0\1" + b"\x10" + b"\0\1\xff" + b"\0\0\0\0\0"
    assert decodes(frame) is None


def test_responses_may_be_anything_too() -> None:
    header = RequestHeader(api_key=52, api_version=2, correlation_id=1, client_id="c")
    granted = b"\0\0\0\1\0\0\0\x02\x13__cluster_metadata\x02\0\0\0\0\0\0\0\0\0\2\0\0\0\5\1\0\0\0"
    assert decode_response(header, granted)
    for damaged in (
        b"",
        granted[:-1],
        granted + b"\0",
        granted.replace(b"\0\0\0\0\0\0\0", b"\7" * 7),
    ):
        with pytest.raises(MalformedFrame):
            decode_response(header, damaged)
    with pytest.raises(MalformedFrame, match="answer to request 1, not to 2"):
        decode_response(replace(header, correlation_id=2), granted)
    unknown_error = granted[:7] + b"\x7f" + granted[8:]
    with pytest.raises(MalformedFrame):
        decode_response(header, unknown_error)


def describe_configs(resources: int, keys: int) -> bytes:
    """DescribeConfigs 4 of so many resources, each with so many empty keys."""
    start = encode_request(
        DescribeConfigsRequest(resources=()), correlation_id=1, client_id="c", version=4
    )[1]
    body = bytearray(start[: start.rindex(b"\x01\0\0\0")])
    write_unsigned(body, resources + 1)
    resource = bytearray(b"\x10\x02a")
    write_unsigned(resource, keys + 1)
    resource += b"\x01" * keys + b"\0"
    return bytes(body + resource * resources + b"\0\0\0")


@pytest.mark.parametrize(
    ("resources", "keys", "is_read"),
    [
        (1, MAX_NAMED_ELEMENTS - 1, True),
        (1, MAX_NAMED_ELEMENTS, False),
        (MAX_NAMED_ELEMENTS, 0, True),
        (MAX_NAMED_ELEMENTS + 1, 0, False),
        (100, MAX_NAMED_ELEMENTS // 100 - 1, True),
        (100, MAX_NAMED_ELEMENTS // 100, False),
        (9_000, 9_000, False),
    ],
)
def test_the_elements_of_all_arrays_count(resources: int, keys: int, is_read: bool) -> None:
    """However they are nested: a hundred arrays of a hundred are as much work as one of 10,000."""
    assert (decodes(describe_configs(resources, keys)) is not None) == is_read


@pytest.mark.parametrize(("count", "is_read"), [(MAX_ELEMENTS, True), (MAX_ELEMENTS + 1, False)])
def test_unknown_tags_count(count: int, is_read: bool) -> None:
    tags = bytearray()
    write_unsigned(tags, count)
    for _ in range(count):
        tags += b"\x63\0"
    plain = encode_request(ApiVersionsRequest(), correlation_id=1, client_id="c", version=4)[1]
    assert plain.endswith(b"\0")
    in_the_body = plain[:-1] + tags
    at = 8 + 2 + 1
    in_the_header = plain[:at] + tags + plain[at + 1 :]
    assert (decodes(in_the_body) is not None) == is_read
    assert (decodes(in_the_header) is not None) == is_read
