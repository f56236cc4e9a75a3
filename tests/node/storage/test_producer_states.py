"""Idempotent producers of a log that is cut, rolled, deleted from, killed and started again, beside
a model that remembers every batch; and the files that tell of them."""

from random import Random
from struct import unpack_from
from uuid import UUID

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.cluster.interface import PowerCutMode
from node.ids import LogId, Offset
from node.records.batch import BatchHeader, read_header
from node.storage import producers
from node.storage.checkpoints import take_clean_shutdown
from node.storage.log_directories import PartitionLogs
from node.storage.partition_log import PartitionLog
from node.storage.partition_segment import PartitionSegment
from node.storage.producers import (
    SNAPSHOT,
    KnownProducers,
    decode_producers,
    encode_producers,
    snapshot_name,
)
from tests.support.power import PowerCut, Powered, new_disk
from tests.support.segments import by_size, new_log
from workloads.wire.batch import Identity, encode_batch

NAME = LogId("orders-3")
Told = dict[int, tuple[int, list[tuple[int, int, int]]]]


def sent(base: int, records: int, producer: int, epoch: int, sequence: int) -> bytes:
    """As a leader appends what that producer sent; -1 is none."""
    identity = Identity(producer_id=producer, epoch=epoch, sequence=sequence)
    data = encode_batch(base, records, 16, identity)
    return base.to_bytes(8, "big") + data[8:12] + bytes(4) + data[16:]


def told(producers: KnownProducers) -> Told:
    return {
        id_: (each.epoch, [(known.first, known.base, known.end) for known in each.batches])
        for id_, each in producers
    }


class Model:
    """Of each batch its header; what is told of its producers follows from all of them."""

    def __init__(self) -> None:
        self.headers: list[BatchHeader] = []
        self.end = 0

    def told(self) -> Told:
        known = KnownProducers()
        for header in self.headers:
            known.appended(header)
        return told(known)

    def next(self, rng: Random) -> bytes:
        producer, records = rng.choice([-1, 1, 2, 3]), rng.randint(1, 3)
        mine = [each for each in self.headers if each.producer_id == producer]
        epoch = mine[-1].producer_epoch if mine else 0
        sequence = mine[-1].base_sequence + mine[-1].record_count if mine else 0
        if rng.random() < 0.1:
            epoch, sequence = epoch + 1, 0
        if producer < 0:
            epoch, sequence = -1, -1
        data = sent(self.end, records, producer, epoch, sequence)
        self.headers.append(read_header(data))
        self.end += records
        return data

    def cut(self, end: int) -> None:
        self.headers = [each for each in self.headers if each.base_offset < end]
        self.end = end


class Compared:
    def __init__(self, rng: Random, segment_bytes: int) -> None:
        self.rng, self.disk, self.model = rng, new_disk(), Model()
        self.limits = by_size(segment_bytes, 200)
        self.logs = PartitionLogs.open(self.disk, self.limits)
        self.logs.create([new_log(NAME, UUID(int=77), limits=self.logs.limits)])

    @property
    def log(self) -> PartitionLog:
        return self.logs[NAME]

    def append(self) -> None:
        for _ in range(self.rng.randint(1, 5)):
            self.log.append(self.model.next(self.rng))

    def truncate(self) -> None:
        bases = [each.base_offset for each in self.model.headers] + [Offset(self.model.end)]
        end = self.rng.choice([each for each in bases if each >= self.log.start])
        self.model.cut(end)
        self.log.truncate(Offset(end))

    def raise_start(self) -> None:
        """What is deleted is remembered."""
        log = self.log
        self.logs.raise_starts({NAME: Offset(self.rng.randint(log.start, log.next_offset))})

    def kill(self) -> None:
        self.log.close()
        assert take_clean_shutdown(self.disk) == -1
        self.logs = PartitionLogs.open(self.disk, self.limits)

    def stop(self) -> None:
        self.shut_down()
        self.start()

    def spoil(self) -> None:
        """The newest snapshot of a stopped one, where the log has the batches behind another."""
        self.shut_down()
        first = self.log.segments[0].base
        kept = [name for name in self.snapshots() if name > snapshot_name(first)]
        if kept:
            path = f"{NAME}/{max(kept)}"
            data = bytearray(self.disk.read_all(path))
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
            self.disk.replace(path, bytes(data))
        self.start()

    def shut_down(self) -> None:
        self.log.flush()
        self.logs.save_clean_shutdown(42)
        self.log.close()

    def start(self) -> None:
        assert take_clean_shutdown(self.disk) == 42
        self.logs = PartitionLogs.open(self.disk, self.limits, clean=True)
        assert self.logs.cut_bytes == 0

    def snapshots(self) -> list[str]:
        return [name for name in self.disk.names(NAME) if name.endswith(SNAPSHOT)]

    def check(self) -> None:
        log = self.log
        assert log.next_offset == self.model.end
        assert told(log.producers) == self.model.told()
        names = self.snapshots()
        assert names == [snapshot_name(each) for each in log.states.offsets]
        first, end = snapshot_name(log.segments[0].base), snapshot_name(log.next_offset)
        assert all(first <= name <= end for name in names)


ACTS = (
    *(Compared.append,) * 5,
    Compared.truncate,
    Compared.truncate,
    Compared.raise_start,
    Compared.kill,
    Compared.stop,
    Compared.spoil,
)


@given(
    seed=st.integers(0, 1 << 32),
    segment_bytes=st.sampled_from([1, 700, 1 << 20]),
    most=st.sampled_from([1, 4, 50_000]),
)
def test_producers_are_those_of_all_batches(seed: int, segment_bytes: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producers, "MAX_BATCHES", most)
        compared = Compared(Random(seed), segment_bytes)
        for _ in range(12):
            compared.rng.choice(ACTS)(compared)
            compared.check()


@pytest.mark.parametrize("mode", list(PowerCutMode))
@pytest.mark.parametrize("seed", range(15))
def test_after_a_power_cut_they_are_those_of_what_is_left(mode: PowerCutMode, seed: int) -> None:
    """Wherever it comes in what is done: the log, cut where it may be, and its snapshots agree."""
    rng, power = Random(seed), Powered()
    compared = Compared(rng, 700)
    compared.disk = power.disk
    compared.logs = PartitionLogs.open(power.disk, compared.limits)
    compared.logs.create([new_log(NAME, UUID(int=77), limits=compared.logs.limits)])
    power.steps_left = rng.randrange(10, 120)
    written: list[BatchHeader] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producers, "MAX_BATCHES", 3)
        try:
            for _ in range(40):
                written = [*compared.model.headers]
                rng.choice((*(Compared.append,) * 4, Compared.truncate))(compared)
        except PowerCut:
            written = max(written, compared.model.headers, key=len)
    power.power_off(mode, rng)
    compared.logs = PartitionLogs.open(power.disk, compared.limits)
    left = [each for each in written if each.base_offset < compared.log.next_offset]
    assert [each.crc for each in compared.log.headers()] == [each.crc for each in left]
    compared.model.headers, compared.model.end = left, compared.log.next_offset
    compared.check()


def many(monkeypatch: pytest.MonkeyPatch, batches: int = 200) -> tuple[Compared, list[int]]:
    """Of one producer, in one segment; and how many headers were read since."""
    compared, read = Compared(Random(1), 1 << 20), list[int]()
    for number in range(batches):
        data = sent(number, 1, 7, 0, number)
        compared.model.headers.append(read_header(data))
        compared.model.end += 1
        compared.log.append(data)
    headers = PartitionSegment.headers

    def counted(self: PartitionSegment, start: Offset) -> list[BatchHeader]:
        found = list(headers(self, start))
        read.append(len(found))
        return found

    monkeypatch.setattr(PartitionSegment, "headers", counted)
    return compared, read


def test_after_a_clean_stop_no_header_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    compared, read = many(monkeypatch)
    compared.stop()
    compared.check()
    assert sum(read) == 0


def test_after_a_cut_no_more_is_read_than_lies_behind_a_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producers, "MAX_BATCHES", 20)
    compared, read = many(monkeypatch)
    compared.model.cut(150)
    compared.log.truncate(Offset(150))
    assert 0 < sum(read) <= 20 + 200 - 150  # a segment reads on to its end unless it is told
    compared.check()


def test_a_cut_behind_all_that_producers_sent_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared, read = many(monkeypatch)
    plain = sent(200, 1, -1, -1, -1)
    compared.log.append(plain)
    compared.log.truncate(Offset(200))
    assert read == []
    compared.check()


def test_what_former_lives_left_within_a_segment_does_not_pile_up() -> None:
    compared = Compared(Random(1), 1 << 20)
    for _ in range(10):
        compared.append()
        compared.stop()
    assert len(compared.snapshots()) <= 3


def test_of_a_damaged_log_that_is_cut_nothing_is_told() -> None:
    """Nobody knows then what is in it: whoever asks is told that it is damaged."""
    compared = Compared(Random(1), 1 << 20)
    for _ in range(20):
        compared.append()
    (segment,) = compared.log.segments
    data = compared.disk.read_all(segment.path)
    compared.disk.replace(segment.path, bytes(100) + data[100:])
    segment.file = compared.disk.open(segment.path)
    cut = compared.model.headers[-1].base_offset
    compared.log.append(sent(compared.model.end, 1, 9, 0, 0))
    compared.log.truncate(cut)
    with pytest.raises(ValueError, match=segment.path):
        assert compared.log.producers


def test_the_file_is_kafkas() -> None:
    """By the schema of ProducerStateManager; `tests/support/kafka_disks.py` has the command that
    Apache Kafka reads it by."""
    known = KnownProducers()
    for number in range(7):
        known.appended(read_header(sent(10 * number, 2, 42, 3, 2 * number)))
    data = encode_producers(known)
    version, crc, count = unpack_from(">hIi", data)
    assert (version, count) == (1, 5)
    assert crc == crc32c.crc32c(data[6:])
    *_, newest = [unpack_from(">qhiqiqiq", data, 10 + 46 * row) for row in range(count)]
    assert newest[:5] == (42, 3, 13, 61, 1)
    assert newest[6:] == (-1, -1)
    assert len(data) == 10 + 46 * count
    assert told(decode_producers(data)) == told(known)


@pytest.mark.parametrize("cut", [0, 5, 9, 30])
def test_what_nobody_wrote_so_is_no_snapshot(cut: int) -> None:
    known = KnownProducers()
    known.appended(read_header(sent(0, 2, 42, 3, 0)))
    data = encode_producers(known)
    for wrong in (data[:cut], data + bytes(46), b"\0\2" + data[2:], data[:-1] + b"\1"):
        with pytest.raises(ValueError, match=r"snapshot|CRC|version|producers"):
            decode_producers(wrong)


def test_a_producer_that_was_silent_for_long_is_forgotten() -> None:
    known = KnownProducers()
    for producer, time_ms in ((1, 1000), (2, 1001), (3, -1)):
        header = read_header(sent(producer, 1, producer, 0, 0))
        known.appended(header._replace(max_timestamp_ms=time_ms))
    for wall_ms, left in ((1999, [1, 2, 3]), (2000, [2, 3]), (2001, [3]), (2998, [3]), (2999, [])):
        known.expire(wall_ms, 1000)
        assert list(told(known)) == left, "the third was silent since the first look"
