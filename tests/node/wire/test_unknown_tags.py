"""KIP-482: tagged fields that we do not know are skipped, wherever they stand."""

import pytest

from node.wire import MalformedFrame, decode_request, encode_request
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest
from tests.node.wire.sample_requests import REQUESTS

UNKNOWN = b"\x01\x63\x03abc"  # one field: tag 99, three bytes
FETCH = next(m for m in REQUESTS if isinstance(m, FetchRequest))
VOTE = next(m for m in REQUESTS if isinstance(m, VoteRequest))


def test_in_the_header() -> None:
    header, frame = encode_request(VOTE, correlation_id=1, client_id="c")
    at = 8 + 2 + 1
    assert frame[at : at + 1] == b"\0"
    assert decode_request(frame[:at] + UNKNOWN + frame[at + 1 :]) == (header, VOTE)


def test_at_the_top() -> None:
    header, frame = encode_request(VOTE, correlation_id=1, client_id="c")
    assert frame.endswith(b"\0")
    assert decode_request(frame[:-1] + UNKNOWN) == (header, VOTE)


def test_in_topic_and_partition() -> None:
    header, frame = encode_request(VOTE, correlation_id=1, client_id="c")
    assert frame.endswith(b"\0\0\0")  # partition, topic, request: no tags
    for partition in (b"\0", UNKNOWN):
        for topic in (b"\0", UNKNOWN):
            assert decode_request(frame[:-3] + partition + topic + b"\0") == (header, VOTE)


def test_among_known_tags() -> None:
    header, frame = encode_request(FETCH, correlation_id=1, client_id="c")
    # Fetch 18 ends with its own tags: 0, the cluster id, and 1, the replica state.
    count_at = frame.rindex(b"\x02\x00\x17")
    more = b"\x03" + frame[count_at + 1 :] + b"\x63\x03abc"
    assert decode_request(frame[:count_at] + more) == (header, FETCH)


def test_inside_a_known_tagged_struct() -> None:
    header, frame = encode_request(FETCH, correlation_id=1, client_id="c")
    state_at = frame.rindex(b"\x01\x0d\x00\x00\x00\x01")  # tag 1, 13 bytes: id, epoch, no tags
    assert frame.endswith(b"\0")
    longer = frame[:state_at] + b"\x01" + bytes([13 + len(UNKNOWN) - 1]) + frame[state_at + 2 : -1]
    assert decode_request(longer + UNKNOWN) == (header, FETCH)


@pytest.mark.parametrize(
    "tags",
    [
        b"\x01\x63\x04abc",  # longer than what is left
        b"\x02\x63\x03abc",  # one field is missing
        b"\x01\x63",
        b"\xff\xff\xff\xff\x0f",
        b"\x01\xff\xff\xff\xff\xff\x01\x00",  # a tag of six bytes
    ],
)
def test_broken_tags_are_refused(tags: bytes) -> None:
    _, frame = encode_request(VOTE, correlation_id=1, client_id="c")
    with pytest.raises(MalformedFrame):
        decode_request(frame[:-1] + tags)


def test_a_known_tag_of_another_size_is_refused() -> None:
    _, frame = encode_request(FETCH, correlation_id=1, client_id="c")
    at = frame.rindex(b"\x01\x0d\x00\x00\x00\x01")
    with pytest.raises(MalformedFrame):
        decode_request(frame[:at] + b"\x01\x0e" + frame[at + 2 :] + b"\0")
