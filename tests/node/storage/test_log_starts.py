"""Logs that begin later than at 0: what a power cut leaves of them, at each step of the disk."""

from random import Random
from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from node.ids import Epoch, LogId, LogPosition, Offset
from node.storage.checkpoints import LOG_STARTS, LeaderEpochs
from node.storage.log_directories import PartitionLogs
from node.storage.partition_log import PartitionLog
from tests.support.batches import batch
from tests.support.power import PowerCut, Powered, new_disk
from tests.support.segments import by_size, new_log

NAME = LogId("orders-3")
SEGMENT = 300


def new_logs(segment_bytes: int = SEGMENT) -> PartitionLogs:
    logs = PartitionLogs.open(new_disk(), by_size(segment_bytes))
    logs.create([new_log(NAME, UUID(int=77), limits=logs.limits)])
    return logs


def fill(log: PartitionLog, *epochs: int) -> None:
    for epoch in epochs:
        log.append(batch(log.next_offset, epoch, 2))


def reopened(logs: PartitionLogs) -> PartitionLog:
    return PartitionLogs.open(logs.disk, logs.limits)[NAME]


def test_whole_segments_below_the_start_go() -> None:
    logs = new_logs(1)  # a batch each
    fill(logs[NAME], 1, 1, 2, 2)
    logs.raise_starts({NAME: Offset(5)})
    for log in (logs[NAME], reopened(logs)):
        assert [each.base for each in log.segments] == [4, 6]
        assert (log.start, log.end()) == (5, LogPosition(Epoch(2), Offset(8)))
        assert log.read(Offset(5), 1) == log.read(Offset(6 - 1), 1) != b""
        assert log.epochs == LeaderEpochs([Epoch(2)], [Offset(5)])


def test_of_a_log_without_records_the_last_epoch_is_known() -> None:
    logs = new_logs()
    fill(logs[NAME], 1, 4)
    logs.raise_starts({NAME: Offset(4)})
    for log in (logs[NAME], reopened(logs)):
        assert (log.start, log.end()) == (4, LogPosition(Epoch(4), Offset(4)))
        assert [segment.size for segment in log.segments] == [0]
    fill(logs[NAME], 6)
    assert reopened(logs).epochs == LeaderEpochs([Epoch(6)], [Offset(4)])


def test_a_log_that_ends_before_it_begins_is_dropped() -> None:
    """Its end was lost to the power after where it begins was written down."""
    logs = new_logs()
    fill(logs[NAME], 1, 1, 1)
    logs.disk.replace(LOG_STARTS, b"0\n1\norders 3 9\n")
    log = reopened(logs)
    assert (log.start, log.next_offset, list(log.headers())) == (9, 9, [])
    fill(log, 2)
    assert reopened(logs).next_offset == 11


@pytest.mark.parametrize("text", [b"", b"0\n1\norders 3 -1\n", b"\xff"])
def test_without_the_file_a_log_begins_with_its_first_segment(text: bytes) -> None:
    logs = new_logs(1)
    fill(logs[NAME], 1, 1, 2)
    logs.raise_starts({NAME: Offset(3)})
    logs.disk.replace(LOG_STARTS, text)
    assert reopened(logs).start == 2


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("seed", range(60))
def test_a_power_cut_at_any_step(mode: PowerCutMode, seed: int) -> None:
    """Where the log begins is as it was, or as it was to be; what is in it was written there."""
    rng = Random(seed)
    power = Powered()
    logs = PartitionLogs.open(power.disk, by_size(rng.choice([1, SEGMENT, 1 << 20])))
    logs.create([new_log(NAME, UUID(int=77), limits=logs.limits)])
    power.steps_left = rng.randrange(80)
    written: dict[Offset, bytes] = {}  # by the base of each batch
    may_begin = {Offset(0)}
    try:
        for epoch in range(1, 40):
            log = logs[NAME]
            wanted = change(rng, log)
            if wanted is None:
                data = batch(log.next_offset, epoch, 2)
                written[log.next_offset] = data
                log.append(data)
                continue
            may_begin = {log.start, wanted}
            if wanted <= log.next_offset:
                logs.raise_starts({NAME: wanted})
            else:
                logs.restart(NAME, wanted)
            may_begin = {wanted}
    except PowerCut:
        pass
    power.power_off(mode, rng)
    again = PartitionLogs.open(power.disk, logs.limits)[NAME]
    assert again.start in may_begin
    for header in again.headers():
        if header.base_offset >= again.start:
            assert again.read(header.base_offset, 1) == written[header.base_offset]
    fill(again, 50)
    assert again.end().epoch == 50


def change(rng: Random, log: PartitionLog) -> Offset | None:
    """Where to begin from now on, at the end of a batch; None: append."""
    if rng.random() < 0.7:
        return None
    if rng.random() < 0.3:
        return Offset(log.next_offset + rng.randrange(2, 9, 2))
    return Offset(rng.randrange(log.start, log.next_offset + 1, 2))
