"""A broker flushes its logs some a step, and only those that are not durable."""

from node.effects import (
    AppendBatches,
    Effect,
    FlushLog,
    LogFlushed,
    SaveCleanShutdown,
    ShutdownRequested,
)
from node.ids import LogId, Offset
from node.storage.log import perform
from tests.support.batches import batch
from tests.support.stepped_broker import SteppedBroker

PARTITIONS = 20  # of each of ten topics, beside that of __consumer_offsets
ALL = 10 * PARTITIONS + 1


def flushed(effects: list[Effect]) -> list[LogId]:
    return [each.log for each in effects if isinstance(each, FlushLog)]


def test_it_flushes_some_logs_a_step_and_vouches_for_all_of_them() -> None:
    broker = SteppedBroker(partitions=PARTITIONS)
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
    written = LogId("topic-0-0")
    perform(AppendBatches(log=written, data=batch(0, epoch=0)), first.replicas[written])
    assert len(flushed(first.shut_down())) == ALL
    again = SteppedBroker(partitions=PARTITIONS, disk=first.disk)
    assert again.replicas[written].next_offset == Offset(1)
    other = LogId("topic-1-1")
    perform(AppendBatches(log=other, data=batch(0, epoch=0)), again.replicas[other])
    assert flushed(again.shut_down()) == [other]
