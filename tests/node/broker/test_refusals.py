"""What a broker answers of what it has not, as Apache Kafka's brokers do (`tests.differential`)."""

from collections.abc import Iterator

from node.effects import CloseConnection, NoResponse, SendResponse
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import MetadataRecord, TopicRecord
from node.wire.apis import Request, Response
from node.wire.broker_frames import decode_response, encode_request
from node.wire.list_offsets import LATEST, ListOffsetsRequest, ListOffsetsResponse, SoughtOffset
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest
from node.wire.topic_metadata import MetadataRequest, MetadataResponse, SoughtTopic
from node.wire.topic_partitions import TopicPartition
from tests.support.batches import timed_batch
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
