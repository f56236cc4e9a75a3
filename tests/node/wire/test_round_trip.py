"""Every message in every version that is served, ours against ours and ours against kio's."""

import pytest
from kio.serial import entity_reader
from kio.static.constants import EntityType

from node.codec import read_whole
from node.errors import ErrorCode
from node.wire import (
    API_RANGES,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from node.wire.api import Api, kio_class
from node.wire.api_versions import SUPPORTED_FEATURES, ApiVersionsResponse
from node.wire.apis import APIS, BY_REQUEST, Request, Response
from node.wire.frames import RequestHeader
from node.wire.vote import BeginQuorumEpochRequest, EndQuorumEpochRequest
from tests.node.wire.older_versions import request_in_version, response_in_version
from tests.node.wire.sample_ids import LEADER
from tests.node.wire.sample_requests import REQUESTS
from tests.node.wire.sample_responses import RESPONSES
from tests.support.codec_shapes import kio_bytes


def versions(api: Api) -> range:
    return range(api.min_version, api.max_version + 1)


EVERY_REQUEST = [
    pytest.param(message, version, id=f"{api.name}-{version}")
    for message in REQUESTS
    for api in [BY_REQUEST[type(message)]]
    for version in versions(api)
]
EVERY_RESPONSE = [
    pytest.param(api, message, version, id=f"{api.name}-{version}-{position}")
    for api in APIS
    for position, message in enumerate(RESPONSES[api.key])
    for version in versions(api)
]


def test_the_table_is_what_the_controller_listener_of_kafka_serves() -> None:
    assert {r.api_key: (r.min_version, r.max_version) for r in API_RANGES} == {
        1: (12, 18),
        18: (0, 4),
        19: (2, 7),
        20: (1, 6),
        32: (1, 4),
        33: (0, 2),
        37: (0, 3),
        43: (0, 3),
        44: (0, 1),
        45: (0, 1),
        46: (0, 0),
        52: (0, 2),
        53: (0, 1),
        54: (0, 1),
        55: (0, 2),
        56: (2, 3),
        57: (0, 2),
        58: (0, 0),
        59: (0, 1),
        60: (0, 2),
        62: (0, 4),
        63: (0, 2),
        64: (0, 0),
        67: (0, 0),
        70: (0, 0),
        73: (0, 0),
        80: (0, 1),
        81: (0, 0),
        82: (0, 0),
    }


@pytest.mark.parametrize(("message", "version"), EVERY_REQUEST)
def test_requests_come_back(message: Request, version: int) -> None:
    header, frame = encode_request(
        message, correlation_id=2**31 - 1, client_id="c", version=version
    )
    assert decode_request(frame) == (header, request_in_version(message, version))


@pytest.mark.parametrize(
    ("message", "version"),
    [each for each in EVERY_REQUEST if not str(each.id).startswith("ElectLeaders-3")],
)
def test_requests_are_what_kio_reads(message: Request, version: int) -> None:
    api = BY_REQUEST[type(message)]
    header, frame = encode_request(message, correlation_id=5, client_id="client", version=version)
    request_class = kio_class(api.package, api.name, version, "request")
    assert request_class.__api_key__ == api.key
    header_class = request_class.__header_schema__
    kio_header, at = entity_reader(header_class)(frame, 0)
    entity, size = entity_reader(request_class)(frame, at)
    assert at + size == len(frame)
    assert read_whole(request_class, frame, at) == entity
    assert kio_bytes(kio_header) + kio_bytes(entity) == frame
    assert kio_header == header_class(
        request_api_key=header.api_key,
        request_api_version=version,
        correlation_id=5,
        client_id="client",
    )


@pytest.mark.parametrize(("api", "message", "version"), EVERY_RESPONSE)
def test_responses_come_back(api: Api, message: Response, version: int) -> None:
    header = RequestHeader(api_key=api.key, api_version=version, correlation_id=-5, client_id=None)
    frame = encode_response(header, message)
    assert decode_response(header, frame) == response_in_version(message, version)


@pytest.mark.parametrize(("api", "message", "version"), EVERY_RESPONSE)
def test_responses_are_what_kio_reads(api: Api, message: Response, version: int) -> None:
    header = RequestHeader(api_key=api.key, api_version=version, correlation_id=9, client_id="x")
    frame = encode_response(header, message)
    response_class = kio_class(api.package, api.name, version, "response")
    assert response_class.__type__ is EntityType.response
    kio_header, at = entity_reader(response_class.__header_schema__)(frame, 0)
    entity, size = entity_reader(response_class)(frame, at)
    assert at + size == len(frame)
    assert kio_header.correlation_id == 9
    assert read_whole(response_class, frame, at) == entity
    assert kio_bytes(kio_header) + kio_bytes(entity) == frame


@pytest.mark.parametrize("kind", [BeginQuorumEpochRequest, EndQuorumEpochRequest])
def test_requests_tell_where_a_leader_listens(
    kind: type[BeginQuorumEpochRequest | EndQuorumEpochRequest],
) -> None:
    (message,) = (each for each in REQUESTS if isinstance(each, kind))
    assert message.leader_endpoints
    api = BY_REQUEST[type(message)]
    _, frame = encode_request(message, correlation_id=5, client_id="c", version=1)
    entity_class = kio_class(api.package, api.name, 1, "request")
    _, at = entity_reader(entity_class.__header_schema__)(frame, 0)
    entity = read_whole(entity_class, frame, at)
    assert [(each.name, each.host, each.port) for each in entity.leader_endpoints] == [
        (each.name, each.host, each.port) for each in message.leader_endpoints
    ]


@pytest.mark.parametrize(("api", "message", "version"), EVERY_RESPONSE)
def test_answers_tell_where_the_leader_listens(api: Api, message: Response, version: int) -> None:
    endpoint = getattr(message, "leader_endpoint", None)
    header = RequestHeader(api_key=api.key, api_version=version, correlation_id=9, client_id="x")
    entity_class = kio_class(api.package, api.name, version, "response")
    frame = encode_response(header, message)
    _, at = entity_reader(entity_class.__header_schema__)(frame, 0)
    entity = read_whole(entity_class, frame, at)
    if endpoint is not None and hasattr(entity, "node_endpoints"):
        (told,) = entity.node_endpoints
        assert (told.node_id, told.host, told.port) == (LEADER, endpoint.host, endpoint.port)
    else:
        assert getattr(entity, "node_endpoints", ()) == ()


@pytest.mark.parametrize("version", range(5))
def test_only_clients_of_version_4_hear_of_features_that_begin_at_0(version: int) -> None:
    header = RequestHeader(api_key=18, api_version=version, correlation_id=1, client_id=None)
    answer = ApiVersionsResponse(
        error=ErrorCode.NONE, apis=API_RANGES, supported=SUPPORTED_FEATURES
    )
    frame = encode_response(header, answer)
    response_class = kio_class("api_versions", "ApiVersions", version, "response")
    entity = read_whole(response_class, frame, 4)  # header v0 in every version
    features = {
        f.name: (f.min_version, f.max_version) for f in getattr(entity, "supported_features", ())
    }
    assert features.get("kraft.version") == ((0, 1) if version == 4 else None)
    assert ("metadata.version" in features) == (version >= 3)


@pytest.mark.parametrize("version", [-1, 5, 6, 32767])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(version: int) -> None:
    from node.wire.api_versions import ApiVersionsRequest

    flexible = b"\0" if version >= 3 else b""
    frame = (
        b"\0\x12" + version.to_bytes(2, "big", signed=True) + b"\0\0\0\7\0\1c" + flexible + b"body"
    )
    header, request = decode_request(frame)
    assert request == ApiVersionsRequest(supported=False)
    answer = encode_response(
        header, ApiVersionsResponse(error=ErrorCode.UNSUPPORTED_VERSION, apis=API_RANGES)
    )
    for asked in (0, 4):
        told = RequestHeader(api_key=18, api_version=asked, correlation_id=7, client_id="c")
        assert decode_response(told, answer) == ApiVersionsResponse(
            error=ErrorCode.UNSUPPORTED_VERSION, apis=API_RANGES
        )
