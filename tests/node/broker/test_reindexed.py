"""A whole broker whose index of a log is damaged while it is off: it says so, and loses nothing."""

import pytest

from node.ids import NodeId, Offset
from tests.support.orders import IDS, Orders

BROKER = IDS[0]
SEGMENT = "orders-0/00000000000000000000"


def told(orders: Orders) -> list[object]:
    return [
        trace.fields["segment"]
        for node, trace in orders.world.told
        if trace.event == "n.reindexed" and node == BROKER
    ]


def stopped_cleanly() -> Orders:
    orders = Orders()
    orders.produced(60)
    orders.world.stop(BROKER)
    orders.world.until(lambda: orders.world.machines[NodeId(BROKER)].life is None, "it stops")
    return orders


def previous_epoch(orders: Orders) -> object:
    """That it told the controller as it registered last."""
    lives = [
        trace.fields["previous"]
        for node, trace in orders.world.told
        if trace.event == "b.life" and node == BROKER
    ]
    return lives[-1]


@pytest.mark.parametrize("file", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "zeros", "short", "lying"])
def test_an_index_that_is_damaged_alone_is_made_anew(file: str, damage: str) -> None:
    orders = stopped_cleanly()
    disk, path = orders.world.machines[NodeId(BROKER)].disk, f"{SEGMENT}.{file}"
    data = disk.read_all(path)
    assert data
    if damage == "missing":
        disk.remove(path)
    else:
        lies = {"zeros": bytes(len(data)), "short": data[:-1], "lying": data[:-1] + b"\x7f"}
        disk.replace(path, lies[damage])
    orders.restart(BROKER)
    orders.whole()
    assert told(orders) == [f"{SEGMENT}.log"]
    assert previous_epoch(orders) != -1
    assert (
        orders.log(BROKER).read(Offset(0), 1 << 20)
        == orders.log(IDS[1]).read(Offset(0), 1 << 20)
        != b""
    )


def test_without_damage_nothing_is_said() -> None:
    orders = stopped_cleanly()
    orders.restart(BROKER)
    orders.whole()
    orders.world.kill(BROKER)  # after that nothing vouches for an index, and nobody expects one
    orders.restart(BROKER)
    orders.whole()
    assert told(orders) == []
