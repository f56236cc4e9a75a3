"""A broker that somebody unregisters while it is up (UnregisterBroker)."""

from node.ids import NodeId
from node.wire.registration import UnregisterBrokerRequest, UnregisterBrokerResponse
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders


def _told(orders: Orders, broker: int) -> list[int]:
    return [
        int(str(trace.fields["epoch"]))
        for node, trace in orders.world.told
        if node == broker and trace.event == "b.unregistered"
    ]


def _unregistered() -> tuple[Orders, int]:
    orders = Orders()
    orders.produced(3)
    gone = orders.state.leader
    answer = orders.world.ask(CONTROLLER, UnregisterBrokerRequest(broker=NodeId(gone)))
    assert isinstance(answer, UnregisterBrokerResponse)
    orders.world.until(lambda: bool(_told(orders, gone)), "it says so")
    return orders, gone


def test_it_says_so_once_and_others_lead() -> None:
    orders, gone = _unregistered()
    orders.world.run_ms(5000)
    (epoch,) = _told(orders, gone)
    assert epoch >= 0
    assert gone not in orders.state.isr
    orders.produced(3)
    assert orders.world.machines[NodeId(gone)].life is not None


def test_it_ends_when_it_is_told_to_and_is_registered_again_when_it_starts() -> None:
    orders, gone = _unregistered()
    orders.world.stop(gone)
    assert orders.world.machines[NodeId(gone)].exit_code == 0
    orders.world.start(gone)
    orders.world.until(lambda: set(orders.state.isr) == set(IDS), "it is in the ISR again")
    assert len(_told(orders, gone)) == 1
