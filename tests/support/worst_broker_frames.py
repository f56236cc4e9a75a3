"""The frames that give a broker the most work (see `worst_frames`): of what it serves, in every
shape, and of what it has a thousand partitions of (`stepped_broker`)."""

from collections.abc import Iterator
from uuid import UUID

from node.limits import MAX_ELEMENTS, MAX_NAMED_ELEMENTS
from node.wire.apis import BROKER_APIS, Request
from node.wire.entities import TopicPartition
from node.wire.frames import encode_request
from node.wire.group_descriptions import DescribeGroupsRequest, FindCoordinatorRequest
from node.wire.group_membership import JoinGroupRequest, JoinProtocol
from node.wire.group_offsets import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SoughtOffsets,
)
from node.wire.offsets import (
    DeleteRecordsRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    RecordsToDelete,
    SoughtEpoch,
    SoughtOffset,
)
from node.wire.partition_fetch import FetchedPartition, PartitionsFetchRequest
from node.wire.topic_metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    SoughtTopic,
)
from tests.support.stepped_broker import PARTITIONS, TOPICS
from tests.support.worst_frames import shaped_frames

_MOST = 2**31 - 1


def worst_broker_frames() -> Iterator[tuple[str, bytes]]:
    """What each is, and its bytes."""
    for name, request in _many():
        _, frame = encode_request(request, correlation_id=1, client_id="worst")
        yield name, frame
    yield from shaped_frames(BROKER_APIS)


def _many() -> Iterator[tuple[str, Request]]:
    """As many elements as a frame may have."""
    names = tuple(f"topic-{number % TOPICS}" for number in range(MAX_NAMED_ELEMENTS))
    at = tuple(
        TopicPartition(name=name, id=UUID(int=1000 + number % TOPICS), index=number % PARTITIONS)
        for number, name in enumerate(names[: MAX_NAMED_ELEMENTS - TOPICS])
    )
    yield "describes all partitions", DescribeTopicPartitionsRequest(limit=_MOST)
    yield "describes the same topics", DescribeTopicPartitionsRequest(topics=names, limit=_MOST)
    unknown = tuple(f"none-{number}" for number in range(MAX_NAMED_ELEMENTS))
    yield "describes unknown topics", DescribeTopicPartitionsRequest(topics=unknown, limit=_MOST)
    far = Cursor(topic=names[0], index=_MOST)
    yield "goes on far behind", DescribeTopicPartitionsRequest(topics=names, limit=1, cursor=far)
    yield "metadata of all topics", MetadataRequest()
    sought = tuple(SoughtTopic(name=name) for name in names)
    yield "metadata of the same topics", MetadataRequest(topics=sought)
    for timestamp_ms in (-2, -1, 0, 2**62):
        yield (
            f"offsets at {timestamp_ms}",
            ListOffsetsRequest(
                partitions=tuple(
                    SoughtOffset(partition=each, timestamp_ms=timestamp_ms) for each in at
                )
            ),
        )
    yield (
        "deleted records",
        DeleteRecordsRequest(
            timeout_ms=_MOST,
            partitions=tuple(RecordsToDelete(partition=each, offset=-1) for each in at),
        ),
    )
    yield (
        "ends of epochs",
        OffsetForLeaderEpochRequest(
            partitions=tuple(SoughtEpoch(partition=each, epoch=0, sought=0) for each in at)
        ),
    )
    yield from _of_groups(at[TOPICS:])
    fetched = tuple(FetchedPartition(partition=each, offset=0, max_bytes=_MOST) for each in at)
    for wait_ms in (0, 500):
        yield (
            f"fetches for {wait_ms} ms",
            PartitionsFetchRequest(
                max_wait_ms=wait_ms, min_bytes=1, max_bytes=_MOST, partitions=fetched
            ),
        )


def _of_groups(at: tuple[TopicPartition, ...]) -> Iterator[tuple[str, Request]]:
    names = tuple(f"group-{number}" for number in range(MAX_ELEMENTS))
    yield "coordinators of groups", FindCoordinatorRequest(keys=names)
    yield "describes groups", DescribeGroupsRequest(groups=names)
    offsets = tuple(CommittedOffset(partition=each, offset=1) for each in at)
    yield "commits offsets", OffsetCommitRequest(group="g", offsets=offsets)
    yield "reads offsets", OffsetFetchRequest(groups=(SoughtOffsets(group="g", partitions=at),))
    yield "reads all offsets", OffsetFetchRequest(groups=(SoughtOffsets(group="g"),))
    yield (
        "offsets of groups",
        OffsetFetchRequest(groups=tuple(SoughtOffsets(group=each) for each in names[1:])),
    )
    yield (
        "joins by many protocols",
        JoinGroupRequest(
            group="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=tuple(
                JoinProtocol(name=f"p{number}", metadata=b"") for number in range(MAX_ELEMENTS)
            ),
        ),
    )
    long = "g" * 900_000
    yield "coordinator of a long name", FindCoordinatorRequest(keys=(long,))
    yield "commits for a long name", OffsetCommitRequest(group=long, offsets=offsets[:1])
