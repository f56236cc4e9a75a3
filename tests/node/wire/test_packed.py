"""What is packed at once has the bytes that kio's classes make of it."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from node.ids import ZERO_UUID, Epoch, NodeId, ReplicaKey
from node.wire.api import Api
from node.wire.apis import BY_REQUEST
from node.wire.fetch import FETCH, NO_HIGH_WATERMARK, FetchRequest
from node.wire.frames import decode_request, encode_request, packed, written
from node.wire.headers import RequestHeader

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
USUAL = FetchRequest(
    cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
    replica=ReplicaKey(NodeId(3), UUID("6dac0a3f-1d0c-4c51-9a3e-0b7d2f6e1c55")),
    epoch=Epoch(5),
    fetch_offset=300,
    last_epoch=4,
    max_wait_ms=500,
    max_bytes=1 << 20,
    high_watermark=298,
)
FETCHES = st.builds(
    FetchRequest,
    cluster_id=st.none() | st.text(max_size=40) | st.text(min_size=100, max_size=150),
    replica=st.builds(ReplicaKey, INT32, st.just(ZERO_UUID) | st.uuids()),
    epoch=INT32,
    fetch_offset=INT64,
    last_epoch=INT32,
    max_wait_ms=INT32,
    max_bytes=INT32,
    high_watermark=st.just(NO_HIGH_WATERMARK) | INT64,
)


def header_of(api: Api, version: int) -> RequestHeader:
    return RequestHeader(api_key=api.key, api_version=version, correlation_id=7, client_id="c")


@given(FETCHES, st.sampled_from(range(FETCH.min_version, FETCH.max_version + 1)))
def test_a_fetch_has_the_same_bytes_either_way(message: FetchRequest, version: int) -> None:
    header = header_of(FETCH, version)
    assert packed(FETCH, header, message) in (None, written(FETCH, header, message))


def test_what_followers_send_is_packed() -> None:
    api = BY_REQUEST[FetchRequest]
    header, frame = encode_request(USUAL, correlation_id=7, client_id="c")
    assert frame == packed(api, header, USUAL)
    assert decode_request(frame) == (header, USUAL)
