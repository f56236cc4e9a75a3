"""DescribeTopicPartitions as Kafka's handler answers it, and as the harness reads it."""

from dataclasses import replace
from uuid import UUID

from node.broker.requests.descriptions import describe_partitions
from node.codec import read_whole
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import PartitionRecord, TopicRecord
from node.wire import MalformedFrame, broker_frames
from node.wire.api import kio_class
from node.wire.frames import RequestHeader
from node.wire.topic_metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from workloads.wire.topic_partitions import describe_topic_partitions, read_partitions

LIVE = frozenset({NodeId(4), NodeId(5)})
STATE = PartitionRecord(
    partition_id=0,
    topic_id=UUID(int=1),
    replicas=(4, 5, 6),
    isr=(4,),
    removing_replicas=(),
    adding_replicas=(),
    leader=4,
    leader_recovery_state=0,
    leader_epoch=3,
    partition_epoch=8,
    directories=(),
    eligible_leader_replicas=(6,),
    last_known_elr=(5,),
)


def image_of(**counts: int) -> Image:
    """Topics, and how many partitions each has."""
    image = Image()
    for number, (name, count) in enumerate(counts.items()):
        topic = UUID(int=100 + number)
        image.replay(TopicRecord(name=name, topic_id=topic))
        for index in range(count):
            image.replay(replace(STATE, topic_id=topic, partition_id=index))
    return image


def asked(
    image: Image,
    *topics: str,
    limit: int = 2000,
    cursor: Cursor | None = None,
    most: int = 2000,
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(topics=topics, limit=limit, cursor=cursor)
    return describe_partitions(image, request, LIVE, most)


def told(answer: DescribeTopicPartitionsResponse) -> list[tuple[str, list[int]]]:
    return [(each.name, [one.index for one in each.partitions]) for each in answer.topics]


def test_a_partition_is_described_with_who_may_lead_it() -> None:
    (topic,) = asked(image_of(orders=1)).topics
    (partition,) = topic.partitions
    assert (topic.name, topic.id, topic.is_internal) == ("orders", UUID(int=100), False)
    assert (partition.leader, partition.leader_epoch) == (4, 3)
    assert (partition.replicas, partition.isr) == ((4, 5, 6), (4,))
    assert (partition.elr, partition.last_known_elr, partition.offline) == ((6,), (5,), (6,))


def test_where_nobody_is_eligible_the_lists_are_empty_and_never_null() -> None:
    """KIP-966 has null for its default, and Apache Kafka's admin client takes no null: it goes
    through both lists as they come (`partitionToTopicPartitionInfo`)."""
    image = Image()
    image.replay(TopicRecord(name="orders", topic_id=STATE.topic_id))
    image.replay(replace(STATE, eligible_leader_replicas=None, last_known_elr=None))
    header = RequestHeader(api_key=75, api_version=0, correlation_id=1, client_id="")
    frame = broker_frames.encode_response(header, asked(image, "orders"))
    kind = kio_class("describe_topic_partitions", "DescribeTopicPartitions", 0, "response")
    (topic,) = read_whole(kind, frame, 5, MalformedFrame).topics
    (partition,) = topic.partitions
    assert partition.eligible_leader_replicas == ()
    assert partition.last_known_elr == ()


def test_a_leader_that_is_not_there_is_none() -> None:
    request = DescribeTopicPartitionsRequest(limit=1)
    (topic,) = describe_partitions(image_of(orders=1), request, frozenset({NodeId(5)}), 2000).topics
    assert topic.partitions[0].leader == -1
    assert topic.partitions[0].offline == (4, 6)


def test_kafkas_own_topics_are_internal() -> None:
    (topic,) = asked(image_of(__consumer_offsets=1)).topics
    assert topic.is_internal


def test_topics_come_by_name_each_once() -> None:
    image = image_of(b=1, a=2)
    assert told(asked(image)) == [("a", [0, 1]), ("b", [0])]
    assert told(asked(image, "b", "a", "b")) == [("a", [0, 1]), ("b", [0])]


def test_pages_follow_each_other_without_a_gap() -> None:
    image = image_of(a=3, b=1, c=2)
    for limit in range(1, 7):
        found: list[tuple[str, int]] = []
        cursor: Cursor | None = None
        while True:
            page = asked(image, limit=limit, cursor=cursor)
            rows = [(name, index) for name, indexes in told(page) for index in indexes]
            assert len(rows) == min(limit, 6 - len(found))
            found += rows
            cursor = page.next
            if cursor is None:
                break
        assert found == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1)]


def test_the_next_page_may_begin_with_another_topic() -> None:
    assert asked(image_of(a=2, b=1), limit=2).next == Cursor(topic="b", index=0)
    assert asked(image_of(a=2, b=1), limit=1).next == Cursor(topic="a", index=1)


def test_limits_are_at_least_one_and_at_most_the_brokers() -> None:
    image = image_of(a=2001)
    assert len(asked(image, limit=-5).topics[0].partitions) == 1
    page = asked(image, limit=2**31 - 1)
    assert len(page.topics[0].partitions) == 2000
    assert page.next == Cursor(topic="a", index=2000)
    assert asked(image, limit=10, most=3).next == Cursor(topic="a", index=3)


def test_a_page_goes_on_after_a_topic_that_was_deleted_meanwhile() -> None:
    page = asked(image_of(a=1, c=2), cursor=Cursor(topic="b", index=1))
    assert told(page) == [("c", [0, 1])]


def test_a_cursor_behind_the_last_partition_is_at_the_next_topic() -> None:
    page = asked(image_of(a=1, b=1), cursor=Cursor(topic="a", index=2**31 - 1))
    assert told(page) == [("a", []), ("b", [0])]


def test_what_is_not_there_is_told_by_name() -> None:
    answer = asked(image_of(a=1), "a", "none", "no name")
    assert [(each.name, each.error) for each in answer.topics] == [
        ("a", ErrorCode.NONE),
        ("no name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_a_cursor_elsewhere_than_what_is_asked_for_is_refused() -> None:
    image = image_of(a=1, b=1)
    for cursor in (Cursor(topic="b", index=0), Cursor(topic="a", index=-1)):
        (only,) = asked(image, "a", cursor=cursor).topics
        assert (only.name, only.error) == ("a", ErrorCode.INVALID_REQUEST)


def test_the_harness_reads_it() -> None:
    header = RequestHeader(api_key=75, api_version=0, correlation_id=9, client_id="p")
    start = b"\0\x4b\0\0\0\0\0\x09\0\1p\0"
    read, request = broker_frames.decode_request(start + describe_topic_partitions())
    assert read == header
    assert isinstance(request, DescribeTopicPartitionsRequest)
    answer = describe_partitions(image_of(orders=2, __consumer_offsets=1), request, LIVE, 2000)
    frame = broker_frames.encode_response(header, answer)
    claims = read_partitions(frame[5:])  # behind the header
    assert [each.key for each in claims] == ["orders-0", "orders-1"]
    assert (claims[1].elr, claims[1].last_known_elr, claims[1].offline) == ((6,), (5,), (6,))
