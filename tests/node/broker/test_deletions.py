"""DeleteRecords: who has what afterwards, whoever was away or lost its power (KIP-107)."""

import pytest

from chaos.cluster.interface import PowerCutMode
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import ConfigRecord
from node.storage.log_directories import PartitionLogs
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    EARLIEST,
    TO_HIGH_WATERMARK,
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    RecordsToDelete,
    SoughtOffset,
)
from node.wire.reassignments import UNCLEAN, ElectLeadersRequest
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders
from tests.support.segments import by_size, new_log


def delete(
    orders: Orders,
    offset: int,
    broker: int | None = None,
    at: TopicPartition | None = None,
    timeout_ms: int = 5000,
) -> DeletedRecords:
    partition = at or orders.at
    request = DeleteRecordsRequest(
        timeout_ms=timeout_ms,
        partitions=(RecordsToDelete(partition=partition, offset=offset),),
    )
    answer = orders.world.ask(broker or orders.state.leader, request)
    assert isinstance(answer, DeleteRecordsResponse)
    return answer.partitions[0]


def earliest(orders: Orders) -> ListedOffset:
    request = ListOffsetsRequest(
        partitions=(SoughtOffset(partition=orders.at, timestamp_ms=EARLIEST),)
    )
    answer = orders.world.ask(orders.state.leader, request)
    assert isinstance(answer, ListOffsetsResponse)
    return answer.partitions[0]


def test_no_replica_has_what_was_deleted_once_that_is_acknowledged() -> None:
    orders = Orders()
    orders.produced(20)
    deleted = delete(orders, 10)
    assert (deleted.error, deleted.low_watermark) == (ErrorCode.NONE, 10)
    assert [orders.log(broker).start for broker in IDS] == [10, 10, 10]
    assert earliest(orders).offset == 10
    below = orders.fetch(9)
    assert (below.error, below.log_start) == (ErrorCode.OFFSET_OUT_OF_RANGE, 10)
    assert orders.read(10) == list(range(10, 20))
    result = orders.produce()
    assert result is not None
    assert (result.base_offset, result.log_start) == (20, 10)


def test_it_is_acknowledged_as_soon_as_followers_hear_of_it() -> None:
    """And not when their Fetch has waited for records in vain."""
    orders = Orders()
    orders.produced(20)
    orders.world.run_ms(2000)
    began_ns = orders.world.now_ns
    assert delete(orders, 10).error is ErrorCode.NONE
    assert (orders.world.now_ns - began_ns) / 1e6 < 100


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("offset", [7, 20])
def test_what_was_deleted_stays_deleted(mode: PowerCutMode, offset: int) -> None:
    """Also where nothing is left of what was not: as soon as it is acknowledged."""
    orders = Orders()
    orders.produced(20)
    assert delete(orders, offset).error is ErrorCode.NONE
    for broker in IDS:
        orders.world.power_off(broker, mode)
    for broker in IDS:
        orders.restart(broker)
    assert [orders.log(broker).start for broker in IDS] == [offset] * 3
    orders.world.until(lambda: orders.state.leader >= 0, "one leads")
    orders.world.until(lambda: orders.fetch(offset).error is ErrorCode.NONE, "it has heard of it")
    assert earliest(orders).offset == offset
    assert delete(orders, offset - 1).low_watermark == offset


@pytest.mark.parametrize("offset", [5, 8, 20])
def test_a_follower_that_was_away_begins_where_its_leader_does(offset: int) -> None:
    """5: it has that much; 8: within a batch, of which it lacks the first records."""
    orders = Orders()
    orders.produced(6)
    away = orders.others(orders.state.leader)[0]
    orders.world.kill(away)
    orders.world.until(lambda: away not in orders.state.isr, "it is out of the ISR")
    orders.produce(records=4)
    orders.produced(10)
    assert delete(orders, offset).error is ErrorCode.NONE
    orders.world.start(away)
    orders.whole()
    orders.world.run_ms(2000)
    assert [orders.log(broker).start for broker in IDS] == [offset] * 3
    orders.produced(2)
    orders.world.run_ms(2000)
    one, two, three = orders.logs()
    assert one == two == three
    assert orders.read(offset)[-2:] == [20, 21]


def test_a_replica_that_has_lost_its_end_to_the_power_follows_from_where_its_log_begins() -> None:
    orders = Orders()
    orders.produced(10)
    orders.world.run_ms(6000)
    follower = orders.others(orders.state.leader)[0]
    assert delete(orders, 8).error is ErrorCode.NONE
    orders.world.power_off(follower, PowerCutMode.LOSE_ALL)
    orders.world.until(lambda: follower not in orders.state.isr, "it is out of the ISR")
    orders.produced(3)
    orders.restart(follower)
    assert orders.log(follower).start == 8
    orders.whole()
    orders.world.run_ms(2000)
    one, two, three = orders.logs()
    assert one == two == three


def test_a_leader_elected_later_begins_there_too() -> None:
    orders = Orders()
    orders.produced(10)
    assert delete(orders, TO_HIGH_WATERMARK).low_watermark == 10
    first = orders.state.leader
    orders.world.kill(first)
    orders.world.until(lambda: orders.state.leader not in (-1, first), "another leads")
    orders.produced(4)
    assert earliest(orders).offset == 10
    orders.world.start(first)
    orders.whole()
    orders.world.run_ms(2000)
    assert orders.read(10) == [10, 11, 12, 13]
    one, two, three = orders.logs()
    assert one == two == three


def test_a_log_without_records_follows_a_leader_whose_log_is_shorter() -> None:
    """It knows no epoch by which the two could part, and has nothing to lose by beginning anew."""
    orders = Orders(min_isr=1)
    orders.produced(6)
    orders.world.run_ms(2000)
    first = orders.state.leader
    short, empty = orders.others(first)
    for broker in (short, empty):
        orders.world.kill(broker)
        orders.world.until(lambda gone=broker: gone not in orders.state.isr, "it is out")  # type: ignore[misc]
    orders.produced(14)
    assert delete(orders, 20).error is ErrorCode.NONE
    orders.world.start(empty)
    orders.world.until(lambda: empty in orders.state.isr, "it is in the ISR")
    assert orders.log(empty).start == 20
    for broker in (first, empty):
        orders.world.power_off(broker, PowerCutMode.LOSE_ALL)
    orders.world.start(short)
    orders.world.until(lambda: elected_uncleanly(orders) == short, "the short one leads")
    orders.world.start(empty)
    orders.world.until(lambda: empty in orders.state.isr, "it follows")
    orders.produced(1)
    assert (orders.log(empty).start, orders.log(empty).next_offset) == (0, 7)


def elected_uncleanly(orders: Orders) -> int:
    orders.world.ask(CONTROLLER, ElectLeadersRequest(kind=UNCLEAN, partitions=None))
    return orders.state.leader


def test_without_a_follower_that_is_thought_to_be_up_it_is_done_and_not_acknowledged() -> None:
    orders = Orders()
    orders.produced(10)
    orders.isolate(orders.others(orders.state.leader)[0])
    late = delete(orders, 4, timeout_ms=300)
    assert (late.error, late.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert orders.log(orders.state.leader).start == 4


def test_what_is_refused() -> None:
    orders = Orders()
    orders.produced(3)
    other = orders.others(orders.state.leader)[0]
    assert delete(orders, 4).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(orders, -2).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(orders, 1, broker=other).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    nowhere = TopicPartition(name="orders", index=1)
    assert delete(orders, 1, at=nowhere).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert orders.log(orders.state.leader).start == 0


def test_of_a_topic_that_is_compacted_nothing_is_deleted() -> None:
    """So Kafka's controllers may have made it; ours do not."""
    orders = Orders()
    orders.produced(3)
    image = orders.world.machines[NodeId(orders.state.leader)].broker.follower.image
    compact = ConfigRecord(
        resource_type=2, resource_name="orders", name="cleanup.policy", value="compact"
    )
    image.replay(compact)
    assert delete(orders, 1).error is ErrorCode.POLICY_VIOLATION


def test_a_topic_made_anew_by_the_same_name_begins_at_0() -> None:
    """The file of starts knows logs by name."""
    orders = Orders()
    orders.produced(3)
    assert delete(orders, 2).error is ErrorCode.NONE
    replicas = orders.world.machines[NodeId(IDS[0])].life.replicas  # type: ignore[union-attr]
    assert replicas is not None
    (log,) = replicas
    (directory,) = replicas.directories
    replicas.create([new_log(log, orders.at.id, directory)])
    again = PartitionLogs.open(orders.world.machines[NodeId(IDS[0])].disk, by_size())
    assert (again[log].start, again[log].next_offset) == (0, 0)
