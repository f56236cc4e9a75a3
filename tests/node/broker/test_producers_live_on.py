"""Idempotent producers (KIP-98) whose brokers end: what they sent is neither twice there nor
refused, whoever leads, by what is on its disk."""

import pytest

from chaos.cluster.interface import PowerCutMode
from node.errors import ErrorCode
from node.wire.produce import ProduceResult
from tests.support.orders import IDS, Orders
from workloads.wire.batch import Identity, encode_batch

_STOP, _KILL = "stop", "kill"


class Sender:
    """One producer, which sends a batch of two records at a time."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._sent = 0

    def _send(self, number: int) -> ProduceResult:
        identity = Identity(producer_id=7, epoch=0, sequence=2 * number)
        result = self._orders.send(encode_batch(2 * number, 2, 16, identity))
        assert result is not None
        return result

    def next(self) -> None:
        assert self._send(self._sent).base_offset == 2 * self._sent
        self._sent += 1

    def again(self) -> None:
        """The last five are known again, at their offsets."""
        for number in range(self._sent - 5, self._sent):
            result = self._send(number)
            assert (result.error, result.base_offset) == (ErrorCode.NONE, 2 * number)

    def out_of_order(self) -> None:
        assert self._send(self._sent + 1).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def end(orders: Orders, broker: int, how: str | PowerCutMode) -> None:
    if how == _STOP:
        orders.world.stop(broker)
    elif how == _KILL:
        orders.world.kill(broker)
    else:
        orders.world.power_off(broker, PowerCutMode(how))


@pytest.mark.parametrize("how", [_STOP, _KILL, *PowerCutMode])
def test_what_was_sent_is_known_to_whoever_leads_then(how: str | PowerCutMode) -> None:
    """Each leader ends in turn, until one leads by what it read off its disk."""
    orders = Orders()
    sender, ended = Sender(orders), set[int]()
    for _ in range(5):
        sender.next()
    while orders.state.leader not in ended:
        leader = orders.state.leader
        ended.add(leader)
        end(orders, leader, how)
        orders.until_led_by_another(leader)
        sender.again()
        sender.out_of_order()
        sender.next()
        orders.restart(leader)
        orders.whole()
    sender.again()
    sender.out_of_order()
    orders.world.run_ms(2000)
    (one, *others) = orders.logs()
    assert others == [one, one]
    assert orders.log(IDS[0]).end().offset == 2 * (5 + len(ended))
