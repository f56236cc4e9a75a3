"""What lies below a log's recovery point is not read at a start, and what is found by that is what
reading all of it finds: wherever the power went, also while the point itself was written."""

from copy import deepcopy
from random import Random
from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from node.ids import LogId, Offset
from node.records.batch import HEADER_SIZE
from node.storage.checkpoints import RECOVERY_POINTS, load_offsets
from node.storage.log_directories import INDEX_CHECKSUMS, PartitionLogs
from node.storage.partition_log import PartitionLog
from node.storage.segment import segment_name
from tests.node.storage.test_producer_states import sent, told
from tests.support.power import PowerCut, Powered
from tests.support.segments import by_size, new_log

NAME, OTHER = LogId("orders-3"), LogId("orders-4")
LIMITS = by_size(600, 100)
RUNS, LIVES = 8, 3  # of each part


def opened(power: Powered) -> PartitionLogs:
    return PartitionLogs.open(power.disk, LIMITS)


def seen(log: PartitionLog) -> list[object]:
    """All that can be asked of it."""
    kept = [each.base_offset for each in log.headers() if each.next_offset > log.start]
    batches = [log.read(max(base, log.start), 1) for base in kept]
    times = [log.first_at(time_ms, log.next_offset) for time_ms in range(0, 40, 3)]
    return [
        log.start,
        log.next_offset,
        (log.epochs.epochs, log.epochs.starts),
        [each.base for each in log.segments],
        batches,
        times,
        told(log.producers),
    ]


class Writer:
    """Does what a replica may do to its log, until the power fails."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.power = Powered()
        self.logs = opened(self.power)
        for name in (NAME, OTHER):
            self.logs.create([new_log(name, UUID(int=7), limits=self.logs.limits)])
        self.epoch = 0

    def work(self) -> None:
        self.power.steps_left = self.rng.randint(10, 400)
        try:
            while True:
                self._do(self.rng.choice((NAME, NAME, OTHER)))
        except PowerCut:
            self.power.filesystem.close_all()

    def _do(self, name: LogId) -> None:
        rng = self.rng
        if name not in self.logs:  # the power went as it was made anew
            self.logs.create([new_log(name, UUID(int=7), limits=self.logs.limits)])
        log = self.logs[name]
        match rng.randrange(14):
            case 0:
                self.logs.save_recovery_points()
            case 1:
                log.flush()
            case 2:
                bases = [each.base_offset for each in log.headers()]
                kept = [each for each in bases if each >= log.start]
                log.truncate(rng.choice([*kept[-12:], log.next_offset]))
            case 3 if rng.random() < 0.4:
                self.logs.raise_starts({name: Offset(rng.randint(log.start, log.next_offset))})
            case 4 if rng.random() < 0.2:
                self.logs.restart(name, Offset(rng.randint(0, log.next_offset + 20)))
            case 5 if rng.random() < 0.2:
                self.logs.create([new_log(name, UUID(int=8), limits=self.logs.limits)])
            case 6:
                self.epoch += 1
            case _:
                for _ in range(rng.randint(1, 4)):
                    self._append(log)

    def _append(self, log: PartitionLog) -> None:
        base, records = int(log.next_offset), self.rng.randint(1, 3)
        data = sent(base, records, self.rng.choice((-1, 1, 2)), 0, base)
        epoch = max(self.epoch, log.epochs.latest())
        log.append(data[:12] + epoch.to_bytes(4, "big") + data[16:])


@pytest.mark.parametrize("mode", PowerCutMode)
@pytest.mark.parametrize("part", range(3))
def test_what_is_found_is_what_reading_all_of_it_finds(mode: PowerCutMode, part: int) -> None:
    used = 0
    for run in range(RUNS):
        writer = Writer(1000 * part + run)
        for life in range(LIVES):
            writer.work()
            writer.power.power_off(mode, Random(run * 10 + life))
            reader = deepcopy(writer.power)
            for name in (RECOVERY_POINTS, INDEX_CHECKSUMS):
                if reader.disk.exists(name):
                    reader.disk.remove(name)
            whole = opened(reader)
            points = load_offsets(writer.power.disk, RECOVERY_POINTS)
            writer.logs = opened(writer.power)
            assert writer.logs.keys() == whole.keys()
            for name, log in writer.logs.items():
                assert seen(log) == seen(whole[name]), f"run {part}.{run}, life {life}, {name}"
                bases = [each.base for each in log.segments[1:]]
                used += sum(base <= points.get(name, 0) for base in bases)
            assert not writer.logs.take_reindexed()
    assert used > 20, "hardly a segment lay below a recovery point"


def filled() -> Powered:
    """Some segments, the indexes of which are written down; the last one has records behind."""
    power = Powered()
    logs = opened(power)
    logs.create([new_log(NAME, UUID(int=7), limits=logs.limits)])
    for base in range(60):
        logs[NAME].append(sent(base, 1, 1, 0, base))
    logs.save_recovery_points()
    power.filesystem.close_all()
    return power


@pytest.mark.parametrize("is_known", [True, False])
def test_what_lies_below_is_not_read(is_known: bool) -> None:
    """As in Kafka rot there is found by whoever reads it, and not at the start."""
    power = filled()
    path = f"{NAME}/{segment_name(Offset(0))}"
    data = bytearray(power.disk.read_all(path))
    data[len(sent(0, 1, 1, 0, 0)) + HEADER_SIZE] ^= 1  # in a record of the second batch
    power.disk.put(path, bytes(data))
    if not is_known:
        power.disk.remove(RECOVERY_POINTS)
    log = opened(power)[NAME]
    assert (log.next_offset, log.cut_bytes > 0) == ((60, False) if is_known else (1, True))


@pytest.mark.parametrize("gone", [RECOVERY_POINTS, INDEX_CHECKSUMS])
def test_without_either_file_all_is_read(gone: str) -> None:
    power = filled()
    before = seen(opened(deepcopy(power))[NAME])
    power.disk.remove(gone)
    assert seen(opened(power)[NAME]) == before


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        b"7\n1\norders 3 40\n",
        b"0\n2\norders 3 40\n",
        b"0\n1\norders 3 40",
        b"0\n1\norders 3 4x\n",
        b"0\n1\norders 3 -5\n",
        b"0\n1\norders 3 9999\n",
        b"0\n1\norders 3 99999999999999999999999\n",
        b"0\n1\norders 99999999999999999999999 4\n",
        b"0\n2\norders 3 40\norders 3 7\n",
    ],
)
def test_whatever_the_file_holds_a_sound_log_is_found_whole(text: bytes) -> None:
    power = filled()
    before = seen(opened(deepcopy(power))[NAME])
    power.disk.put(RECOVERY_POINTS, text)
    assert seen(opened(power)[NAME]) == before


def test_it_is_lowered_before_a_log_is_cut() -> None:
    power = filled()
    logs = opened(power)
    before = load_offsets(power.disk, RECOVERY_POINTS)[NAME]
    logs[NAME].truncate(Offset(before - 10))
    assert load_offsets(power.disk, RECOVERY_POINTS)[NAME] == logs[NAME].segments[-1].base
    logs.restart(NAME, Offset(5))
    assert load_offsets(power.disk, RECOVERY_POINTS).get(NAME, 0) == 0
