"""What a broker answers of what it has not, as Apache Kafka's brokers do (`tests.differential`)."""

import struct
from collections.abc import Iterator

import pytest

from node.effects import CloseConnection, NoResponse, SendResponse
from node.errors import ErrorCode
from node.ids import ConnectionId, NodeId
from node.records.metadata import MetadataRecord, TopicRecord
from node.wire.apis import Request, Response
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import FindCoordinatorRequest, FindCoordinatorResponse
from node.wire.offsets import (
    LATEST,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    SoughtEpoch,
    SoughtOffset,
)
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
)
from node.wire.topic_metadata import MetadataRequest, MetadataResponse, SoughtTopic
from tests.support.batches import timed_batch, with_header
from tests.support.stepped_broker import (
    FIRST_TOPIC,
    ME,
    OFFSETS_TOPIC_ID,
    Done,
    SteppedBroker,
    partition_of,
    registered,
)

OTHER = NodeId(5)
MINE, ELSEWHERE, NOWHERE = (TopicPartition(name="t", id=FIRST_TOPIC, index=at) for at in range(3))


def told() -> Iterator[MetadataRecord]:
    """A partition of this broker, and one that another one has alone."""
    for broker in (ME, OTHER):
        yield registered(broker)
    yield TopicRecord(name="t", topic_id=FIRST_TOPIC)
    yield partition_of(FIRST_TOPIC, 0, (ME,))
    yield partition_of(FIRST_TOPIC, 1, (OTHER,))
    yield TopicRecord(name="__consumer_offsets", topic_id=OFFSETS_TOPIC_ID)
    yield partition_of(OFFSETS_TOPIC_ID, 0, (ME,))


def done(request: Request, version: int | None = None) -> Done:
    _, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
    return SteppedBroker(told=told()).serve(frame)


def answer(request: Request, version: int | None = None) -> Response:
    header, _ = encode_request(request, correlation_id=1, client_id="c", version=version)
    found = done(request, version)
    assert isinstance(found, SendResponse)
    return decode_response(header, found.frame)


def fetched(at: TopicPartition) -> PartitionsFetchResponse:
    asked = FetchedPartition(partition=at, offset=0, max_bytes=1)
    request = PartitionsFetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, partitions=(asked,))
    told = answer(request)
    assert isinstance(told, PartitionsFetchResponse)
    return told


def test_who_asks_for_a_partition_of_others_is_told_who_leads_it() -> None:
    (mine,), (other,) = fetched(MINE).partitions, fetched(ELSEWHERE).partitions
    assert (mine.error, mine.leader) == (ErrorCode.NONE, -1)
    assert (other.error, other.leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, OTHER)
    (none,) = fetched(NOWHERE).partitions
    assert none.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_offsets_of_a_partition_of_others_are_sought_there() -> None:
    for at, error in (
        (ELSEWHERE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (NOWHERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        found = answer(
            ListOffsetsRequest(partitions=(SoughtOffset(partition=at, timestamp_ms=LATEST),))
        )
        assert isinstance(found, ListOffsetsResponse)
        assert [each.error for each in found.partitions] == [error]


def test_the_end_of_a_connection_refuses_records_that_nobody_acknowledges() -> None:
    for at, kind in ((MINE, NoResponse), (ELSEWHERE, CloseConnection)):
        produced = (ProducedPartition(partition=at, records=timed_batch(10)),)
        assert isinstance(done(ProduceRequest(acks=0, timeout_ms=1, partitions=produced)), kind)


def test_of_topics_it_is_told_whether_they_are_kafkas_own_and_could_be_at_all() -> None:
    names = ("t", "__consumer_offsets", "none", "no name")
    asked = tuple(SoughtTopic(name=name) for name in names)
    found = answer(MetadataRequest(topics=asked))
    assert isinstance(found, MetadataResponse)
    assert {topic.name: (topic.error, topic.is_internal) for topic in found.topics} == {
        "t": (ErrorCode.NONE, False),
        "__consumer_offsets": (ErrorCode.NONE, True),
        "none": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        "no name": (ErrorCode.INVALID_TOPIC_EXCEPTION, False),
    }


@pytest.mark.parametrize("sought", [SoughtTopic(name="t", id=FIRST_TOPIC), SoughtTopic(name=None)])
def test_versions_that_have_a_field_for_ids_refuse_them_all_the_same(sought: SoughtTopic) -> None:
    found = answer(MetadataRequest(topics=(sought,)), version=11)
    assert isinstance(found, MetadataResponse)
    assert [topic.error for topic in found.topics] == [ErrorCode.INVALID_REQUEST]
    assert (found.brokers, found.controller) == ((), -1)


def test_who_goes_on_with_a_fetch_session_is_told_that_there_is_none() -> None:
    goes_on = fetch_in_session(epoch=3)
    assert (goes_on.error, goes_on.partitions) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ())
    for whole in (-1, 0):
        assert fetch_in_session(epoch=whole).error is ErrorCode.NONE


def fetch_in_session(epoch: int) -> PartitionsFetchResponse:
    """Our own fetchers want no session: the epoch is put into the bytes of a request of theirs."""
    asked = FetchedPartition(partition=MINE, offset=0, max_bytes=1)
    request = PartitionsFetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, partitions=(asked,))
    header, frame = encode_request(request, correlation_id=1, client_id="c", version=7)
    none = struct.pack(">ii", 0, -1)  # a session's id and epoch, before all else that looks so
    asked_so = frame.replace(none, struct.pack(">ii", 0, epoch), 1)
    found = SteppedBroker(told=told()).serve(asked_so)
    assert isinstance(found, SendResponse)
    told_of = decode_response(header, found.frame)
    assert isinstance(told_of, PartitionsFetchResponse)
    return told_of


def test_a_batch_of_a_producer_has_a_sequence() -> None:
    records = with_header(timed_batch(10), producer_id=7, producer_epoch=0)
    assert produced(records) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("size", [0, 10, 61, -1])
def test_without_a_whole_batch_a_record_is_invalid_and_not_corrupt(size: int) -> None:
    batch = timed_batch(10)
    assert produced(batch[:size]) is ErrorCode.INVALID_RECORD
    assert produced(batch[:-1] + bytes([batch[-1] ^ 1])) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("count", [0, 2, -1])
def test_a_wrong_count_of_records_is_no_damage(count: int) -> None:
    assert produced(with_header(timed_batch(10), record_count=count)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("producer_id", "epoch", "error"),
    [
        (-1, 0, ErrorCode.INVALID_REQUEST),
        (7, -1, ErrorCode.INVALID_REQUEST),
        (7, 0, None),  # it waits for a block of ids
    ],
)
def test_a_producer_that_goes_on_names_its_id_and_its_epoch(
    producer_id: int, epoch: int, error: ErrorCode | None
) -> None:
    request = InitProducerIdRequest(producer_id=producer_id, producer_epoch=epoch)
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    found = SteppedBroker(told=told()).ask(ConnectionId(7), frame)
    frames = [each.frame for each in found if isinstance(each, SendResponse)]
    assert [decode_response(header, each) for each in frames] == (
        [] if error is None else [InitProducerIdResponse(error=error)]
    )


@pytest.mark.parametrize(("sought", "epoch"), [(0, 0), (1, -1), (-1, -1)])
def test_of_an_epoch_that_the_leader_does_not_know_no_end_is_told(sought: int, epoch: int) -> None:
    asked = (SoughtEpoch(partition=MINE, sought=sought),)
    found = answer(OffsetForLeaderEpochRequest(partitions=asked))
    assert isinstance(found, OffsetForLeaderEpochResponse)
    assert [each.epoch for each in found.partitions] == [epoch]


def test_a_group_without_a_name_may_be_looked_for() -> None:
    found = answer(FindCoordinatorRequest(key_type=0, keys=("",)))
    assert isinstance(found, FindCoordinatorResponse)
    assert [each.error for each in found.coordinators] == [ErrorCode.NONE]


def produced(records: bytes) -> ErrorCode:
    found = answer(
        ProduceRequest(
            acks=1,
            timeout_ms=1,
            partitions=(ProducedPartition(partition=MINE, records=records),),
        )
    )
    assert isinstance(found, ProduceResponse)
    (result,) = found.results
    return result.error
