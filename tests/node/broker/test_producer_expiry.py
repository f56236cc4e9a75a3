"""Idempotent producers that are silent for long are forgotten (producer.id.expiration.ms) on each
replica, whether brokers end meanwhile or not: in virtual time."""

from dataclasses import replace

import pytest

from node.broker.replicas import producers
from node.broker.replicas.producers import LOG_AS_PRODUCERS
from node.effects import AppendBatches, ForgetProducers
from node.errors import ErrorCode
from node.ids import MS, Offset
from node.storage.log import perform
from node.storage.producers import decode_producers, snapshot_name
from node.wire.produce import ProduceResult
from tests.support.batches import timed_batch, with_header
from tests.support.broker_world import BROKER_ROLE
from tests.support.orders import IDS, Orders
from tests.support.stepped_broker import SteppedBroker

SILENT_MS, CHECK_MS = 20_000, 5000
ROLE = replace(BROKER_ROLE, producer_silent_ms=SILENT_MS, producer_check_ms=CHECK_MS)
UNTIMED = -1


class Sender:
    """One producer, which sends a record at a time."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders

    @property
    def now_ms(self) -> int:
        return self.orders.world.now_ns // MS

    def send(self, sequence: int, time_ms: int | None = None) -> ProduceResult:
        plain = timed_batch(self.now_ms if time_ms is None else time_ms)
        batch = with_header(plain, producer_id=7, producer_epoch=0, base_sequence=sequence)
        result = self.orders.send(batch)
        assert result is not None
        return result

    def is_known(self) -> bool:
        """To the leader, which then refuses what does not follow."""
        error = self.send(1000).error
        assert error in (ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return error is not ErrorCode.NONE

    def logged(self) -> list[int]:
        """How many producers each broker knows."""
        return [len(self.orders.log(broker).producers) for broker in IDS]

    def until(self, time_ms: int) -> None:
        self.orders.world.run_ms(time_ms - self.now_ms)


@pytest.mark.parametrize("time_ms", [None, UNTIMED])
def test_a_producer_is_known_for_as_long_as_the_setting_says(time_ms: int | None) -> None:
    """And no longer than to the next check, by when one whose records have no time was silent for
    as long, at the latest, since another."""
    sender = Sender(Orders(role=ROLE))
    began_ms = sender.now_ms
    assert sender.send(0, time_ms).base_offset == 0
    sender.until(began_ms + SILENT_MS - 100)
    assert sender.send(0, time_ms).base_offset == 0, "it is there already"
    assert sender.is_known()
    assert sender.logged() == [1, 1, 1]
    sender.until(began_ms + SILENT_MS + (2 if time_ms == UNTIMED else 1) * CHECK_MS)
    assert sender.logged() == [0, 0, 0]
    again = sender.send(0, time_ms)
    assert (again.error, again.base_offset) == (ErrorCode.NONE, 1), "it is forgotten"


def test_a_producer_that_goes_on_writing_stays_known() -> None:
    sender = Sender(Orders(role=ROLE))
    for sequence in range(4):
        assert sender.send(sequence).base_offset == sequence
        sender.orders.world.run_ms(SILENT_MS // 2)
    assert sender.is_known()


def test_a_producer_of_old_records_is_forgotten_at_the_next_check() -> None:
    """As in Kafka: the time is that of the records."""
    orders = Orders(role=ROLE)
    orders.world.run_ms(SILENT_MS)
    sender = Sender(orders)
    sender.send(0, time_ms=1)
    orders.world.run_ms(CHECK_MS)
    assert sender.logged() == [0, 0, 0]


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_broker_that_starts_has_forgotten_silent_producers(is_clean: bool) -> None:
    """Whatever its log and its snapshots say; no check is due for long."""
    orders = Orders(role=replace(ROLE, producer_check_ms=3_600_000))
    sender = Sender(orders)
    sender.send(0)
    began_ms = sender.now_ms
    for broker in IDS:
        if is_clean:
            orders.world.stop(broker)
        else:
            orders.world.kill(broker)
    sender.until(began_ms + SILENT_MS)
    for broker in IDS:
        orders.world.start(broker)
    orders.world.until(lambda: orders.state.leader >= 0, "one leads")
    orders.whole()
    assert sender.logged() == [0, 0, 0]
    assert not sender.is_known()


def test_a_forgotten_producer_is_in_no_snapshot_from_then_on() -> None:
    orders = Orders(role=ROLE)
    sender = Sender(orders)
    sender.send(0)
    orders.world.run_ms(SILENT_MS + CHECK_MS)
    orders.produced(1)
    (broker, *_) = orders.others(orders.state.leader)
    log = orders.log(broker)
    orders.world.stop(broker)
    assert log.states.offsets == [2]
    taken = decode_producers(log.disk.read_all(f"{log.directory}/{snapshot_name(Offset(2))}"))
    assert len(taken) == 0


def test_some_logs_are_looked_at_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than have so many producers, or are so many themselves."""
    first = SteppedBroker(partitions=3)
    sent = with_header(timed_batch(0), producer_id=7, producer_epoch=0, base_sequence=0)
    sent = with_header(sent, leader_epoch=0)
    for name, log in first.replicas.items():
        perform(AppendBatches(log=name, data=sent), log)
    broker = SteppedBroker(partitions=3, disk=first.disk)
    assert all(len(log.producers) == 1 for log in broker.replicas.values())
    monkeypatch.setattr(producers, "PRODUCERS_AT_ONCE", 5 * LOG_AS_PRODUCERS)
    broker.now_ns = 2 * 24 * 3_600_000 * MS
    looked_at: list[int] = []
    for _ in range(10):
        broker.elapse()
        looked_at += [
            len(each.logs) for each in broker.effects if isinstance(each, ForgetProducers)
        ]
    assert looked_at == [5] * 6 + [1]
    assert all(len(log.producers) == 0 for log in broker.replicas.values())
