"""When a broker opens its listeners. Before, the kernel refuses clients: one that is hung up on
takes that for another protocol (TLS)."""

from node.ids import NodeId
from tests.support.orders import Orders


def test_a_broker_listens_from_when_it_has_caught_up_on() -> None:
    orders = Orders()
    broker = orders.others(orders.state.leader)[0]
    machine = orders.world.machines[NodeId(broker)]
    orders.world.kill(broker)
    orders.isolate(broker)
    orders.world.start(broker)
    orders.world.run_ms(5000)
    assert machine.life is not None
    assert not machine.broker.lifecycle.is_caught_up
    assert machine.life.opened == frozenset()
    orders.world.cut.clear()
    orders.world.until(lambda: machine.life is None or bool(machine.life.opened), "it listens")
    assert machine.broker.lifecycle.is_caught_up
    assert machine.life.opened == {"INT"}
