"""Brokers with two log directories (KIP-112, KIP-858), in virtual time and on disks that forget."""

from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.disk import SimDisk
from node.controller.image import Image
from node.ids import LogId, NodeId
from node.server.outcome import Refusal
from node.storage.checkpoints import CLEAN_SHUTDOWN, HIGH_WATERMARKS, load_offsets
from node.storage.disk import META_PROPERTIES, CorruptFile
from node.storage.log_directories import LogDirectories
from node.wire.entities import TopicPartition
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    NewTopic,
)
from node.wire.topic_metadata import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.support.broker_machine import SECOND, Machine, add_second, directory_of, second_of
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders

FOUR = NodeId(4)
LOG = LogId("orders-0")


def with_two(**settings: object) -> Orders:
    return Orders(second=IDS, **settings)  # type: ignore[arg-type]


def image(orders: Orders) -> Image:
    life = orders.world.machines[CONTROLLER].life
    assert life is not None
    found = life.node.core.role.controller.image  # type: ignore[union-attr]
    assert isinstance(found, Image)
    return found


def machine(orders: Orders, broker: int = FOUR) -> Machine:
    return orders.world.machines[NodeId(broker)]


def logs(orders: Orders, broker: int = FOUR) -> LogDirectories:
    life = machine(orders, broker).life
    assert life is not None
    assert life.replicas is not None
    return life.replicas


def make(orders: Orders, name: str, partitions: int) -> UUID:
    topic = NewTopic(name=name, partitions=partitions, replication=3)
    made = orders.world.ask(CONTROLLER, CreateTopicsRequest(topics=(topic,)))
    assert isinstance(made, CreateTopicsResponse)
    return made.results[0].id


def is_known(orders: Orders) -> bool:
    """Does the controller have each replica where its broker has it?"""
    for (id_, index), state in image(orders).topics.partitions():
        topic = image(orders).topics.find(id_)
        assert topic is not None
        log = LogId(f"{topic.name}-{index}")
        for broker in state.replicas:
            own = logs(orders, broker)
            if log not in own or own.directory_of(log) != state.directory(broker):
                return False
    return True


def until_known(orders: Orders) -> None:
    orders.world.until(lambda: is_known(orders), "the controller knows where replicas are")


def test_a_registration_names_both_and_the_controller_hears_where_replicas_are() -> None:
    orders = with_two()
    for broker in IDS:
        found = image(orders).brokers.find(broker)
        assert found is not None
        assert found.log_dirs == (directory_of(broker), second_of(broker))
    until_known(orders)


def test_a_new_replica_is_in_the_directory_with_the_fewest() -> None:
    orders = with_two()
    make(orders, "bills", 5)
    orders.world.until(lambda: len(logs(orders)) == 6, "all are made")
    placed = [logs(orders).directory_of(log) for log in logs(orders)]
    assert sorted(map(placed.count, logs(orders).directories)) == [3, 3]
    until_known(orders)


def test_more_replicas_than_one_request_may_have_are_told_of() -> None:
    orders = with_two()
    make(orders, "bills", 600)
    orders.world.until(lambda: len(logs(orders)) == 601, "all are made")
    until_known(orders)


@pytest.mark.parametrize("mode", PowerCutMode)
@pytest.mark.parametrize("seed", range(3))
def test_a_power_cut_of_all_loses_nothing_that_was_flushed(seed: int, mode: PowerCutMode) -> None:
    orders = with_two(seed=seed)
    make(orders, "bills", 3)
    orders.produced(5)
    until_known(orders)
    for broker in IDS:
        machine(orders, broker).filesystem.sync()
        orders.world.power_off(broker, mode)
    for broker in IDS:
        orders.restart(broker)
    orders.whole()
    assert orders.read() == list(range(5))
    assert len(logs(orders)) == 4
    assert is_known(orders), "each lies where it was"


def test_checkpoints_are_of_the_logs_in_their_directory() -> None:
    orders = with_two()
    make(orders, "bills", 1)
    orders.produced(7)
    orders.world.run_ms(11_000)
    disks = machine(orders).disks(("", SECOND))
    found = [load_offsets(disk, HIGH_WATERMARKS) for disk in disks.values()]
    assert sorted(map(sorted, found)) == [["bills-0"], [LOG]]
    assert found[0] | found[1] == {LOG: 7, "bills-0": 0}


def test_another_order_is_the_same_broker() -> None:
    """Also where the metadata log then lies in the second one, which Apache Kafka refuses."""
    orders = with_two()
    make(orders, "bills", 3)
    orders.produced(5)
    until_known(orders)
    orders.world.stop(FOUR)
    machine(orders).log_dirs = (SECOND, "")
    orders.restart(FOUR)
    orders.whole()
    assert logs(orders).previous_epoch != -1
    assert len(logs(orders)) == 4
    assert logs(orders)[LOG].next_offset == 5
    assert is_known(orders)


def test_only_if_all_directories_say_so_it_shut_down_cleanly() -> None:
    orders = with_two()
    orders.world.stop(FOUR)
    for path in ("", SECOND):
        assert machine(orders).disks((path,))[path].exists(CLEAN_SHUTDOWN)
    machine(orders).disks((SECOND,))[SECOND].remove(CLEAN_SHUTDOWN)
    orders.restart(FOUR)
    assert logs(orders).previous_epoch == -1


def test_replicas_of_a_directory_that_is_taken_out_are_made_anew() -> None:
    """Nobody takes their broker for one that has what it had: its replica is in no ELR."""
    orders = with_two()
    until_known(orders)
    orders.produced(5)
    kept = [path for path in ("", SECOND) if not has_log(orders, path)]
    leader = orders.state.leader
    for broker in orders.others(leader, FOUR) if leader != FOUR else orders.others(FOUR)[:1]:
        orders.world.stop(broker)
    orders.world.stop(FOUR)
    orders.world.until(lambda: FOUR in orders.state.elr, "it is eligible")
    take_out(orders, kept[0])
    orders.world.cut |= {(FOUR, other) for other in IDS} | {(other, FOUR) for other in IDS}
    orders.restart(FOUR)
    orders.world.run_ms(2000)
    assert FOUR not in orders.state.elr
    assert FOUR not in orders.state.isr
    orders.world.cut.clear()
    for broker in IDS:
        if machine(orders, broker).life is None:
            orders.restart(broker)
    orders.whole()
    orders.world.until(lambda: orders.read() == list(range(5)), "all is there")
    until_known(orders)
    assert logs(orders).directories == (logs(orders).directory_of(LOG),)
    assert logs(orders)[LOG].next_offset == 5


def has_log(orders: Orders, path: str) -> bool:
    return bool(machine(orders).disks((path,))[path].names(LOG))


def take_out(orders: Orders, kept: str) -> None:
    """Name `kept` alone; the metadata log goes along, where it was in the other one."""
    if kept == SECOND:
        move_metadata(machine(orders))
    machine(orders).log_dirs = (kept,)


def move_metadata(of: Machine) -> None:
    first, second = of.disk, SimDisk(of.filesystem, SECOND)
    second.make_directory("__cluster_metadata-0")
    names = ["bootstrap.checkpoint"]
    names += [f"__cluster_metadata-0/{name}" for name in first.names("__cluster_metadata-0")]
    for name in names:
        second.replace(name, first.read_all(name))
        first.remove(name)


def test_a_broker_with_one_directory_may_be_given_another() -> None:
    orders = Orders()
    orders.produced(3)
    orders.world.stop(FOUR)
    add_second(machine(orders))
    orders.restart(FOUR)
    orders.whole()
    make(orders, "bills", 2)
    orders.world.until(lambda: len(logs(orders)) == 3, "all are made")
    assert logs(orders).directory_of(LogId("bills-0")) == second_of(FOUR)
    until_known(orders)


def test_a_directory_without_meta_properties_is_refused() -> None:
    orders = with_two()
    orders.world.stop(FOUR)
    machine(orders).disks((SECOND,))[SECOND].remove(META_PROPERTIES)
    with pytest.raises(Refusal, match="one of the log directories is not formatted"):
        orders.world.start(FOUR)


def test_a_log_that_lies_in_both_is_refused() -> None:
    orders = with_two()
    orders.world.stop(FOUR)
    disks = machine(orders).disks(("", SECOND))
    here, there = (disks[""], disks[SECOND])[:: 1 if has_log(orders, "") else -1]
    there.make_directory(LOG)
    for name in here.names(LOG):
        there.replace(f"{LOG}/{name}", here.read_all(f"{LOG}/{name}"))
    with pytest.raises(CorruptFile, match="orders-0 lies in two log directories"):
        orders.world.start(FOUR)


def test_a_wiped_disk_with_one_directory_may_lead_again() -> None:
    """Its replicas are assigned to the directory that it had: it says where they are."""
    orders = Orders()
    orders.produced(3)
    leader = orders.state.leader
    wiped = orders.others(leader)[0]
    orders.world.stop(wiped)
    give_new_directory(machine(orders, wiped))
    orders.restart(wiped)
    orders.whole()
    until_known(orders)
    for broker in orders.others(wiped):
        orders.world.kill(broker)
    orders.world.until(lambda: orders.state.leader == wiped, "it leads")


def give_new_directory(of: Machine) -> None:
    text = of.disk.read_all(META_PROPERTIES).decode()
    id_ = next(line for line in text.splitlines() if line.startswith("directory.id="))
    of.disk.replace(META_PROPERTIES, text.replace(id_, "directory.id=" + "B" * 22).encode())


def test_a_topic_that_was_made_anew_while_nobody_heard_of_it() -> None:
    """Its last life and the next one are told in one step."""
    orders = with_two()
    orders.produced(3)
    before = logs(orders)[LOG].topic
    orders.isolate(FOUR)
    orders.world.ask(CONTROLLER, DeleteTopicsRequest(topics=(DeletedTopic(name="orders"),)))
    orders.world.run_ms(500)
    topic = make(orders, "orders", 1)
    assert topic != before
    orders.world.run_ms(500)
    orders.world.cut.clear()
    orders.world.run_ms(3000)
    assert logs(orders)[LOG].topic == topic
    until_known(orders)


def test_tools_are_told_how_large_logs_are_and_where() -> None:
    orders = with_two()
    make(orders, "bills", 1)
    until_known(orders)
    orders.produced(10)
    told = orders.world.ask(FOUR, DescribeLogDirsRequest())
    assert isinstance(told, DescribeLogDirsResponse)
    assert [each.path for each in told.results] == list(machine(orders).log_dirs)
    sizes = {log.partition.name: log.size for each in told.results for log in each.logs}
    assert sizes["orders"] > 0
    assert sizes["bills"] == 0
    places = {log.partition.name: each.path for each in told.results for log in each.logs}
    assert len(set(places.values())) == 2
    sought = (TopicPartition(name="bills", index=0), TopicPartition(name="who", index=0))
    told = orders.world.ask(FOUR, DescribeLogDirsRequest(partitions=sought))
    assert isinstance(told, DescribeLogDirsResponse)
    found = [log.partition.name for each in told.results for log in each.logs]
    assert (len(told.results), found) == (2, ["bills"])
