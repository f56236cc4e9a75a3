"""Whole brokers and a controller, in virtual time: what KIP-966 promises, and for what."""

import random
from dataclasses import replace

import pytest

from chaos.cluster.interface import PowerCutMode
from node.broker.replicas.manager import HostedPartition
from node.broker.requests.fetch import FetchRequests
from node.errors import ErrorCode
from node.ids import MS, NodeId
from node.storage.checkpoints import HIGH_WATERMARKS, load_offsets
from node.wire.api_versions import ApiVersionsRequest
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from node.wire.topic_metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
)
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders
from workloads.wire.batch import Identity, encode_batch


def test_records_are_on_all_replicas_and_visible_once_acknowledged() -> None:
    orders = Orders()
    orders.produced(20)
    assert orders.read() == list(range(20))
    orders.world.run_ms(2000)
    one, two, three = orders.logs()
    assert one == two == three


def test_a_lone_record_waits_for_nothing_but_its_way() -> None:
    """What a leader appends it finds in its log in the next step. Whoever waits there for records
    is told in that one, and not when something else happens to be done."""
    orders = Orders()
    for _ in range(3):
        orders.world.run_ms(700)
        began_ns = orders.world.now_ns
        orders.produced(1)
        assert orders.world.now_ns - began_ns < 10 * MS


def test_what_was_sent_twice_is_acknowledged_at_once() -> None:
    """It may be on all replicas since long ago, and nothing moves by it (KIP-98)."""
    orders = Orders()
    batch = encode_batch(0, 2, 16, Identity(producer_id=7, epoch=0, sequence=0))
    assert orders.send(batch) is not None
    orders.world.run_ms(700)
    began_ns = orders.world.now_ns
    again = orders.send(batch)
    assert again is not None
    assert (again.error, again.base_offset) == (ErrorCode.NONE, 0)
    assert orders.world.now_ns - began_ns < 10 * MS


def test_a_partition_that_its_leader_refuses_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of one that is damaged, or that its leader has not heard of yet, followers ask again after a
    while (`AbstractFetcherThread.delayPartitions`); of the others at once."""
    orders = Orders()
    bills = NewTopic(name="bills", partitions=6, replication=3)
    orders.world.ask(CONTROLLER, CreateTopicsRequest(topics=(bills,)))
    orders.world.run_ms(500)  # until all of its logs are made
    refusal, refused = FetchRequests._refusal, list[int]()

    def of_bills(
        self: FetchRequests,
        request: PartitionsFetchRequest,
        at: FetchedPartition,
        held: HostedPartition,
    ) -> ErrorCode:
        if held.name != bills.name:
            return refusal(self, request, at, held)
        refused.append(orders.world.now_ns)
        return ErrorCode.CORRUPT_MESSAGE

    monkeypatch.setattr(FetchRequests, "_refusal", of_bills)
    for _ in range(20):
        orders.world.run_ms(370)
        began_ns = orders.world.now_ns
        orders.produced(1)
        assert orders.world.now_ns - began_ns < 10 * MS
    assert 10 < len(set(refused)) < 30, "all ask once a second"
    monkeypatch.setattr(FetchRequests, "_refusal", refusal)
    orders.world.run_ms(2000)
    brokers = [orders.world.machines[NodeId(id_)].broker for id_ in IDS]
    followers = [each for broker in brokers for each in broker._fetchers._fetchers.values()]
    assert [each.refused for each in followers] == [{}] * len(followers)


def test_a_consumer_is_told_of_a_lone_record_at_once() -> None:
    """Also where no follower is, whose next Fetch would have the leader look."""
    orders = Orders(min_isr=1)
    for follower in orders.others(orders.state.leader):
        orders.world.kill(follower)
    orders.world.until(lambda: len(orders.state.isr) == 1, "the leader is alone")
    told = orders.world.begin(orders.state.leader, orders.fetching(wait_ms=5000))
    orders.world.run_ms(100)
    assert not told
    orders.produced(1)
    orders.world.run_ms(5)
    assert [type(answer) for answer in told] == [PartitionsFetchResponse]


def test_a_leader_that_ends_is_replaced_and_comes_back_as_a_follower() -> None:
    orders = Orders()
    orders.produced(5)
    first = orders.state.leader
    orders.world.kill(first)
    orders.world.until(lambda: orders.state.leader not in (-1, first), "another leads")
    orders.produced(5)
    orders.world.start(first)
    orders.whole()
    assert orders.read() == list(range(10))
    orders.world.run_ms(2000)
    one, two, three = orders.logs()
    assert one == two == three


def test_what_only_the_old_leader_had_is_cut_when_it_comes_back() -> None:
    """It took records with acks=1 while nobody heard it (KIP-101)."""
    orders = Orders()
    orders.produced(5)
    first = orders.state.leader
    orders.isolate(first)
    result = orders.produce(acks=1)
    assert result is not None
    assert result.error is ErrorCode.NONE
    orders.world.until(lambda: orders.state.leader not in (-1, first), "another leads")
    orders.produced(5)
    orders.world.cut.clear()
    orders.whole()
    orders.world.run_ms(2000)
    assert orders.read() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    one, two, three = orders.logs()
    assert one == two == three


def test_who_is_not_told_in_time_is_told_that_it_was_appended() -> None:
    """By the base offset (Kafka's `DelayedProduce`): a client that took it for refused would send
    it again, or say that it is nowhere, and consumers are given it later."""
    orders = Orders()
    orders.produced(3)
    orders.isolate(orders.state.leader)
    late = orders.produce(timeout_ms=500)
    assert late is not None
    assert (late.error, late.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 3)
    orders.world.cut.clear()
    orders.whole()


def test_below_min_isr_nothing_is_acknowledged_nor_shown() -> None:
    """KIP-966: acks=1 is acknowledged, and stays invisible until the ISR has members enough."""
    orders = Orders()
    orders.produced(3)
    followers = orders.others(orders.state.leader)
    for broker in followers:
        orders.world.kill(broker)
    orders.world.until(lambda: len(orders.state.isr) == 1, "the leader is alone")
    assert len(orders.state.elr) == 1, "with the leader as many as min ISR"
    refused, taken = orders.produce(), orders.produce(acks=1)
    assert refused is not None
    assert refused.error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert taken is not None
    assert taken.error is ErrorCode.NONE
    assert orders.read() == [0, 1, 2]
    orders.world.start(followers[0])
    orders.world.until(lambda: orders.read() == [0, 1, 2, 4], "two are in the ISR, and it is shown")


def test_every_broker_tells_who_may_lead() -> None:
    """KIP-966: what DescribeTopicPartitions is there for."""
    orders = Orders()
    first, second = orders.others(orders.state.leader)
    orders.world.stop(first)
    orders.world.stop(second)
    orders.world.until(lambda: orders.state.elr == (second,), "one is eligible")
    leader = orders.state.leader
    orders.world.until(lambda: orders.described(leader).elr == (second,), "the leader heard of it")
    told = orders.described(leader)
    assert (told.leader, told.isr) == (leader, (leader,))
    assert set(told.offline) == {first, second}
    orders.world.kill(leader)
    orders.restart(first)
    orders.world.until(lambda: orders.described(first).leader == -1, "nobody leads")
    assert orders.described(first).last_known_elr == orders.state.last_known_elr


def test_a_topic_is_made_through_a_broker_once_there_is_a_controller() -> None:
    orders = Orders()
    world = orders.world
    first, second, _ = IDS
    bills = CreateTopicsRequest(topics=(NewTopic(name="bills", partitions=1, replication=1),))
    world.kill(CONTROLLER)
    late = world.ask(first, bills, patience_ms=40_000)
    assert isinstance(late, CreateTopicsResponse)
    assert late.results[0].error is ErrorCode.REQUEST_TIMED_OUT
    world.start(CONTROLLER)
    made = world.ask(second, bills)
    assert isinstance(made, CreateTopicsResponse)
    assert made.results[0].error is ErrorCode.NONE
    again = world.ask(first, bills)
    assert isinstance(again, CreateTopicsResponse)
    assert again.results[0].error is ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_broker_that_asks_again_is_told_that_the_topic_exists_which_its_first_request_made() -> (
    None
):
    """As in Kafka: whether another client made it meanwhile, no broker can know."""
    orders = Orders()
    world = orders.world
    asked, *_ = IDS
    world.cut.add((CONTROLLER, asked))
    told = world.begin(
        asked, CreateTopicsRequest(topics=(NewTopic(name="bills", partitions=2, replication=1),))
    )
    topics = world.machines[CONTROLLER].life.node.core.role.controller.image.topics  # type: ignore[union-attr]
    world.until(lambda: topics.named("bills") is not None, "it is made")
    world.run_ms(100)  # it is on the controller's disk, and the answer was lost
    assert not told
    world.kill(CONTROLLER)
    world.cut.clear()
    world.start(CONTROLLER)
    world.until(lambda: bool(told), "the broker has asked again")
    (answer,) = told
    assert isinstance(answer, CreateTopicsResponse)
    assert answer.results[0].error is ErrorCode.TOPIC_ALREADY_EXISTS
    described = world.ask(asked, DescribeTopicPartitionsRequest(topics=("bills",), limit=10))
    assert isinstance(described, DescribeTopicPartitionsResponse)
    assert [len(each.partitions) for each in described.topics] == [2]


def test_a_broker_that_begins_again_knows_what_was_committed() -> None:
    """Below min ISR its high watermark may not move, and consumers see what they saw before."""
    orders = Orders()
    orders.produced(20)
    last = orders.state.leader
    for broker in (*orders.others(last), last):
        orders.world.stop(broker)
    orders.restart(last)
    orders.world.until(lambda: orders.state.leader == last, "the last one leads")
    orders.world.until(lambda: orders.fetch().error is ErrorCode.NONE, "it has heard of it")
    assert orders.state.isr == (last,)
    assert orders.read() == list(range(20))


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_high_watermarks_are_saved_now_and_then(mode: PowerCutMode) -> None:
    orders = Orders()
    orders.produced(20)
    orders.world.run_ms(5500)  # followers hear of it, and it is time
    for broker in IDS:
        orders.world.power_off(broker, mode)
        disk = orders.world.machines[NodeId(broker)].disk
        assert load_offsets(disk, HIGH_WATERMARKS) == {"orders-0": 20}


def test_saved_high_watermarks_outlive_a_start_that_comes_to_nothing() -> None:
    """Before it is told of its replicas, a broker does not know whose are still wanted."""
    orders = Orders()
    orders.produced(20)
    orders.world.run_ms(5500)
    broker = orders.others(orders.state.leader)[0]
    orders.world.kill(broker)
    orders.isolate(broker)
    orders.world.start(broker)
    orders.world.run_ms(5500)
    orders.world.kill(broker)
    disk = orders.world.machines[NodeId(broker)].disk
    assert load_offsets(disk, HIGH_WATERMARKS) == {"orders-0": 20}


def test_a_clean_shutdown_keeps_eligibility_and_an_unclean_one_does_not() -> None:
    orders = Orders()
    orders.produced(3)
    for broker in orders.others(orders.state.leader):
        orders.world.stop(broker)
        assert orders.world.machines[NodeId(broker)].exit_code == 0
    orders.world.until(lambda: len(orders.state.isr) == 1, "the leader is alone")
    (eligible,) = orders.state.elr
    orders.world.start(eligible)
    orders.world.until(lambda: len(orders.state.isr) == 2, "it is back")
    orders.world.stop(eligible)
    orders.world.until(lambda: orders.state.elr == (eligible,), "it is eligible again")
    file = ".kafka_cleanshutdown"
    orders.world.machines[NodeId(eligible)].disk.remove(file)
    leader = orders.state.leader
    orders.world.cut |= {(leader, eligible), (eligible, leader)}
    orders.world.start(eligible)
    orders.world.until(lambda: orders.state.elr == (), "nobody vouches for it")


def test_who_shuts_down_before_it_was_told_its_epoch_vouches_for_none() -> None:
    """KIP-966, "Detection of an unclean shutdown": it writes -1, and is taken for unclean."""
    orders = Orders()
    orders.produced(3)
    for broker in orders.others(orders.state.leader):
        orders.world.stop(broker)
    orders.world.until(lambda: len(orders.state.isr) == 1, "the leader is alone")
    (eligible,) = orders.state.elr
    orders.world.cut |= {(CONTROLLER, eligible), (eligible, CONTROLLER)}
    orders.world.start(eligible)
    orders.world.run_ms(3000)
    orders.world.stop(eligible)
    disk = orders.world.machines[NodeId(eligible)].disk
    assert disk.read_all(".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":-1}'
    assert orders.state.elr == (eligible,)
    orders.world.cut.clear()
    leader = orders.state.leader
    orders.world.cut |= {(leader, eligible), (eligible, leader)}
    orders.world.start(eligible)
    orders.world.until(lambda: orders.state.elr == (), "nobody vouches for it")


@pytest.mark.parametrize("request_", [ApiVersionsRequest(supported=True), MetadataRequest()])
def test_who_is_back_before_its_session_ends_answers_nobody_until_it_is_let_in(
    request_: ApiVersionsRequest | MetadataRequest,
) -> None:
    """The metadata has it in sync all that time: whoever waited for an answer and for a whole ISR
    would take it for whole, though its log is as short as the power left it."""
    orders = Orders()
    orders.produced(20)
    (follower, _) = orders.others(orders.state.leader)
    orders.world.power_off(follower, PowerCutMode.LOSE_ALL)
    orders.world.start(follower)
    assert orders.world.ask(follower, request_) is None
    assert follower in orders.state.isr, "by its last life"
    began_ns = orders.world.now_ns
    orders.world.until(lambda: orders.world.ask(follower, request_) is not None, "it answers")
    assert orders.world.now_ns - began_ns > 8000 * MS, "its last session goes on for so long"
    orders.whole()
    orders.world.run_ms(2000)
    one, two, three = orders.logs()
    assert one == two == three


def last_replica_standing(seed: int, mode: PowerCutMode, *, elr: bool) -> Orders:
    """KIP-966, Motivation: two replicas leave the ISR of three, one after the other, as nobody
    hears them; the last one loses power, and comes back; then the network does."""
    orders = Orders(elr=elr, seed=seed)
    orders.produced(5)
    last = orders.state.leader
    first, second = orders.others(last)
    orders.isolate(first)
    orders.world.until(lambda: len(orders.state.isr) == 2, "one has left")
    orders.produced(10)
    orders.isolate(second)
    orders.world.until(lambda: orders.state.isr == (last,), "the last one stands")
    orders.world.power_off(last, mode)
    orders.world.run_ms(15_000)
    orders.restart(last)
    orders.world.cut.clear()
    orders.whole()
    orders.world.run_ms(2000)  # the leader hears of it
    return orders


@pytest.mark.parametrize("seed", range(3))
def test_the_last_replica_standing_loses_what_was_acknowledged_without_elr(seed: int) -> None:
    orders = last_replica_standing(seed, PowerCutMode.LOSE_ALL, elr=False)
    assert set(orders.acknowledged) - set(orders.read())


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("seed", range(3))
def test_eligible_leader_replicas_keep_what_was_acknowledged(seed: int, mode: PowerCutMode) -> None:
    orders = last_replica_standing(seed, mode, elr=True)
    assert orders.acknowledged == orders.read()


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_a_leader_that_is_back_before_it_was_missed_leads_no_more(mode: PowerCutMode) -> None:
    """What its disk and the metadata log tell of its last life is not said to followers."""
    orders = Orders()
    orders.produced(10)
    leader = orders.state.leader
    orders.world.power_off(leader, mode)
    orders.world.run_ms(200)
    assert orders.state.leader == leader, "nobody noticed"
    orders.restart(leader)
    orders.whole()
    orders.world.run_ms(2000)
    assert orders.state.leader != leader
    assert orders.read() == list(range(10))


@pytest.mark.parametrize("seed", range(6))
def test_one_lossy_power_cut_at_a_time_loses_nothing(seed: int) -> None:
    """With min.insync.replicas 2 one is what KIP-966 survives."""
    rng = random.Random(seed)
    orders = Orders(seed=seed)
    for _ in range(4):
        for _ in range(rng.randrange(8)):
            orders.produce(timeout_ms=500)
        victim = rng.choice(IDS)
        orders.world.power_off(victim, rng.choice(list(PowerCutMode)))
        for _ in range(rng.randrange(8)):
            orders.produce(timeout_ms=500)
        orders.world.run_ms(rng.randrange(15_000))
        orders.restart(victim)
        orders.whole()
    orders.world.run_ms(2000)
    assert set(orders.acknowledged) <= set(orders.read())
    one, two, three = orders.logs()
    assert one == two == three


def test_what_was_deleted_while_a_broker_was_off_is_not_kept() -> None:
    """KAFKA-14616: nobody else would ever remove it."""
    orders = Orders()
    orders.produced(3)
    world, last = orders.world, IDS[-1]
    world.stop(last)
    deleted = world.ask(CONTROLLER, DeleteTopicsRequest(topics=(DeletedTopic(name="orders"),)))
    assert isinstance(deleted, DeleteTopicsResponse)
    disk = world.machines[NodeId(last)].disk
    assert disk.names("orders-0")
    orders.restart(last)
    assert not disk.names("orders-0")
    world.stop(last)
    assert world.machines[NodeId(last)].exit_code == 0


def test_a_topic_that_was_made_again_while_a_broker_was_off_is_another_one() -> None:
    """Of the same name, on the two other brokers."""
    orders = Orders()
    orders.produced(3)
    world, last = orders.world, IDS[-1]
    world.stop(last)
    world.ask(CONTROLLER, DeleteTopicsRequest(topics=(DeletedTopic(name="orders"),)))
    made = world.ask(
        CONTROLLER,
        CreateTopicsRequest(topics=(NewTopic(name="orders", partitions=1, replication=2),)),
    )
    assert isinstance(made, CreateTopicsResponse)
    orders.at = replace(orders.at, id=made.results[0].id)
    orders.restart(last)
    assert last not in orders.state.replicas
    assert not world.machines[NodeId(last)].disk.names("orders-0")


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_a_leader_that_is_stopped_before_it_is_back_leads_no_more(mode: PowerCutMode) -> None:
    """It has replayed what made it the leader, and is not registered yet."""
    orders = Orders()
    world = orders.world
    orders.produced(10)
    leader = orders.state.leader
    world.power_off(leader, mode)
    world.start(leader)
    began = len(world.told)
    broker = world.machines[NodeId(leader)].broker
    topics = broker.follower.image.topics
    world.until(lambda: topics.partition(orders.at.id, 0) is not None, "it knows the topic")
    assert broker.lifecycle.epoch < 0
    world.stop(leader)
    told = [trace.event for node, trace in world.told[began:] if node == leader]
    assert "b.life" in told
    assert "p.role" not in told
