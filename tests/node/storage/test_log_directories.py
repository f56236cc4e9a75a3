"""Several log directories as one, on a disk that forgets."""

import random
from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import DiskStep
from node.ids import Epoch, LogId, Offset
from node.records.batch import encode_batch
from node.storage.checkpoints import CLEAN_SHUTDOWN, HIGH_WATERMARKS, LOG_STARTS, load_offsets
from node.storage.disk import CorruptFile
from node.storage.log_directories import LogDirectories, LogDirectory
from tests.support.segments import by_size, new_log

ORDERS, BILLS = LogId("orders-0"), LogId("bills-0")
TOPIC, OTHER_TOPIC = UUID(int=7), UUID(int=8)
ONE, TWO = UUID(int=101), UUID(int=102)


class CutError(Exception):
    pass


class Disk:
    """One disk with two log directories on it."""

    def __init__(self) -> None:
        self.files = FileSystem(before=self._before)
        self.left = -1  # steps before the power fails
        for name in ("one", "two"):
            SimDisk(self.files).make_directory(name)

    def _before(self, _: DiskStep) -> None:
        if self.left == 0:
            raise CutError
        self.left -= 1

    def at(self, name: str) -> SimDisk:
        return SimDisk(self.files, name)

    def open(self) -> LogDirectories:
        directories = [
            LogDirectory(path=name, id=id_, disk=self.at(name))
            for name, id_ in (("one", ONE), ("two", TWO))
        ]
        return LogDirectories.open(directories, by_size())

    def cut(self, seed: int = 0, mode: PowerCutMode = PowerCutMode.LOSE_ALL) -> None:
        self.left = -1
        self.files.close_all()
        self.files.power_cut(mode, random.Random(seed))


def filled(disk: Disk) -> LogDirectories:
    """Three records in each of two logs, one in each directory."""
    logs = disk.open()
    for log, directory in ((ORDERS, ONE), (BILLS, TWO)):
        logs.create([new_log(log, TOPIC, directory)])
        for number in range(3):
            logs[log].append(record(number))
    return logs


def record(offset: int) -> bytes:
    return encode_batch(
        [(None, b"value")],
        base_offset=Offset(offset),
        leader_epoch=Epoch(0),
        timestamp_ms=offset,
    )


def test_each_log_is_found_where_it_lies() -> None:
    disk = Disk()
    for log in filled(disk).values():
        log.flush()
    disk.cut()
    found = disk.open()
    assert {log: found.directory_of(log) for log in found} == {ORDERS: ONE, BILLS: TWO}
    assert [found[log].next_offset for log in found] == [3, 3]
    assert found.directories == (ONE, TWO)
    assert found.files() == 2


def test_checkpoints_are_beside_the_logs_that_they_are_of() -> None:
    disk = Disk()
    logs = filled(disk)
    logs.save_high_watermarks({ORDERS: Offset(1), BILLS: Offset(2)})
    logs.raise_starts({BILLS: Offset(2)})
    assert load_offsets(disk.at("one"), HIGH_WATERMARKS) == {ORDERS: 1}
    assert load_offsets(disk.at("two"), HIGH_WATERMARKS) == {BILLS: 2}
    assert not disk.at("one").exists(LOG_STARTS)
    assert load_offsets(disk.at("two"), LOG_STARTS) == {BILLS: 2}
    disk.files.sync()
    disk.cut()
    found = disk.open()
    assert found.high_watermarks == {ORDERS: 1, BILLS: 2}
    assert (found[ORDERS].start, found[BILLS].start) == (0, 2)


def test_a_high_watermark_goes_where_the_power_took_the_log_below_it() -> None:
    """Else what is written there next counts as committed after another power cut (seed 1566 of
    `swarm-brokers`)."""
    disk = Disk()
    logs = filled(disk)
    logs.save_high_watermarks({ORDERS: Offset(3), BILLS: Offset(1)})
    logs[BILLS].flush()
    disk.cut()
    for _ in range(2):
        found = disk.open()
        assert [found[log].next_offset for log in (ORDERS, BILLS)] == [0, 3]
        assert found.high_watermarks == {ORDERS: 0, BILLS: 1}
        disk.cut()
    logs = disk.open()
    logs[ORDERS].append(record(0))
    logs[ORDERS].flush()
    disk.cut()
    found = disk.open()
    assert (found[ORDERS].next_offset, found.high_watermarks[ORDERS]) == (1, 0)


@pytest.mark.parametrize("anew", ["another topic", "restarted"])
def test_so_it_does_where_a_log_begins_anew(anew: str) -> None:
    disk = Disk()
    logs = filled(disk)
    logs.save_high_watermarks({ORDERS: Offset(3), BILLS: Offset(1)})
    if anew == "restarted":
        logs.restart(ORDERS, Offset(0))
    else:
        logs.create([new_log(ORDERS, OTHER_TOPIC, ONE)])
    logs[ORDERS].append(record(0))
    logs[ORDERS].flush()
    disk.cut()
    assert disk.open().high_watermarks[ORDERS] == 0


def test_a_log_of_another_topic_goes_wherever_it_was() -> None:
    disk = Disk()
    logs = filled(disk)
    logs.create([new_log(ORDERS, OTHER_TOPIC, TWO)])
    disk.cut()
    found = disk.open()
    assert found.directory_of(ORDERS) == TWO
    assert (found[ORDERS].topic, found[ORDERS].next_offset) == (OTHER_TOPIC, 0)
    assert BILLS in found


@pytest.mark.parametrize("mode", PowerCutMode)
def test_a_power_cut_amid_that_leaves_one_of_them_or_none(mode: PowerCutMode) -> None:
    steps = 0
    while True:
        disk = Disk()
        logs = filled(disk)
        disk.left = steps
        try:
            logs.create([new_log(ORDERS, OTHER_TOPIC, TWO)])
        except CutError:
            disk.cut(steps, mode)
            found = disk.open()
            if ORDERS in found:
                is_new = found.directory_of(ORDERS) == TWO
                assert found[ORDERS].topic == (OTHER_TOPIC if is_new else TOPIC)
            steps += 1
        else:
            break
    assert steps > 10


@pytest.mark.parametrize("mode", PowerCutMode)
def test_a_power_cut_amid_the_last_words_leaves_them_to_nobody_or_whole(mode: PowerCutMode) -> None:
    steps = 0
    while True:
        disk = Disk()
        logs = filled(disk)
        for log in logs.values():
            log.flush()
        disk.left = steps
        try:
            logs.save_clean_shutdown(42)
        except CutError:
            disk.cut(steps, mode)
            said = [disk.at(name).exists(CLEAN_SHUTDOWN) for name in ("one", "two")]
            found = disk.open()
            assert found.previous_epoch == (42 if all(said) else -1)
            assert [found[log].next_offset for log in found] == [3, 3]
            steps += 1
        else:
            break
    assert steps > 10
    disk.cut(steps, mode)
    assert disk.open().previous_epoch == 42
    assert disk.open().previous_epoch == -1, "nobody can ask for it again"


@pytest.mark.parametrize("epochs", [(42, 41), (-1, 42), (42, None)])
def test_directories_that_disagree_vouch_for_nothing(epochs: tuple[int | None, ...]) -> None:
    disk = Disk()
    logs = filled(disk)
    for log in logs.values():
        log.flush()
    for name, epoch in zip(("one", "two"), epochs, strict=True):
        if epoch is not None:
            text = f'{{"version":0,"brokerEpoch":{epoch}}}'
            disk.at(name).replace(CLEAN_SHUTDOWN, text.encode())
    assert disk.open().previous_epoch == -1


def test_a_log_in_both() -> None:
    disk = Disk()
    logs = filled(disk)
    one, two = disk.at("one"), disk.at("two")
    two.make_directory(ORDERS)
    for name in one.names(ORDERS):
        two.replace(f"{ORDERS}/{name}", one.read_all(f"{ORDERS}/{name}"))
    for log in logs.values():
        log.close()
    with pytest.raises(CorruptFile, match="orders-0 lies in two log directories: one and two"):
        disk.open()
    two.remove(f"{ORDERS}/partition.metadata")  # it is being removed, or being made
    assert disk.open().directory_of(ORDERS) == ONE


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (b"", "it is empty"),
        (b"nothing", "it begins with 'nothing', and has 1 lines"),
        (b"version: 0\n", "it begins with 'version: 0', and has 1 lines"),
        (b"version: 0\ntopic_id: x", "not a Kafka uuid"),
    ],
)
def test_what_is_damaged_is_told_with_its_directory(held: bytes, words: str) -> None:
    disk = Disk()
    filled(disk)
    disk.at("two").replace(f"{BILLS}/partition.metadata", held)
    with pytest.raises(CorruptFile, match=f"in two: bills-0/partition.*{words}"):
        disk.open()
