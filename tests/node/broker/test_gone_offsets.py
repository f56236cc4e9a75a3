"""Thousands of groups have read a topic that is deleted: what a coordinator does at once."""

from collections.abc import Callable, Iterator
from uuid import UUID

from node.broker.coordinators.group import MAX_FORGOTTEN
from node.broker.coordinators.group_log import GroupLog
from node.broker.coordinators.led_groups import MAX_GROUPS_AT_ONCE
from node.effects import AppendBatches, TimeoutElapsed
from node.errors import ErrorCode
from node.ids import MS, ConnectionId, Epoch, NodeId, Offset
from node.records.batch import encode_batch
from node.records.group_records import (
    GroupKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    encode_versioned,
)
from node.records.metadata import (
    MetadataRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from node.storage.log import perform
from node.wire.broker_frames import encode_request
from node.wire.entities import TopicPartition
from node.wire.group_offsets import CommittedOffset, OffsetCommitRequest
from node.wire.partition_fetch import FetchedPartition, PartitionsFetchRequest
from tests.node.broker.test_lone_coordinator import AT, LOG, commit, committed
from tests.support.stepped_broker import (
    FIRST_TOPIC,
    ME,
    OFFSETS_TOPIC_ID,
    Done,
    SteppedBroker,
    partition_of,
    registered,
)

GROUPS = [f"g{number:04}" for number in range(5_000)]
ANOTHER_TOPIC = UUID(int=2_000)
FOLLOWER = NodeId(5)
_CLIENT, _REPLICA = ConnectionId(8), ConnectionId(9)
_OF_A_BATCH = 500


def led(*topics: UUID, replicas: tuple[NodeId, ...] = (ME,)) -> Iterator[MetadataRecord]:
    """Those are named `topic-0`."""
    yield from map(registered, replicas)
    for topic in topics:
        yield TopicRecord(name=AT.name, topic_id=topic)
        yield partition_of(topic, 0)
    yield TopicRecord(name="__consumer_offsets", topic_id=OFFSETS_TOPIC_ID)
    yield partition_of(OFFSETS_TOPIC_ID, 0, replicas)


def with_records(records: list[tuple[GroupKey, GroupValue]]) -> SteppedBroker:
    """Which another coordinator has written."""
    before = SteppedBroker(told=led(FIRST_TOPIC))
    log = before.replicas[LOG]
    for base in range(0, len(records), _OF_A_BATCH):
        pairs = [
            (encode_versioned(key), encode_versioned(value))
            for key, value in records[base : base + _OF_A_BATCH]
        ]
        data = encode_batch(pairs, base_offset=Offset(base), leader_epoch=Epoch(0), timestamp_ms=0)
        perform(AppendBatches(log=LOG, data=data), log)
    return SteppedBroker(told=led(FIRST_TOPIC), disk=before.disk)


def with_offsets() -> SteppedBroker:
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=0, topic_id=FIRST_TOPIC)
    at = (AT.name, AT.index)
    broker = with_records(
        [(OffsetCommitKey(group=each, topic=at[0], partition=at[1]), value) for each in GROUPS]
    )
    settle(broker)
    assert len(log_of(broker).offsets) == len(GROUPS)
    return broker


def log_of(broker: SteppedBroker) -> GroupLog:
    return broker.node.core.role.groups._led[0].log


def settle(broker: SteppedBroker, meanwhile: Callable[[], object] = lambda: None) -> list[int]:
    """How many records each step appended: one, and all that are due at once then, with what takes
    one step between each two of them."""
    appended = []
    is_due = True
    while is_due:
        for act in (lambda: broker.step(TimeoutElapsed()), meanwhile):
            before = broker.replicas[LOG].next_offset
            act()
            appended.append(broker.replicas[LOG].next_offset - before)
        is_due = broker.node.next_deadline_ns() <= broker.now_ns
    return appended


def test_no_step_writes_more_than_a_piece_and_others_are_answered_between() -> None:
    broker = with_offsets()
    broker.tell(RemoveTopicRecord(topic_id=FIRST_TOPIC))
    answers = []
    appended = settle(broker, lambda: answers.append(committed(broker, "another")))
    assert max(appended) <= MAX_FORGOTTEN
    assert sum(appended) == len(GROUPS)
    assert set(answers) == {-1}
    assert log_of(broker).offsets == {}
    assert log_of(broker).end == 2 * len(GROUPS)


def test_what_is_committed_meanwhile_of_another_topic_of_that_name_is_kept() -> None:
    broker = with_offsets()
    another = (TopicRecord(name=AT.name, topic_id=ANOTHER_TOPIC), partition_of(ANOTHER_TOPIC, 0))
    broker.tell(RemoveTopicRecord(topic_id=FIRST_TOPIC), *another)
    assert committed(broker, GROUPS[-1]) == -1, "what is left of the other is told"
    commit(broker, GROUPS[-1], 8)
    settle(broker)
    assert (committed(broker, GROUPS[0]), committed(broker, GROUPS[-1])) == (-1, 8)
    after = SteppedBroker(told=led(ANOTHER_TOPIC), disk=broker.disk)
    settle(after)
    assert committed(after, GROUPS[-1]) == 8
    assert list(log_of(after).offsets) == [GROUPS[-1]]


def test_whoever_is_deposed_writes_no_more_and_the_next_one_goes_on() -> None:
    broker = with_offsets()
    broker.tell(RemoveTopicRecord(topic_id=FIRST_TOPIC))
    broker.elapse()
    begun = broker.replicas[LOG].next_offset
    assert begun > len(GROUPS)
    deposed = PartitionChangeRecord(
        partition_id=0, topic_id=OFFSETS_TOPIC_ID, leader=FOLLOWER, replicas=(ME, FOLLOWER)
    )
    broker.tell(registered(FOLLOWER), deposed)
    for _ in range(10):
        broker.elapse()
    assert broker.replicas[LOG].next_offset == begun
    after = SteppedBroker(told=led(), disk=broker.disk)
    assert max(settle(after)) <= MAX_FORGOTTEN
    assert log_of(after).offsets == {}
    assert after.replicas[LOG].next_offset == 2 * len(GROUPS), "nothing is forgotten twice"


def test_no_tombstone_follows_what_is_not_committed_yet() -> None:
    """The name is another topic's by then, and the commit is its own."""
    both = (ME, FOLLOWER)
    broker = SteppedBroker(told=led(FIRST_TOPIC, replicas=both))
    ask_to_commit(broker, 5)
    replicated(broker)
    another = (TopicRecord(name=AT.name, topic_id=ANOTHER_TOPIC), partition_of(ANOTHER_TOPIC, 0))
    broker.tell(RemoveTopicRecord(topic_id=FIRST_TOPIC), *another, groups=False)
    ask_to_commit(broker, 8)
    broker.tell()
    settle(broker)
    replicated(broker)
    assert broker.replicas[LOG].next_offset == 2
    assert committed(broker, "g") == 8


def ask_to_commit(broker: SteppedBroker, offset: int) -> None:
    offsets = (CommittedOffset(partition=AT, offset=offset),)
    request = OffsetCommitRequest(group="g", offsets=offsets)
    _, frame = encode_request(request, correlation_id=1, client_id="c")
    assert broker.ask(_CLIENT, frame) == [], "it is not committed yet"


def replicated(broker: SteppedBroker) -> list[Done]:
    """Whom that answers."""
    at = TopicPartition(name="__consumer_offsets", id=OFFSETS_TOPIC_ID, index=0)
    request = PartitionsFetchRequest(
        replica=FOLLOWER,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1,
        partitions=(
            FetchedPartition(partition=at, offset=broker.replicas[LOG].next_offset, max_bytes=1),
        ),
    )
    _, frame = encode_request(request, correlation_id=1, client_id="r", version=12)
    return broker.ask(_REPLICA, frame) + broker.step(TimeoutElapsed())


def test_sessions_that_end_together_are_not_ended_in_one_step() -> None:
    """After a change of coordinators nobody may come back."""
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="",
        rebalance_timeout=1_000,
        session_timeout=6_000,
        subscription=b"",
        assignment=b"",
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=1, protocol="p", leader="m", members=(member,)
    )
    groups = GROUPS[: 3 * MAX_GROUPS_AT_ONCE]
    broker = with_records([(GroupMetadataKey(group=each), value) for each in groups])
    settle(broker)
    coordinator = broker.node.core.role.groups._led[0]
    assert coordinator.refusal() is ErrorCode.NONE
    broker.now_ns += 6_000 * MS
    assert max(settle(broker)) <= MAX_GROUPS_AT_ONCE
    assert {each.state for each in coordinator.listed()} == {"Empty"}
