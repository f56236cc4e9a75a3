"""As many partitions as a cluster may have: what names them all is read, and they are followed."""

from uuid import UUID

import pytest

from node import limits
from node.controller.image.configurations import TOPIC
from node.effects import CloseConnection, FrameReceived, Trace
from node.ids import ConnectionId, NodeId
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AssignDirectoriesRequest,
    AssignedReplica,
    IsrMember,
)
from node.wire.api import NAMES
from node.wire.apis import BROKER_BY_KEY, BY_REQUEST, Request
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from node.wire.entities import TopicPartition
from node.wire.frames import MalformedFrame, decode_request, encode_request
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
from node.wire.partition_fetch import (
    PARTITIONS_FETCH,
    FetchedPartition,
    PartitionsFetchRequest,
)
from node.wire.reassignments import (
    PREFERRED,
    AlterReassignmentsRequest,
    ElectLeadersRequest,
    NamedPartition,
    Reassignment,
)
from node.wire.topic_changes import (
    Assignment,
    CreateTopicsRequest,
    DeletedTopic,
    DeleteTopicsRequest,
    NewTopic,
)
from node.wire.topic_metadata import DescribeTopicPartitionsRequest, MetadataRequest, SoughtTopic
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders
from tests.support.stepped_broker import LISTENER, SteppedBroker

MOST = 2**31 - 1
ALL = tuple(
    TopicPartition(name=f"t{n}", id=UUID(int=5000 + n), index=0)
    for n in range(limits.MAX_PARTITIONS)
)


def asked(count: int, forgotten: int = 0) -> PartitionsFetchRequest:
    """Each in a topic of its own."""
    return PartitionsFetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        partitions=tuple(
            FetchedPartition(
                partition=TopicPartition(name=f"t{n}", id=UUID(int=5000 + n), index=0),
                offset=0,
                max_bytes=1,
            )
            for n in range(count)
        ),
        forgotten=tuple(
            TopicPartition(name=f"t{n}", id=UUID(int=5000 + n), index=0) for n in range(forgotten)
        ),
    )


THREE = tuple(IsrMember(broker=NodeId(n), epoch=n) for n in (1, 2, 3))
BROKERS = tuple(map(NodeId, (1, 2, 3)))
OF_ALL: tuple[Request, ...] = (
    asked(limits.MAX_PARTITIONS),
    asked(limits.MAX_PARTITIONS // 2, limits.MAX_PARTITIONS // 2),
    ListOffsetsRequest(partitions=tuple(SoughtOffset(partition=at, timestamp_ms=-1) for at in ALL)),
    OffsetCommitRequest(
        group="g", offsets=tuple(CommittedOffset(partition=at, offset=1) for at in ALL)
    ),
    OffsetFetchRequest(groups=(SoughtOffsets(group="g", partitions=ALL),)),
    OffsetForLeaderEpochRequest(
        partitions=tuple(SoughtEpoch(partition=at, epoch=0, sought=0) for at in ALL)
    ),
    DeleteRecordsRequest(
        timeout_ms=1, partitions=tuple(RecordsToDelete(partition=at, offset=-1) for at in ALL)
    ),
    MetadataRequest(topics=tuple(SoughtTopic(name=at.name) for at in ALL)),
    DescribeTopicPartitionsRequest(topics=tuple(at.name for at in ALL), limit=MOST),
    AlterPartitionRequest(
        broker=NodeId(1),
        epoch=1,
        partitions=tuple(
            AlteredPartition(
                topic=at.id, index=0, leader_epoch=1, partition_epoch=1, isr=THREE, recovery=0
            )
            for at in ALL
        ),
    ),
    AssignDirectoriesRequest(
        broker=NodeId(1),
        epoch=1,
        replicas=tuple(AssignedReplica(directory=UUID(int=9), topic=at.id, index=0) for at in ALL),
    ),
    CreateTopicsRequest(
        topics=tuple(NewTopic(name=at.name, partitions=1, replication=3) for at in ALL)
    ),
    CreateTopicsRequest(
        topics=(
            NewTopic(
                name="t",
                partitions=-1,
                replication=-1,
                assignments=tuple(Assignment(index=n, brokers=BROKERS) for n in range(len(ALL))),
            ),
        )
    ),
    DeleteTopicsRequest(topics=tuple(DeletedTopic(name=at.name) for at in ALL)),
    AlterReassignmentsRequest(
        reassignments=tuple(
            Reassignment(partition=NamedPartition(topic=at.name, index=0), replicas=BROKERS)
            for at in ALL
        )
    ),
    ElectLeadersRequest(
        kind=PREFERRED, partitions=tuple(NamedPartition(topic=at.name, index=0) for at in ALL)
    ),
    DescribeConfigsRequest(
        resources=tuple(ResourceQuery(type=TOPIC, name=at.name, keys=("k",)) for at in ALL)
    ),
    AlterConfigsRequest(
        resources=tuple(
            ResourceChange(
                type=TOPIC,
                name=at.name,
                changes=(ConfigChange(name="retention.ms", operation=0, value="1"),),
            )
            for at in ALL
        ),
        validate_only=True,
    ),
)


@pytest.mark.parametrize("request_", OF_ALL, ids=lambda each: type(each).__name__)
def test_what_names_all_partitions_is_read(request_: Request) -> None:
    """Each in a topic of its own, which is most of it."""
    api = BY_REQUEST[type(request_)]
    served = BROKER_BY_KEY if api in BROKER_BY_KEY.values() else None
    for version in {api.min_version, api.max_version}:
        _, frame = encode_request(request_, correlation_id=1, client_id="c", version=version)
        _, read = decode_request(frame, served) if served else decode_request(frame)
        assert isinstance(read, type(request_))


def test_beyond_that_it_is_hung_up_on_and_told_of() -> None:
    broker = SteppedBroker(partitions=1)
    within = limits.MAX_NAMED_ELEMENTS // 2
    for count, is_read in ((within, True), (within + 1, False)):
        _, frame = encode_request(asked(count), correlation_id=1, client_id="c")
        done = broker.ask(ConnectionId(count), frame)
        told = [each for each in broker.effects if isinstance(each, Trace)]
        oversized = [each.fields["reason"] for each in told if each.event == "n.oversized"]
        assert isinstance(done[0], CloseConnection) is not is_read
        assert len(oversized) == (0 if is_read else 1)
        if not is_read:
            with pytest.raises(MalformedFrame) as error:
                decode_request(frame, BROKER_BY_KEY)
            assert error.value.is_too_large
            assert oversized == [str(error.value)]


def test_garbage_is_not_too_large() -> None:
    broker = SteppedBroker(partitions=1)
    _, frame = encode_request(asked(1), correlation_id=1, client_id="c")
    event = FrameReceived(connection=ConnectionId(3), listener=LISTENER, frame=frame[:-3])
    (closed,) = broker.step(event)
    assert isinstance(closed, CloseConnection)
    assert [each for each in broker.effects if isinstance(each, Trace)] == []


# --- followers ---


def created(orders: Orders, partitions: int) -> None:
    many = NewTopic(name="many", partitions=partitions, replication=3)
    orders.world.ask(CONTROLLER, CreateTopicsRequest(topics=(many,)))
    orders.world.run_ms(2000)


def behind(orders: Orders) -> int:
    """Partitions that not all replicas are in sync of."""
    image = orders.world.machines[CONTROLLER].life.node.core.role.controller.image  # type: ignore[union-attr]
    return sum(len(state.isr) < len(state.replicas) for _, state in image.topics.partitions())


@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_a_follower_names_in_several_fetches_what_one_does_not_hold(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_ASKED_PARTITIONS", at_once)
    named: list[int] = []
    encode = PARTITIONS_FETCH.pack_request

    def counted(message: PartitionsFetchRequest, version: int) -> bytes | None:
        named.append(len(message.partitions) + len(message.forgotten))
        return encode(message, version)

    monkeypatch.setattr(PARTITIONS_FETCH, "pack_request", counted)
    orders = Orders()
    created(orders, 20)
    orders.world.kill(IDS[0])
    orders.world.until(lambda: behind(orders) == 21, "all leave the ISR")
    orders.world.start(IDS[0])
    orders.world.until(lambda: behind(orders) == 0, "all are in sync again", patience_s=30)
    assert max(named) == at_once
    orders.produced(3)
    assert orders.read() == list(range(3))


def test_a_leader_that_hangs_up_is_asked_again_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one did that took fewer elements: nothing was replicated, and nobody said a word."""
    orders = Orders()
    created(orders, 20)
    told = orders.world.told
    began = len(told)
    monkeypatch.setattr(PARTITIONS_FETCH, "size", (3, limits.MAX_PARTITION_ELEMENTS))
    leader = orders.state.leader
    orders.world.kill(leader)
    orders.world.start(leader)
    orders.world.run_ms(10_000)
    following = [(who, each) for who, each in told[began:] if each.event == "b.following"]
    in_trouble = {who for who, each in following if each.fields["trouble"]}
    assert in_trouble == {NodeId(each) for each in IDS}
    assert len(following) < 30, "it is told once, and not each time that it is tried"
    assert any(each.event == "n.oversized" for _, each in told[began:])
    assert behind(orders) > 0
    monkeypatch.setattr(PARTITIONS_FETCH, "size", NAMES)
    orders.world.until(lambda: behind(orders) == 0, "all are in sync again", patience_s=30)
    orders.world.run_ms(3000)
    brokers = [orders.world.machines[NodeId(each)].broker for each in IDS]
    assert {each.trouble for one in brokers for each in one._fetchers._fetchers.values()} == {""}
