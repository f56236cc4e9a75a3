"""Logs with sparse indexes answer as a model that looks at every batch, whatever became of them."""

from collections.abc import Callable
from random import Random
from uuid import UUID

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.ids import Epoch, LogId, Offset
from node.records.batch import BatchHeader, read_header, split_batches
from node.storage.checkpoints import take_clean_shutdown
from node.storage.log_directories import INDEX_CHECKSUMS, PartitionLogs
from node.storage.partition_log import PartitionLog
from tests.support.batches import batch
from tests.support.power import new_disk
from tests.support.segments import by_size, new_log

NAME = LogId("orders-3")
TIMES = (-5, -1, 0, 1, 2, 3, 5, 8, 13)
Damage = Callable[[bytes, Random], bytes]


def an_entry_short(data: bytes, rng: Random) -> bytes:
    return data[: -rng.choice([8, 12, 24])]


def torn(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(max(1, len(data)))]


def zeros(data: bytes, rng: Random) -> bytes:
    del rng
    return bytes(len(data))


def another_bit(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def longer(data: bytes, rng: Random) -> bytes:
    return data + rng.randbytes(rng.choice([8, 12, 24]))


DAMAGES: tuple[Damage, ...] = (an_entry_short, torn, zeros, another_bit, longer)


class Model:
    """Every batch, one after the other."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start = self.end = Offset(0)
        self.epoch = 1

    @property
    def headers(self) -> list[BatchHeader]:
        """Of batches that are not deleted."""
        found = [read_header(data) for data in self.batches]
        return [header for header in found if header.next_offset > self.start]

    def append(self, rng: Random) -> bytes:
        self.epoch += rng.random() < 0.2
        data = b""
        for _ in range(rng.randint(1, 4)):
            records, time_ms = rng.randint(1, 4), rng.choice(TIMES)
            size = rng.choice([0, 0, 150])
            one = batch(self.end, self.epoch, records, size=size, timestamp_ms=time_ms)
            self.batches.append(one)
            self.end = Offset(self.end + records)
            data += one
        return data

    def truncate(self, rng: Random) -> Offset:
        ends = [self.end, *(each.base_offset for each in self.headers)]
        end = rng.choice([each for each in ends if each >= self.start])
        self.batches = [data for data in self.batches if read_header(data).base_offset < end]
        self.end = end
        return end

    def raise_start(self, rng: Random) -> Offset:
        self.start = Offset(rng.randint(self.start, self.end))
        return self.start


class Compared:
    """A log on a disk, and the model of it."""

    def __init__(self, rng: Random, segment_bytes: int, interval: int) -> None:
        self.rng = rng
        self.limits = by_size(segment_bytes, interval)
        self.disk = new_disk()
        self.model = Model()
        self.logs = PartitionLogs.open(self.disk, self.limits)
        self.logs.create([new_log(NAME, UUID(int=77), limits=self.logs.limits)])

    @property
    def log(self) -> PartitionLog:
        return self.logs[NAME]

    def append(self) -> None:
        self.log.append(self.model.append(self.rng))

    def truncate(self) -> None:
        self.log.truncate(self.model.truncate(self.rng))

    def raise_start(self) -> None:
        self.logs.raise_starts({NAME: self.model.raise_start(self.rng)})

    def kill(self) -> None:
        """And start again: nothing is vouched for, and nothing is to be told."""
        self.log.close()
        assert take_clean_shutdown(self.disk) == -1
        self.logs = PartitionLogs.open(self.disk, self.limits)
        assert self.logs.take_reindexed() == []

    def stop(self) -> None:
        """In good order, and start again."""
        self.shut_down()
        self.start()
        assert self.logs.take_reindexed() == []

    def shut_down(self) -> None:
        self.log.flush()
        self.logs.save_clean_shutdown(42)
        self.log.close()

    def start(self) -> None:
        assert take_clean_shutdown(self.disk) == 42
        self.logs = PartitionLogs.open(self.disk, self.limits, clean=True)
        assert self.logs.cut_bytes == 0

    def damage(self) -> None:
        """Of a stopped one, one index: it is made anew, and that is told."""
        self.shut_down()
        full = [segment.path for segment in self.log.segments if segment.size]
        paths = (f"{NAME}/{name}" for name in self.disk.names(NAME) if name.endswith("index"))
        names = [path for path in paths if f"{path.partition('.')[0]}.log" in full]
        damaged = None
        if names:
            damaged = self.rng.choice(names)
            before = self.disk.read_all(damaged)
            after = self.rng.choice(DAMAGES)(before, self.rng)
            if self.rng.random() < 0.2:
                self.disk.remove(damaged)
            elif after != before:
                self.disk.replace(damaged, after)
            else:
                damaged = None
        self.start()
        told = [each.segment for each in self.logs.take_reindexed()]
        assert told == ([] if damaged is None else [f"{damaged.partition('.')[0]}.log"])

    def lose_the_checksums(self) -> None:
        self.shut_down()
        text = self.disk.read_all(INDEX_CHECKSUMS)
        self.disk.replace(INDEX_CHECKSUMS, torn(text, self.rng))
        self.start()

    def check(self) -> None:
        log, model, headers = self.log, self.model, self.model.headers
        assert (log.start, log.next_offset) == (model.start, model.end)
        assert [each for each in log.headers() if each.next_offset > log.start] == headers
        for header in headers:
            at = max(header.base_offset, log.start)
            assert log.end_of_epoch(header.leader_epoch).epoch == header.leader_epoch
            assert log.epochs.at(at) == header.leader_epoch
        limit = Offset(self.rng.randint(0, model.end + 1))
        told = [each for each in headers if each.next_offset <= limit]
        for time_ms in range(15):
            first = next((each for each in headers if each.max_timestamp_ms >= time_ms), None)
            assert log.first_at(time_ms, limit) == (first if first in told else None)
        timed = [each.max_timestamp_ms for each in told if each.max_timestamp_ms >= 0]
        assert log.latest_ms(limit) == max(timed, default=None)
        self.check_reads(headers, limit)

    def check_reads(self, headers: list[BatchHeader], limit: Offset) -> None:
        whole = {read_header(data).base_offset: data for data in self.model.batches}
        for header in headers:
            at = Offset(
                self.rng.randint(max(header.base_offset, self.log.start), header.last_offset)
            )
            max_bytes = self.rng.choice([0, 1, 150, 400, 2000])
            data = self.log.read_below(at, max_bytes, limit)
            assert len(data) == self.log.readable(at, max_bytes, limit)
            found = [each.header for each in split_batches(data)]
            assert data == b"".join(whole[each.base_offset] for each in found)
            if at >= limit or header.next_offset > limit:
                assert data == b""
                continue
            assert found[0] == header
            assert found[-1].next_offset <= limit
            assert len(found) == 1 or len(data) <= max_bytes
            self.check_full(found, at, max_bytes, limit)

    def check_full(
        self, found: list[BatchHeader], at: Offset, max_bytes: int, limit: Offset
    ) -> None:
        """No further batch would have fitted, in that segment."""
        following = found[-1].next_offset
        bases = [segment.base for segment in self.log.segments]
        if following == self.log.next_offset or following in bases:
            return
        read = self.log.read_below(following, 0, Offset(limit))
        size = sum(each.size for each in found)
        assert not read or size + len(read) > max_bytes, f"at {at} and {following}"


ACTS = (
    *(Compared.append,) * 5,
    Compared.truncate,
    Compared.raise_start,
    Compared.kill,
    Compared.stop,
    Compared.damage,
    Compared.lose_the_checksums,
)


@given(
    seed=st.integers(0, 1 << 32),
    segment_bytes=st.sampled_from([1, 900, 1 << 20]),
    interval=st.sampled_from([0, 150, 500, 4096]),
)
def test_lookups_are_those_of_a_scan(seed: int, segment_bytes: int, interval: int) -> None:
    compared = Compared(Random(seed), segment_bytes, interval)
    for _ in range(12):
        compared.rng.choice(ACTS)(compared)
        compared.check()


def filled(batches: int = 60) -> Compared:
    """In one segment, with an entry each other batch."""
    compared = Compared(Random(1), 1 << 20, 100)
    for number in range(batches):
        data = batch(compared.model.end, 1, 1, timestamp_ms=number)
        compared.model.batches.append(data)
        compared.model.end = Offset(compared.model.end + 1)
        compared.log.append(data)
    return compared


def test_the_files_are_kafkas() -> None:
    """By what `LogSegment.append` writes: the last offset and the position of a batch that begins
    more than an interval behind the one before, and the latest time until then."""
    compared = filled()
    compared.shut_down()
    path = f"{NAME}/00000000000000000000"
    log = compared.disk.read_all(f"{path}.log")
    index = compared.disk.read_all(f"{path}.index")
    entries = [
        (int.from_bytes(index[at : at + 4], "big"), int.from_bytes(index[at + 4 : at + 8], "big"))
        for at in range(0, len(index), 8)
    ]
    positions = [0, *(position for _, position in entries)]
    assert entries
    for (last, position), before in zip(entries, positions, strict=False):
        header = read_header(log, position)
        assert header.last_offset == last
        assert 100 < position - before <= 100 + header.size
    times = compared.disk.read_all(f"{path}.timeindex")
    told = [
        (int.from_bytes(times[at : at + 8], "big"), int.from_bytes(times[at + 8 : at + 12], "big"))
        for at in range(0, len(times), 12)
    ]
    assert told == [*((last, last) for last, _ in entries), (59, 59)][: len(told)]
    assert told[-1] == (59, 59)


def test_memory_is_of_entries_and_not_of_batches() -> None:
    """Beside them only the batches of the last interval are known one by one."""
    compared = filled(600)
    index = compared.log.segments[0].index
    assert len(index.offsets.lasts) < 600 / 2 + 1
    compared.log.limit(by_size(1 << 20, 1 << 20))
    compared.log.truncate(Offset(0))
    assert len(index.offsets.lasts) == len(index.times.times) == 0


def test_after_a_clean_stop_nothing_but_the_ends_of_segments_is_read() -> None:
    compared = Compared(Random(3), 3000, 200)
    for _ in range(60):
        compared.append()
    compared.shut_down()
    log = compared.disk.read_all(f"{NAME}/00000000000000000000.log")
    middle = len(log) // 2
    compared.disk.replace(
        f"{NAME}/00000000000000000000.log", log[:middle] + b"rot" + log[middle + 3 :]
    )
    compared.start()
    assert compared.logs.take_reindexed() == []
    assert compared.log.next_offset == compared.model.end


@pytest.mark.parametrize("lie", [(1, 0), (0, 1)])
def test_an_entry_that_names_another_batch_is_not_believed(lie: tuple[int, int]) -> None:
    """Though it was vouched for: what it leads to is looked at, and the index is made anew."""
    compared = filled()
    index = compared.log.segments[0].index
    index.offsets.lasts[5] += lie[0]
    index.offsets.positions[5] += lie[1]
    compared.check()
    ((segment, reason),) = compared.logs.take_reindexed()
    assert segment == f"{NAME}/00000000000000000000.log"
    assert "byte" in reason
    compared.check()
    assert compared.logs.take_reindexed() == []


def test_where_the_file_of_epochs_disagrees_batches_are_read() -> None:
    compared = filled()
    compared.shut_down()
    compared.disk.replace(f"{NAME}/leader-epoch-checkpoint", b"0\n1\n2 0\n")
    compared.start()
    ((_, reason),) = compared.logs.take_reindexed()
    assert "leader-epoch-checkpoint" in reason
    assert (compared.log.epochs.epochs, compared.log.epochs.starts) == ([Epoch(1)], [Offset(0)])


def test_a_segment_ends_where_offsets_do_not_fit_its_index() -> None:
    compared = Compared(Random(1), 1 << 20, 4096)
    log = compared.log
    wide = batch(0, 1)
    most = (2**31 - 1).to_bytes(4, "big")
    log.append(with_last_delta(wide, most))
    log.append(batch(log.next_offset, 1))
    assert [segment.base for segment in log.segments] == [0, 2**31]


def with_last_delta(data: bytes, delta: bytes) -> bytes:
    covered = data[21:23] + delta + data[27:]
    return data[:17] + crc32c.crc32c(covered).to_bytes(4, "big") + covered


def test_indexes_go_with_their_segment() -> None:
    """Also where that went and they did not."""
    compared = Compared(Random(3), 1, 0)
    for _ in range(5):
        compared.append()
    compared.model.start = compared.model.end
    compared.logs.raise_starts({NAME: compared.model.end})
    left = [name for name in compared.disk.names(NAME) if name.endswith("index")]
    assert left == []
    orphan = f"{NAME}/{3:020}.index"
    compared.disk.put(orphan, b"12345678")
    compared.stop()
    assert not compared.disk.exists(orphan)
    compared.check()
