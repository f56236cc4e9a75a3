"""Logs of partitions: what a power cut may take of them, and what vouches for them."""

from dataclasses import replace
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from node.ids import Epoch, LogId, LogPosition, Offset
from node.server.real_disk import RealDisk
from node.storage.checkpoints import save_clean_shutdown, take_clean_shutdown
from node.storage.disk import CorruptFile, Disk
from node.storage.log_directories import PartitionLogs
from node.storage.partition_log import PartitionLog
from node.storage.partition_recovery import NOTHING_VOUCHED
from tests.support.batches import batch
from tests.support.power import PowerCut, Powered, new_disk
from tests.support.segments import by_size, new_log

TOPIC = UUID(int=77)
DIRECTORY = "orders-3"


def made(disk: Disk, segment_bytes: int = 1 << 30) -> PartitionLog:
    disk.make_directory(DIRECTORY)
    return PartitionLog.create(disk, DIRECTORY, TOPIC, by_size(segment_bytes), [])


def fill(log: PartitionLog, *epochs: int) -> list[bytes]:
    batches = []
    for epoch in epochs:
        batches.append(batch(log.next_offset, epoch, 2))
        log.append(batches[-1])
    return batches


def reopened(disk: Disk, segment_bytes: int = 1 << 30) -> PartitionLog:
    limits = by_size(segment_bytes)
    return PartitionLog.open(disk, DIRECTORY, limits, Offset(0), NOTHING_VOUCHED, [])


def whole(log: PartitionLog) -> bytes:
    data, offset = b"", Offset(0)
    while offset < log.next_offset:
        piece = log.read(offset, 1)
        data += piece
        offset = Offset(offset + 2)
    return data


@pytest.mark.parametrize("segment_bytes", [1, 300, 1 << 30])
def test_what_was_appended_is_there_again(segment_bytes: int) -> None:
    disk = new_disk()
    log = made(disk, segment_bytes)
    batches = fill(log, 1, 1, 4, 5)
    log.flush()
    log.close()
    again = reopened(disk, segment_bytes)
    assert again.topic == TOPIC
    assert again.end() == LogPosition(Epoch(5), Offset(8))
    assert whole(again) == b"".join(batches)
    assert again.end_of_epoch(Epoch(3)) == LogPosition(Epoch(1), Offset(4))
    assert [header.base_offset for header in again.headers()] == [0, 2, 4, 6]
    assert again.cut_bytes == 0


@pytest.mark.parametrize("segment_bytes", [1, 300, 1 << 30])
@pytest.mark.parametrize("end", [0, 2, 6])
def test_it_is_cut_and_goes_on_with_another_epoch(segment_bytes: int, end: int) -> None:
    disk = new_disk()
    log = made(disk, segment_bytes)
    fill(log, 1, 1, 4, 5)
    log.truncate(Offset(end))
    fill(log, 6)
    log.close()
    again = reopened(disk, segment_bytes)
    assert again.end() == LogPosition(Epoch(6), Offset(end + 2))
    assert again.epochs == log.epochs


def test_recovery_cuts_at_the_first_batch_that_is_not_whole() -> None:
    """As Kafka's: also where sound ones follow, and in whole segments after it."""
    disk = new_disk()
    log = made(disk, 300)
    batches = fill(log, 1, 1, 1, 1, 1, 1)
    names = [name for name in disk.names(DIRECTORY) if name.endswith(".log")]
    assert len(names) > 2
    log.close()
    second = f"{DIRECTORY}/{names[1]}"
    disk.replace(second, bytes(20) + disk.read_all(second)[20:])
    again = reopened(disk, 300)
    first = again.next_offset
    assert 0 < first < 12
    assert whole(again) == b"".join(batches)[: len(whole(again))]
    assert again.cut_bytes > 0
    fill(again, 2)
    again.close()
    assert reopened(disk, 300).end() == LogPosition(Epoch(2), Offset(first + 2))


def test_a_batch_that_does_not_continue_is_cut() -> None:
    """The CRC covers neither offset nor epoch."""
    disk = new_disk()
    log = made(disk)
    fill(log, 3)
    log.segments[-1].file.append(batch(2, 1, 2))
    log.close()
    assert reopened(disk).end() == LogPosition(Epoch(3), Offset(2))


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("seed", range(30))
def test_a_power_cut_takes_of_the_end_alone(mode: PowerCutMode, seed: int) -> None:
    """What was flushed is there; what is there beyond that is what was written."""
    rng = Random(seed)
    power = Powered()
    log = made(power.disk, 600)
    written = b""
    for _ in range(rng.randrange(4)):
        written += b"".join(fill(log, 1, 1))
    log.flush()
    flushed = log.next_offset
    power.steps_left = rng.randrange(12)
    try:
        for epoch in range(2, 8):
            data = batch(log.next_offset, epoch, 2)
            written += data
            log.append(data)
    except PowerCut:
        pass
    power.power_off(mode, rng)
    again = reopened(power.disk, 600)
    assert again.next_offset >= flushed
    assert written.startswith(whole(again))


def test_of_a_directory_that_nobody_owns_nothing_is_kept() -> None:
    disk = new_disk()
    log = made(disk)
    fill(log, 1)
    log.remove()
    assert len(PartitionLogs.open(disk, by_size())) == 0
    disk.replace(f"{DIRECTORY}/00000000000000000000.log", batch(0, 1))
    assert made(disk).next_offset == 0


def test_a_broken_owner_is_refused() -> None:
    disk = new_disk()
    made(disk).close()
    disk.replace(f"{DIRECTORY}/partition.metadata", b"version: 1\ntopic_id: x")
    with pytest.raises(CorruptFile, match=r"orders-3/partition\.metadata"):
        PartitionLogs.open(disk, by_size())


def test_logs_are_found_made_and_removed_by_name() -> None:
    disk = new_disk()
    logs = PartitionLogs.open(disk, by_size())
    for name in ("orders-3", "a-b-10"):
        logs.create([new_log(LogId(name), TOPIC, limits=logs.limits)])
    fill(logs[LogId("orders-3")], 1)
    found = PartitionLogs.open(disk, by_size())
    assert list(found) == ["a-b-10", "orders-3"]
    assert found[LogId("orders-3")].next_offset == 2
    found.create([new_log(LogId("orders-3"), UUID(int=78), limits=found.limits)])
    assert found[LogId("orders-3")].next_offset == 0
    found.remove(LogId("a-b-10"))
    assert found.find(LogId("a-b-10")) is None
    assert list(PartitionLogs.open(disk, by_size())) == ["orders-3"]


def test_a_clean_shutdown_is_told_once() -> None:
    disk = new_disk()
    save_clean_shutdown(disk, 42)
    assert disk.read_all(".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":42}'
    assert take_clean_shutdown(disk) == 42
    assert take_clean_shutdown(disk) == -1


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"version":1,"brokerEpoch":4}', b"\xff", b"[]", b"[" * 2_000]
)
def test_what_cannot_be_read_vouches_for_nothing(text: bytes) -> None:
    disk = new_disk()
    disk.replace(".kafka_cleanshutdown", text)
    assert take_clean_shutdown(disk) == -1


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_whoever_shut_down_cleanly_has_all_that_it_wrote(mode: PowerCutMode) -> None:
    """At whichever step of a shutdown the power goes (X1: Kafka's file can outlive its logs, and
    the end of its time index): then the indexes are as they were left as well."""
    was_clean = False
    for steps in range(80):
        power, is_cut = Powered(), False
        logs = PartitionLogs.open(power.disk, by_size(400, 100))
        logs.create([new_log(LogId(DIRECTORY), TOPIC, limits=logs.limits)])
        fill(logs[LogId(DIRECTORY)], *[1] * 9, 2)
        power.steps_left = steps
        try:
            for log in logs:
                logs[log].flush()
            logs.save_clean_shutdown(42)
        except PowerCut:
            is_cut = True
        power.power_off(mode, Random(steps))
        is_clean = take_clean_shutdown(power.disk) == 42
        found = PartitionLogs.open(power.disk, logs.limits, clean=is_clean)
        assert is_clean or is_cut
        if is_clean:
            assert (found.cut_bytes, found.take_reindexed()) == (0, [])
            assert found[LogId(DIRECTORY)].next_offset == 20
        was_clean |= is_clean
    assert was_clean


def timed(log: PartitionLog, *timestamps_ms: int) -> None:
    for timestamp_ms in timestamps_ms:
        log.append(batch(log.next_offset, 1, 2, timestamp_ms=timestamp_ms))


def bases(log: PartitionLog) -> list[int]:
    return [segment.base for segment in log.segments]


def test_a_segment_ends_a_while_after_its_first_batch_as_their_timestamps_tell() -> None:
    """`LogSegment.shouldRoll`: not by the clock, and not from its newest batch on."""
    disk = new_disk()
    log = made(disk)
    log.limits = replace(by_size(), ms=100)
    timed(log, 1000, 500, 1100, 1101, 1150)
    assert bases(log) == [0, 6]
    timed(log, 1201)  # as long after the first of its own
    assert bases(log) == [0, 6]
    log.close()
    again = reopened(disk)
    again.limits = replace(by_size(), ms=100)
    timed(again, 1202)  # which a new process knows as well
    assert bases(again) == [0, 6, 12]


def test_without_timestamps_segments_go_by_size_alone() -> None:
    log = made(new_disk())
    log.limits = replace(by_size(), ms=1)
    timed(log, -1, 5000, -1)
    assert bases(log) == [0]


def test_a_segment_that_was_cut_to_nothing_has_another_first_batch() -> None:
    log = made(new_disk())
    log.limits = replace(by_size(), ms=100)
    timed(log, 1000, 1050)
    log.truncate(Offset(0))
    timed(log, 2000, 2100)
    assert bases(log) == [0]


def test_limits_of_one_log_are_no_others() -> None:
    logs = PartitionLogs.open(new_disk(), by_size())
    for name in ("orders-0", "orders-1"):
        logs.create([new_log(LogId(name), TOPIC, limits=logs.limits)])
    logs.limit_segments(LogId("orders-1"), by_size(1))
    for name in logs:
        fill(logs[name], 1, 1, 1)
    assert bases(logs[LogId("orders-0")]) == [0]
    assert bases(logs[LogId("orders-1")]) == [0, 2, 4]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_only_the_last_segment_holds_a_descriptor(tmp_path: Path) -> None:
    """Clients say when segments are rolled, by the times of their records."""
    before = open_files()
    log = made(RealDisk(tmp_path), segment_bytes=1)
    batches = fill(log, *[1] * 30)
    assert len(log.segments) == 30
    assert open_files() == before + 1
    again = reopened(RealDisk(tmp_path), segment_bytes=1)
    assert open_files() == before + 2
    again.close()
    log.truncate(Offset(20))
    assert open_files() == before + 1
    batches[10:] = fill(log, 2, 2)
    assert whole(log) == b"".join(batches)
    log.flush()
    log.close()
    assert open_files() == before
    assert whole(reopened(RealDisk(tmp_path), segment_bytes=1)) == b"".join(batches)
