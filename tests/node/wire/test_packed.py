"""What is packed at once has the bytes that kio's classes make of it."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import ErrorCode
from node.ids import (
    NO_EPOCH,
    NO_NODE,
    ZERO_UUID,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.wire.api import Api
from node.wire.apis import BY_REQUEST, Request, Response
from node.wire.configs import (
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    AlterConfigsResponse,
    ConfigEntry,
    ConfigSource,
    ConfigType,
    DescribeConfigsResponse,
    ResourceDescription,
    ResourceResult,
)
from node.wire.entities import TopicPartition
from node.wire.fetch import FETCH, NO_HIGH_WATERMARK, FetchRequest, FetchResponse
from node.wire.frames import (
    RequestHeader,
    decode_request,
    decode_response,
    encode_request,
    packed,
    packed_response,
    written,
    written_response,
)
from node.wire.group_descriptions import LIST_GROUPS, ListedGroup, ListGroupsResponse
from node.wire.group_offsets import (
    OFFSET_FETCH,
    FetchedOffset,
    FetchedOffsets,
    OffsetFetchResponse,
)
from node.wire.partition_fetch import (
    CONSUMER,
    PARTITIONS_FETCH,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import PRODUCE, ProduceResponse, ProduceResult

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
POSITIONS = st.builds(LogPosition, INT32, INT64)
ERRORS = st.just(ErrorCode.NONE) | st.sampled_from(ErrorCode)
RECORDS = st.binary(max_size=20) | st.binary(min_size=120, max_size=140)
ANSWERS = st.builds(
    FetchResponse,
    top_error=ERRORS,
    error=ERRORS,
    leader=st.just(NO_NODE) | INT32,
    epoch=INT32,
    high_watermark=INT64,
    log_start=INT64,
    diverging=st.none() | POSITIONS,
    snapshot=st.none() | POSITIONS,
    records=RECORDS,
    leader_endpoint=st.none()
    | st.builds(Endpoint, name=st.just(""), host=st.text(max_size=130), port=INT32),
)
PARTITIONS = st.builds(
    TopicPartition,
    name=st.sampled_from(("", "t", "u")),
    id=st.sampled_from((ZERO_UUID, UUID(int=1), UUID(int=2))),
    index=INT32,
    entry=st.integers(0, 1),
)
ASKED = st.builds(
    FetchedPartition,
    partition=PARTITIONS,
    offset=INT64,
    epoch=INT32,
    last_epoch=INT32,
    log_start=INT64,
    max_bytes=INT32,
)
PARTITIONS_ASKED = st.builds(
    PartitionsFetchRequest,
    replica=st.just(CONSUMER) | INT32,
    broker_epoch=INT64,
    max_wait_ms=INT32,
    min_bytes=INT32,
    max_bytes=INT32,
    partitions=st.lists(ASKED, max_size=4).map(tuple),
    session=INT32,
    session_epoch=INT32,
    forgotten=st.lists(PARTITIONS, max_size=4).map(tuple),
)
TOLD = st.builds(
    FetchedRecords,
    partition=PARTITIONS,
    error=ERRORS,
    high_watermark=INT64,
    log_start=INT64,
    diverging=st.sampled_from((None, None, None, LogPosition(Epoch(3), Offset(4)))),
    leader=st.just(NO_NODE) | INT32,
    leader_epoch=st.sampled_from((NO_EPOCH, NO_EPOCH, NO_EPOCH, 5)),
    records=RECORDS,
)
PARTITIONS_TOLD = st.builds(
    PartitionsFetchResponse,
    error=ERRORS,
    session=INT32,
    partitions=st.lists(TOLD, max_size=4).map(tuple),
)
PRODUCED = st.builds(
    ProduceResponse,
    results=st.lists(
        st.builds(
            ProduceResult,
            partition=PARTITIONS,
            error=ERRORS,
            base_offset=INT64,
            log_start=INT64,
            leader=st.sampled_from((NO_NODE, NO_NODE, NO_NODE, NodeId(2))),
            leader_epoch=INT32,
        ),
        max_size=4,
    ).map(tuple),
)

INT8 = st.integers(-(2**7), 2**7 - 1)
TEXTS = st.text(max_size=8) | st.integers(124, 130).map("x".__mul__)
MESSAGES = st.none() | TEXTS
ALTERED = st.builds(
    AlterConfigsResponse,
    results=st.lists(
        st.builds(ResourceResult, type=INT8, name=TEXTS, error=ERRORS, message=MESSAGES),
        max_size=3,
    ).map(tuple),
)
ENTRIES = st.builds(
    ConfigEntry,
    name=TEXTS,
    value=MESSAGES,
    source=st.sampled_from(ConfigSource),
    type=st.sampled_from(ConfigType),
)
DESCRIBED = st.builds(
    DescribeConfigsResponse,
    results=st.lists(
        st.builds(
            ResourceDescription,
            type=INT8,
            name=TEXTS,
            error=ERRORS,
            message=MESSAGES,
            entries=(st.lists(ENTRIES, max_size=3) | ENTRIES.map(lambda it: [it] * 127)).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
)


LISTED = st.builds(
    ListGroupsResponse,
    error=ERRORS,
    groups=(
        st.lists(st.builds(ListedGroup, id=TEXTS, protocol_type=TEXTS, state=TEXTS), max_size=3)
        | st.just([ListedGroup(id="g", protocol_type="consumer", state="Stable")] * 130)
    ).map(tuple),
)
FETCHED_OFFSETS = st.builds(
    FetchedOffset,
    partition=st.builds(TopicPartition, name=TEXTS, index=INT32),
    error=ERRORS,
    offset=INT64,
    epoch=INT32,
    metadata=MESSAGES,
)
OF_GROUP = st.builds(
    FetchedOffsets,
    group=TEXTS,
    error=ERRORS,
    offsets=(st.lists(FETCHED_OFFSETS, max_size=4)).map(tuple),
)


def header_of(api: Api, version: int) -> RequestHeader:
    return RequestHeader(api_key=api.key, api_version=version, correlation_id=7, client_id="c")


def versions(api: Api) -> st.SearchStrategy[int]:
    return st.integers(api.min_version, api.max_version)


def hold_request(api: Api, message: Request, version: int) -> None:
    header = header_of(api, version)
    assert packed(api, header, message) in (None, written(api, header, message))


def hold_response(api: Api, message: Response, version: int) -> None:
    header = header_of(api, version)
    assert packed_response(api, header, message) in (None, written_response(api, header, message))


@given(FETCHES, versions(FETCH))
def test_a_fetch_has_the_same_bytes_either_way(message: FetchRequest, version: int) -> None:
    hold_request(FETCH, message, version)


@given(ANSWERS, versions(FETCH))
def test_so_has_what_it_is_answered(message: FetchResponse, version: int) -> None:
    hold_response(FETCH, message, version)


@given(PARTITIONS_ASKED, versions(PARTITIONS_FETCH))
def test_so_has_a_fetch_of_partitions(message: PartitionsFetchRequest, version: int) -> None:
    hold_request(PARTITIONS_FETCH, message, version)


@given(PARTITIONS_TOLD, versions(PARTITIONS_FETCH))
def test_so_has_what_that_is_answered(message: PartitionsFetchResponse, version: int) -> None:
    hold_response(PARTITIONS_FETCH, message, version)


@given(PRODUCED, versions(PRODUCE))
def test_so_has_what_producers_are_answered(message: ProduceResponse, version: int) -> None:
    hold_response(PRODUCE, message, version)


@given(ALTERED, versions(INCREMENTAL_ALTER_CONFIGS))
def test_so_has_what_is_told_of_configs_that_were_altered(
    message: AlterConfigsResponse, version: int
) -> None:
    hold_response(INCREMENTAL_ALTER_CONFIGS, message, version)


@given(DESCRIBED, versions(DESCRIBE_CONFIGS))
def test_so_has_a_description_of_configs(message: DescribeConfigsResponse, version: int) -> None:
    hold_response(DESCRIBE_CONFIGS, message, version)


@given(LISTED, versions(LIST_GROUPS))
def test_so_has_a_list_of_groups(message: ListGroupsResponse, version: int) -> None:
    hold_response(LIST_GROUPS, message, version)
    assert packed_response(LIST_GROUPS, header_of(LIST_GROUPS, version), message) is not None


@given(st.lists(OF_GROUP, min_size=1, max_size=3), versions(OFFSET_FETCH))
def test_so_have_the_offsets_of_groups(groups: list[FetchedOffsets], version: int) -> None:
    message = OffsetFetchResponse(groups=tuple(groups if version >= 8 else groups[:1]))
    hold_response(OFFSET_FETCH, message, version)
    assert packed_response(OFFSET_FETCH, header_of(OFFSET_FETCH, version), message) is not None


@pytest.mark.parametrize("version", [2, 5])
def test_what_a_version_has_no_room_for_is_not_packed(version: int) -> None:
    group = ListedGroup(id="g" * 2**15, protocol_type="")
    header = header_of(LIST_GROUPS, version)
    packed_ = packed_response(LIST_GROUPS, header, ListGroupsResponse(groups=(group,)))
    assert (packed_ is None) is (version == 2)


def test_what_clients_are_told_of_configs_is_packed() -> None:
    altered = AlterConfigsResponse(results=(ResourceResult(type=16, name="register"),))
    header = header_of(INCREMENTAL_ALTER_CONFIGS, 1)
    assert packed_response(INCREMENTAL_ALTER_CONFIGS, header, altered) is not None
    entry = ConfigEntry(name="interval.ms", value="7", source=ConfigSource.METRICS)
    described = DescribeConfigsResponse(
        results=(ResourceDescription(type=16, name="register", entries=(entry,)),)
    )
    header = header_of(DESCRIBE_CONFIGS, 4)
    assert packed_response(DESCRIBE_CONFIGS, header, described) is not None


def test_what_followers_send_is_packed() -> None:
    api = BY_REQUEST[FetchRequest]
    header, frame = encode_request(USUAL, correlation_id=7, client_id="c")
    assert frame == packed(api, header, USUAL)
    assert decode_request(frame) == (header, USUAL)


def test_what_producers_are_answered_is_packed() -> None:
    at = TopicPartition(name="t", index=3)
    result = ProduceResult(partition=at, base_offset=7, log_start=0)
    header = header_of(PRODUCE, 12)
    assert packed_response(PRODUCE, header, ProduceResponse(results=(result,))) is not None


def test_what_followers_and_consumers_are_told_is_packed() -> None:
    usual = FetchResponse(
        leader=NodeId(1),
        epoch=Epoch(5),
        high_watermark=298,
        records=b"xyz",
        leader_endpoint=Endpoint(name="", host="node-1", port=9101),
    )
    header = header_of(FETCH, FETCH.max_version)
    frame = packed_response(FETCH, header, usual)
    assert frame is not None
    assert decode_response(header, frame) == usual
    at = TopicPartition(id=UUID(int=1), index=3)
    of_partitions = PartitionsFetchResponse(
        partitions=(FetchedRecords(partition=at, high_watermark=9, log_start=0, records=b"xyz"),)
    )
    header = RequestHeader(
        api_key=PARTITIONS_FETCH.key,
        api_version=PARTITIONS_FETCH.max_version,
        correlation_id=7,
        client_id="c",
        request_type=PartitionsFetchRequest,
    )
    frame = packed_response(PARTITIONS_FETCH, header, of_partitions)
    assert frame is not None
    assert decode_response(header, frame) == of_partitions
