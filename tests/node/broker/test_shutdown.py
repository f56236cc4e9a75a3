"""A broker flushes its logs some a step, and only those that are not durable."""

from node.broker.lifecycle import LifeState
from node.effects import (
    AppendBatches,
    Effect,
    FlushLog,
    LogFlushed,
    SaveCleanShutdown,
    ShutdownRequested,
)
from node.ids import NEVER_NS, LogId, Offset
from node.storage.log import perform
from node.wire.registration import BrokerHeartbeatResponse
from tests.support.batches import batch
from tests.support.stepped_broker import SteppedBroker

PARTITIONS = 20  # of each of ten topics, beside that of __consumer_offsets
ALL = 10 * PARTITIONS + 1


def flushed(effects: list[Effect]) -> list[LogId]:
    return [each.log for each in effects if isinstance(each, FlushLog)]


def written_to(broker: SteppedBroker, *logs: LogId) -> None:
    for log in logs:
        perform(AppendBatches(log=log, data=batch(0, epoch=0)), broker.replicas[log])


def test_it_flushes_some_logs_a_step_and_vouches_for_all_of_them() -> None:
    broker = SteppedBroker(partitions=PARTITIONS)
    written_to(broker, *broker.replicas)
    widths: list[int] = []
    broker.step(ShutdownRequested())
    while not any(isinstance(each, SaveCleanShutdown) for each in broker.effects):
        logs = flushed(broker.effects)
        if not logs:
            broker.elapse()
            continue
        widths.append(len(logs))
        for log in logs:
            broker.now_ns += 50_000_000  # a slow disk: two flushes are a long step
            broker.step(LogFlushed(log=log, end=broker.replicas[log].flush()))
            assert not flushed(broker.effects), "others are served before it goes on"
    assert sum(widths) == ALL
    assert max(widths) <= 4
    assert all(log.flushed for log in broker.replicas.values())


def test_what_is_durable_already_is_not_flushed_again() -> None:
    """After a clean start only what was written since: ten thousand logs, most of them at rest, are
    no work for the disk."""
    first = SteppedBroker(partitions=PARTITIONS)
    first.node.core.role.lifecycle.epoch = 7
    written_to(first, *first.replicas)
    assert len(flushed(first.shut_down())) == ALL
    again = SteppedBroker(partitions=PARTITIONS, disk=first.disk)
    other = LogId("topic-1-1")
    assert again.replicas[other].next_offset == Offset(1)
    perform(AppendBatches(log=other, data=batch(1, epoch=0)), again.replicas[other])
    assert flushed(again.shut_down()) == [other]


def test_a_log_without_a_record_is_durable_since_it_was_made() -> None:
    """Also after a kill: ten thousand new partitions are no work for the disk."""
    first = SteppedBroker(partitions=PARTITIONS)
    written = LogId("topic-0-0")
    written_to(first, written)
    assert not first.replicas[written].flushed
    killed = SteppedBroker(partitions=PARTITIONS, disk=first.disk)
    assert killed.replicas[written].next_offset == Offset(1)
    assert flushed(killed.shut_down()) == [written]


def test_a_released_broker_sends_no_heartbeat() -> None:
    """The controller has fenced it, and one more heartbeat would unfence it while it flushes."""
    broker = SteppedBroker(partitions=1)
    life = broker.node.core.role.lifecycle
    life.epoch, life.state = 7, LifeState.PENDING_CONTROLLED_SHUTDOWN
    told = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True, should_shut_down=True)
    life._heard(told, broker.now_ns)
    assert life.state is LifeState.SHUTTING_DOWN
    assert life.deadline_ns() == NEVER_NS
