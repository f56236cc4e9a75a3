"""What only brokers serve, in every version: ours against ours, and ours against kio's."""

from dataclasses import replace
from typing import get_args
from uuid import UUID

import pytest
from kio.serial import entity_reader

from node.errors import ErrorCode
from node.ids import ZERO_UUID, Endpoint, Epoch, LogPosition, NodeId, Offset
from node.wire import broker_frames
from node.wire.api import kio_class
from node.wire.apis import (
    BROKER_API_RANGES,
    BROKER_APIS,
    BROKER_BY_KEY,
    BY_REQUEST,
    DataRequest,
    ForwardedRequest,
    HandedOn,
    Request,
    Response,
)
from node.wire.entities import TopicPartition, grouped
from node.wire.frames import MalformedFrame, RequestHeader, encode_request
from node.wire.group_offsets import OffsetFetchRequest, SoughtOffsets
from node.wire.offsets import (
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    EpochEnd,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    RecordsToDelete,
    ReplicaLogInfo,
    ReplicaLogsRequest,
    ReplicaLogsResponse,
    SoughtEpoch,
    SoughtOffset,
)
from node.wire.partition_fetch import (
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from node.wire.topic_changes import CreateTopicsRequest, NewTopic
from node.wire.topic_metadata import (
    Cursor,
    DescribedLog,
    DescribedLogDir,
    DescribedPartition,
    DescribedTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionDescription,
    SoughtTopic,
    TopicDescription,
)
from tests.node.wire.group_samples import GROUP_ANSWERS, GROUP_SAMPLES
from tests.support.codec_shapes import kio_bytes

ORDERS, BILLS = UUID(int=77), UUID(int=78)
ONE = TopicPartition(name="orders", id=ORDERS, index=0)
TWO = TopicPartition(name="orders", id=ORDERS, index=1)
THREE = TopicPartition(name="bills", id=BILLS, index=9)

REQUESTS: tuple[DataRequest, ...] = (
    ProduceRequest(
        acks=-1,
        timeout_ms=1500,
        partitions=tuple(
            ProducedPartition(partition=at, records=b"ab") for at in (ONE, TWO, THREE)
        ),
    ),
    PartitionsFetchRequest(
        replica=NodeId(5),
        broker_epoch=42,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1000,
        partitions=tuple(
            FetchedPartition(partition=at, offset=7, epoch=3, last_epoch=2, max_bytes=100)
            for at in (ONE, TWO, THREE)
        ),
        session=77,
        session_epoch=8,
        forgotten=(THREE, TWO),
    ),
    ListOffsetsRequest(
        partitions=(
            SoughtOffset(partition=ONE, timestamp_ms=-1, epoch=4),
            SoughtOffset(partition=THREE, timestamp_ms=17, epoch=4),
        )
    ),
    DeleteRecordsRequest(
        timeout_ms=1500,
        partitions=(
            RecordsToDelete(partition=ONE, offset=-1),
            RecordsToDelete(partition=THREE, offset=2**62),
        ),
    ),
    MetadataRequest(topics=(SoughtTopic(name="orders"), SoughtTopic(name="bills"))),
    DescribeLogDirsRequest(),
    DescribeLogDirsRequest(partitions=(TopicPartition(name="orders", index=3),)),
    MetadataRequest(),
    MetadataRequest(topics=(SoughtTopic(name="orders"),), may_create=True),
    InitProducerIdRequest(transactional_id="t"),
    InitProducerIdRequest(producer_id=7, producer_epoch=3),
    OffsetForLeaderEpochRequest(
        replica=NodeId(4), partitions=(SoughtEpoch(partition=TWO, epoch=5, sought=3),)
    ),
    DescribeTopicPartitionsRequest(
        topics=("bills", "orders"), limit=7, cursor=Cursor(topic="orders", index=3)
    ),
    DescribeTopicPartitionsRequest(limit=2000),
    ReplicaLogsRequest(
        partitions=tuple(
            TopicPartition(id=topic, index=index)
            for topic, index in ((ORDERS, 0), (ORDERS, 1), (BILLS, 9))
        )
    ),
    *GROUP_SAMPLES,
)
RESPONSES: dict[int, Response] = {
    0: ProduceResponse(
        results=(
            ProduceResult(partition=ONE, base_offset=12),
            ProduceResult(partition=THREE, error=ErrorCode.NOT_ENOUGH_REPLICAS),
        )
    ),
    1: PartitionsFetchResponse(
        session=77,
        partitions=(
            FetchedRecords(partition=ONE, high_watermark=7, records=b"batches"),
            FetchedRecords(
                partition=TWO, high_watermark=7, diverging=LogPosition(Epoch(2), Offset(5))
            ),
            FetchedRecords(
                partition=THREE,
                error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                leader=NodeId(6),
                leader_epoch=8,
            ),
        ),
    ),
    2: ListOffsetsResponse(
        partitions=(
            ListedOffset(partition=ONE, offset=9, epoch=2),
            ListedOffset(partition=TWO, error=ErrorCode.OFFSET_NOT_AVAILABLE),
        )
    ),
    3: MetadataResponse(
        cluster_id="cluster",
        controller=NodeId(4),
        brokers=((NodeId(4), Endpoint(name="", host="h", port=9092)),),
        topics=(
            DescribedTopic(
                name="orders",
                id=ORDERS,
                partitions=(
                    DescribedPartition(
                        index=0,
                        leader=NodeId(4),
                        leader_epoch=3,
                        replicas=(4, 5, 6),
                        isr=(4, 5),
                        offline=(6,),
                    ),
                ),
            ),
            DescribedTopic(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="none"),
        ),
    ),
    21: DeleteRecordsResponse(
        partitions=(
            DeletedRecords(partition=ONE, low_watermark=8),
            DeletedRecords(partition=THREE, error=ErrorCode.REQUEST_TIMED_OUT, low_watermark=-1),
        )
    ),
    22: InitProducerIdResponse(producer_id=1000, producer_epoch=0),
    23: OffsetForLeaderEpochResponse(
        partitions=(
            EpochEnd(partition=ONE, epoch=3, end=17),
            EpochEnd(partition=THREE, error=ErrorCode.FENCED_LEADER_EPOCH),
        )
    ),
    35: DescribeLogDirsResponse(
        results=(
            DescribedLogDir(
                path="/data/1",
                logs=(
                    DescribedLog(partition=TopicPartition(name="orders", index=3), size=2**40),
                    DescribedLog(partition=TopicPartition(name="bills", index=0), size=0, lag=7),
                ),
            ),
            DescribedLogDir(path="/data/2", error=ErrorCode.KAFKA_STORAGE_ERROR),
        )
    ),
    75: DescribeTopicPartitionsResponse(
        topics=(
            TopicDescription(
                name="orders",
                id=ORDERS,
                is_internal=True,
                partitions=(
                    PartitionDescription(
                        index=3,
                        leader=NodeId(4),
                        leader_epoch=9,
                        replicas=(4, 5, 6, 7),
                        isr=(4,),
                        elr=(5,),
                        last_known_elr=(6,),
                        offline=(7,),
                    ),
                ),
            ),
            TopicDescription(name="none", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ),
        next=Cursor(topic="pears", index=1),
    ),
    966: ReplicaLogsResponse(
        broker_epoch=1234,
        is_truncated=True,
        logs=(
            ReplicaLogInfo(
                partition=TopicPartition(id=ORDERS, index=0),
                last_epoch=3,
                leader_epoch=7,
                end=2**40,
            ),
            ReplicaLogInfo(
                partition=TopicPartition(id=BILLS, index=9), error=ErrorCode.REQUEST_LIMIT_REACHED
            ),
        ),
    ),
    **GROUP_ANSWERS,
}
_OURS = "GetReplicaLogInfo"  # kio has no classes of it
EVERY_REQUEST = [
    pytest.param(message, version, id=f"{api.name}-{version}-{position}")
    for position, message in enumerate(REQUESTS)
    for api in [BY_REQUEST[type(message)]]
    for version in range(api.min_version, api.max_version + 1)
]
EVERY_RESPONSE = [
    pytest.param(key, message, version, id=f"{BROKER_BY_KEY[key].name}-{version}")
    for key, message in RESPONSES.items()
    for version in range(BROKER_BY_KEY[key].min_version, BROKER_BY_KEY[key].max_version + 1)
]


def test_the_table_is_what_it_says_of_itself() -> None:
    assert {each.api_key: (each.min_version, each.max_version) for each in BROKER_API_RANGES} == {
        0: (3, 13),
        1: (4, 18),
        2: (1, 11),
        3: (0, 13),
        8: (2, 9),
        9: (1, 9),
        10: (0, 6),
        11: (0, 9),
        12: (0, 4),
        13: (0, 5),
        14: (0, 5),
        15: (0, 6),
        16: (0, 5),
        18: (0, 4),
        19: (2, 7),
        20: (1, 6),
        21: (0, 2),
        22: (0, 5),
        23: (2, 4),
        32: (1, 4),
        33: (0, 2),
        35: (1, 4),
        37: (0, 3),
        42: (0, 2),
        43: (0, 3),
        44: (0, 1),
        45: (0, 1),
        46: (0, 0),
        47: (0, 0),
        55: (0, 2),
        57: (0, 2),
        60: (0, 2),
        64: (0, 0),
        75: (0, 0),
        80: (0, 1),
        81: (0, 0),
        966: (0, 0),
    }
    own = {api.key: api.request for api in BROKER_APIS if api.request in get_args(DataRequest)}
    assert RESPONSES.keys() == own.keys()
    assert {type(each) for each in REQUESTS} == set(own.values())


def test_what_is_handed_on_keeps_its_bytes() -> None:
    """Whatever the broker makes of it is not what the controller gets."""
    handed = {api.request for api in BROKER_APIS if api.request in get_args(ForwardedRequest)}
    assert handed == set(get_args(ForwardedRequest))
    asked = CreateTopicsRequest(topics=(NewTopic(name="orders"),))
    header, frame = encode_request(asked, correlation_id=5, client_id="c", version=3)
    assert broker_frames.decode_request(frame) == (header, HandedOn(request=asked, frame=frame))


@pytest.mark.parametrize(("message", "version"), EVERY_REQUEST)
def test_requests_come_back(message: Request, version: int) -> None:
    """The newest version whole, but for names where ids are; others by what they know."""
    api = BY_REQUEST[type(message)]
    _, frame = encode_request(message, correlation_id=5, client_id="c", version=version)
    _, read = broker_frames.decode_request(frame)
    _, again = encode_request(read, correlation_id=5, client_id="c", version=version)
    assert again == frame
    if version == api.max_version:
        assert nameless(read) == nameless(message)


@pytest.mark.parametrize(
    ("message", "version"),
    [each for each in EVERY_REQUEST if not str(each.id).startswith(_OURS)],
)
def test_requests_are_what_kio_reads(message: Request, version: int) -> None:
    api = BY_REQUEST[type(message)]
    _, frame = encode_request(message, correlation_id=5, client_id="c", version=version)
    request_class = kio_class(api.package, api.name, version, "request")
    header, at = entity_reader(request_class.__header_schema__)(frame, 0)
    entity, size = entity_reader(request_class)(frame, at)
    assert at + size == len(frame)
    assert kio_bytes(header) + kio_bytes(entity) == frame


@pytest.mark.parametrize(("key", "message", "version"), EVERY_RESPONSE)
def test_responses_come_back(key: int, message: Response, version: int) -> None:
    api = BROKER_BY_KEY[key]
    header = RequestHeader(
        api_key=key, api_version=version, correlation_id=9, client_id="x", request_type=api.request
    )
    frame = broker_frames.encode_response(header, message)
    read = broker_frames.decode_response(header, frame)
    assert broker_frames.encode_response(header, read) == frame
    if version == api.max_version:
        assert nameless(read) == nameless(message)


@pytest.mark.parametrize(
    ("key", "message", "version"),
    [each for each in EVERY_RESPONSE if not str(each.id).startswith(_OURS)],
)
def test_responses_are_what_kio_reads(key: int, message: Response, version: int) -> None:
    api = BROKER_BY_KEY[key]
    header = RequestHeader(api_key=key, api_version=version, correlation_id=9, client_id="x")
    frame = broker_frames.encode_response(header, message)
    response_class = kio_class(api.package, api.name, version, "response")
    kio_header, at = entity_reader(response_class.__header_schema__)(frame, 0)
    entity, size = entity_reader(response_class)(frame, at)
    assert at + size == len(frame)
    assert kio_bytes(kio_header) + kio_bytes(entity) == frame


def test_the_bytes_of_the_request_that_kio_does_not_know() -> None:
    """By the field tables of KIP-966, written by hand."""
    topic = UUID(int=77)
    request = ReplicaLogsRequest(partitions=(TopicPartition(id=topic, index=3),))
    _, frame = encode_request(request, correlation_id=5, client_id="c")
    body = b"\2" + topic.bytes + b"\2" + (3).to_bytes(4, "big") + b"\0" + b"\0"
    assert frame == b"\x03\xc6\0\0\0\0\0\5\0\1c\0" + body
    info = ReplicaLogInfo(
        partition=TopicPartition(id=topic, index=3), last_epoch=2, leader_epoch=4, end=9
    )
    header = RequestHeader(api_key=966, api_version=0, correlation_id=5, client_id="c")
    told = broker_frames.encode_response(header, ReplicaLogsResponse(broker_epoch=8, logs=(info,)))
    numbers = [(3, 4), (2, 4), (4, 4), (9, 8), (0, 2)]
    assert told == b"".join(
        (
            b"\0\0\0\5\0",  # the header
            bytes(4),  # no throttling
            (8).to_bytes(8, "big") + b"\0",  # the broker epoch; not truncated
            b"\2" + topic.bytes + b"\2",
            *(value.to_bytes(size, "big") for value, size in numbers),
            b"\0\0\0",
        )
    )


def test_what_two_topics_of_a_request_name_is_told_apart() -> None:
    """Also where both are the same one."""
    twice = tuple(TopicPartition(name="a", index=0, entry=entry) for entry in range(2))
    sought = SoughtOffsets(group="g", partitions=twice)
    _, frame = encode_request(OffsetFetchRequest(groups=(sought,)), correlation_id=5, client_id="c")
    _, read = broker_frames.decode_request(frame)
    assert isinstance(read, OffsetFetchRequest)
    (group,) = read.groups
    assert [each.entry for each in group.partitions or ()] == [0, 1]


def test_no_topics_are_all_of_them_before_version_1() -> None:
    _, frame = encode_request(MetadataRequest(), correlation_id=5, client_id="c", version=0)
    assert broker_frames.decode_request(frame)[1] == MetadataRequest(may_create=True)
    nothing = MetadataRequest(topics=(), may_create=True)
    _, frame = encode_request(nothing, correlation_id=5, client_id="c", version=1)
    assert broker_frames.decode_request(frame)[1] == nothing


def test_what_librdkafka_leaves_behind_all_topics_is_left_alone() -> None:
    """As its list_topics() sends it, 2.16; Kafka looks at nothing that follows a request."""
    head = b"\0\3\0\x0d\0\0\0\3\0\7rdkafka\0"
    _, read = broker_frames.decode_request(head + b"\0\0\0\0\1\0\0")
    assert read == MetadataRequest()
    with pytest.raises(MalformedFrame):
        broker_frames.decode_request(head + b"\0\0\0")


def test_what_controllers_serve_brokers_refuse() -> None:
    with pytest.raises(MalformedFrame, match="unknown API key 52"):
        broker_frames.decode_request(b"\0\x34\0\2" + bytes(20))


def nameless(message: object) -> object:
    """Without names, which some newest versions lack, and ids, which others do."""
    for field in ("partitions", "results"):
        rows = getattr(message, field, ())
        if rows and all(hasattr(row, "partition") for row in rows):
            bare = tuple(
                replace(row, partition=replace(row.partition, name="", id=ZERO_UUID))
                for row in rows
            )
            message = replace(message, **{field: bare})  # type: ignore[type-var]
    if isinstance(message, PartitionsFetchRequest):
        forgotten = tuple(replace(at, name="", id=ZERO_UUID) for at in message.forgotten)
        message = replace(message, forgotten=forgotten)
    return message


def test_those_of_a_topic_are_named_together() -> None:
    one, two = UUID(int=1), UUID(int=2)
    mixed = [(one, 0), (two, 5), (one, 1), (two, 4)]
    named = [TopicPartition(id=topic, index=index) for topic, index in mixed]
    together = grouped(named, lambda each: each)
    assert [(each.id, each.index) for each in together] == [(one, 0), (one, 1), (two, 5), (two, 4)]
    assert grouped(together, lambda each: each) == together
