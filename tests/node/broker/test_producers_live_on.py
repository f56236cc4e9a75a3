"""Idempotent producers (KIP-98) whose brokers end: what they sent is neither twice there nor
refused, whoever leads, by what is on its disk."""

import pytest

from chaos.cluster.interface import PowerCutMode
from node.errors import ErrorCode
from node.records.batch import split_batches
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


def test_what_is_in_the_log_is_not_refused_for_want_of_replicas() -> None:
    """Whoever is told that there are not enough takes it for not appended, and its producer sends
    it once more under another epoch."""
    orders = Orders()
    leader = orders.state.leader
    others = [each for each in IDS if each != leader]
    batch, following = (
        encode_batch(number, 1, 16, Identity(producer_id=7, epoch=0, sequence=number))
        for number in range(2)
    )
    for each in others:
        orders.world.kill(each)
    first = orders.send(batch)
    assert first is not None
    assert first.error is ErrorCode.REQUEST_TIMED_OUT
    orders.world.until(lambda: orders.state.isr == (leader,), "it is alone in the ISR")
    new = orders.send(following)
    assert new is not None
    assert (new.error, new.base_offset) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)
    again = orders.send(batch)
    assert again is not None
    assert again.error in (
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    )
    for each in others:
        orders.world.start(each)
    orders.world.until(lambda: set(orders.state.isr) == set(IDS), "all are in the ISR")
    last = orders.send(batch)
    assert last is not None
    assert (last.error, last.base_offset) == (ErrorCode.NONE, 0)
    assert [each.header.next_offset for each in split_batches(orders.fetch().records)] == [1]
