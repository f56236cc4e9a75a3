"""What the real ext4 taught, told in small; and what may be wrong with a disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EBADF, EEXIST, EIO, EISDIR, ENOENT, ENOSPC, ENOTDIR, EROFS
from random import Random

import pytest

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import PAGE, DiskStep

LOSE_ALL, LOSE_DATA, TORN = PowerCutMode.LOSE_ALL, PowerCutMode.LOSE_DATA, PowerCutMode.TORN


@pytest.fixture
def fs() -> FileSystem:
    return FileSystem()


@contextmanager
def refused(number: int) -> Iterator[None]:
    with pytest.raises(OSError, match=rf"\[Errno {number}\]"):
        yield


def append(fs: FileSystem, path: str, data: bytes) -> None:
    descriptor = fs.open(path, create=True)
    fs.write(descriptor, fs.size(descriptor), data)
    fs.close(descriptor)


def fsync(fs: FileSystem, path: str) -> None:
    descriptor = fs.open(path)
    fs.fsync(descriptor)
    fs.close(descriptor)


def fdatasync(fs: FileSystem, path: str) -> None:
    descriptor = fs.open(path)
    fs.fdatasync(descriptor)
    fs.close(descriptor)


def truncate(fs: FileSystem, path: str, size: int) -> None:
    descriptor = fs.open(path)
    fs.truncate(descriptor, size)
    fs.close(descriptor)


def after(fs: FileSystem, mode: PowerCutMode, seed: int = 1) -> dict[str, bytes]:
    fs.power_cut(mode, Random(seed))
    return fs.files()


def test_an_fsync_of_a_new_file_makes_its_name_durable_too(fs: FileSystem) -> None:
    append(fs, "a", b"x")
    assert after(fs, LOSE_ALL) == {}
    append(fs, "a", b"x")
    fdatasync(fs, "a")
    assert after(fs, LOSE_ALL) == {"a": b"x"}


def test_a_rename_without_an_fsync_leaves_an_empty_file(fs: FileSystem) -> None:
    append(fs, "a", b"old")
    fsync(fs, "a")
    append(fs, "a.tmp", b"new")
    fs.rename("a.tmp", "a")
    append(fs, "other", b"x")
    fsync(fs, "other")  # commits the rename
    assert after(fs, LOSE_ALL) == {"a": b"", "other": b"x"}


def test_an_fsync_of_a_file_that_did_not_change_commits_nothing(fs: FileSystem) -> None:
    for name in "ab":
        append(fs, name, name.encode())
        fsync(fs, name)
    fs.rename("a", "c")
    fsync(fs, "b")
    assert sorted(after(fs, LOSE_ALL)) == ["a", "b"]


def test_an_fsync_of_any_directory_commits_all(fs: FileSystem) -> None:
    fs.mkdir("d")
    append(fs, "a", b"")
    fs.fsync_directory("")
    fs.rename("a", "c")
    fs.fsync_directory("d")
    assert sorted(after(fs, LOSE_ALL)) == ["c"]


def test_a_file_read_while_a_transaction_runs_counts_as_changed(fs: FileSystem) -> None:
    for name in "ab":
        append(fs, name, b"x")
        fsync(fs, name)
    after(fs, LOSE_ALL)
    fs.rename("a", "c")
    fdatasync(fs, "b")
    assert sorted(after(fs, LOSE_ALL)) == ["b", "c"]


def test_what_was_appended_within_a_block_is_nuls_after_a_commit() -> None:
    sizes = set()
    for seed in range(10):
        append(again := FileSystem(), "a", b"x" * 6000)
        fsync(again, "a")
        append(again, "a", b"y" * 1000)
        append(again, "a", b"y" * 3000)
        again.fsync_directory("")
        content = after(again, LOSE_ALL, seed)["a"]
        assert content.rstrip(b"\0") == b"x" * 6000
        sizes.add(len(content))
    assert sizes == {7000, 2 * PAGE}, "the last write goes on in the next page"


def test_a_truncation_gives_the_size_without_the_data(fs: FileSystem) -> None:
    for size in (5000, 9000):
        append(fs, f"{size}", b"x" * 9000)
        truncate(fs, f"{size}", size)
    assert after(fs, LOSE_DATA) == {"5000": bytes(5000), "9000": bytes(9000)}


def test_a_truncated_block_is_written_before_the_commit(fs: FileSystem) -> None:
    append(fs, "a", b"x" * 100)
    fsync(fs, "a")
    truncate(fs, "a", 50)
    append(fs, "a", b"y" * 10)
    assert after(fs, LOSE_DATA) == {"a": b"x" * 50 + b"y" * 10}


def test_pages_are_torn_apart() -> None:
    whole = b"x" * 100 + b"y" * 5 * PAGE
    seen = set()
    for seed in range(60):
        again = FileSystem()
        append(again, "a", b"x" * 100)
        fsync(again, "a")
        append(again, "a", b"y" * 5 * PAGE)
        seen.add(after(again, TORN, seed)["a"])
    assert len(seen) > 20
    assert b"x" * 100 in seen
    assert whole in seen
    assert any(b"\0y" in content for content in seen), "a hole before later data"


def test_a_file_without_a_name_lives_until_it_is_closed(fs: FileSystem) -> None:
    append(fs, "a", b"x")
    descriptor = fs.open("a")
    fs.unlink("a")
    fs.write(descriptor, 1, b"y")
    assert fs.read(descriptor, 0, 10) == b"xy"
    fs.fsync(descriptor)
    assert fs.files() == {}
    fs.close(descriptor)
    assert (fs.metadata.files, fs.cached) == ({}, {})
    with refused(EBADF):
        fs.read(descriptor, 0, 1)


def test_nothing_is_kept_of_what_was_replaced(fs: FileSystem) -> None:
    """Memory must stay flat over a campaign."""
    for _ in range(50):
        append(fs, "a.tmp", b"x")
        fsync(fs, "a.tmp")
        fs.rename("a.tmp", "a")
        fs.fsync_directory("")
    assert [len(it) for it in (fs.metadata.files, fs.journal.committed.files, fs.cached)] == [1] * 3
    assert fs.journal.pending == []


def test_a_power_cut_closes_everything(fs: FileSystem) -> None:
    descriptor = fs.open("a", create=True)
    fs.power_cut(LOSE_ALL, Random(1))
    with refused(EBADF):
        fs.write(descriptor, 0, b"x")


def test_a_kill_keeps_the_page_cache_and_closes_the_files(fs: FileSystem) -> None:
    append(fs, "a", b"x")
    fs.open("a")
    fs.unlink("a")
    append(fs, "b", b"y")
    fs.close_all()
    assert fs.files() == {"b": b"y"}
    assert len(fs.cached) == 1


def test_a_process_may_die_before_any_step() -> None:
    steps: list[DiskStep] = []
    fs = FileSystem(before=steps.append)
    fs.mkdir("d")
    append(fs, "d/a", b"x" * 5000)
    fsync(fs, "d/a")
    truncate(fs, "d/a", 10)
    fs.rename("d/a", "b")
    fs.unlink("b")
    written = [DiskStep.CREATE, DiskStep.WRITE, DiskStep.WRITE, DiskStep.SYNC, DiskStep.COMMIT]
    assert steps == [DiskStep.MKDIR, *written, DiskStep.TRUNCATE, DiskStep.RENAME, DiskStep.UNLINK]


def test_system_calls_are_refused_as_by_an_operating_system(fs: FileSystem) -> None:
    fs.mkdir("d")
    append(fs, "a", b"")
    calls_by_error: dict[int, list[Callable[[], object]]] = {
        ENOENT: [lambda: fs.open("x"), lambda: fs.unlink("x"), lambda: fs.open("x/y", create=True)],
        ENOTDIR: [lambda: fs.mkdir("a/b"), lambda: fs.names("a")],
        EEXIST: [lambda: fs.mkdir("d"), lambda: fs.mkdir("a")],
        EISDIR: [lambda: fs.open("d"), lambda: fs.unlink("d"), lambda: fs.rename("a", "d")],
    }
    for number, calls in calls_by_error.items():
        for call in calls:
            with refused(number):
                call()


def test_a_lying_sync_is_acknowledged_and_counted(fs: FileSystem) -> None:
    fs.trouble.lying = True
    append(fs, "a", b"x")
    fsync(fs, "a")
    fs.fsync_directory("")
    assert fs.troubled_syncs == 2
    assert after(fs, LOSE_ALL) == {}


def test_a_slow_sync_is_counted_and_done(fs: FileSystem) -> None:
    fs.trouble.sync_delay_ns = 40_000_000
    append(fs, "a", b"x")
    fsync(fs, "a")
    assert fs.troubled_syncs == 1
    assert after(fs, LOSE_ALL) == {"a": b"x"}


def test_after_a_failed_sync_the_next_one_succeeds_and_the_data_is_lost(fs: FileSystem) -> None:
    append(fs, "a", b"x")
    fs.fsync_directory("")
    fs.trouble.failing[DiskStep.SYNC] = 1
    fs.fsync_directory("")
    with refused(EIO):
        fdatasync(fs, "a")
    fdatasync(fs, "a")
    assert fs.files() == {"a": b"x"}, "as it is read from the page cache"
    assert after(fs, LOSE_ALL) == {"a": b""}


def test_a_journal_that_cannot_be_written_makes_the_disk_read_only(fs: FileSystem) -> None:
    append(fs, "a", b"x")
    fs.trouble.failing[DiskStep.COMMIT] = 0
    for number in (EIO, EROFS):
        with refused(number):
            fsync(fs, "a")
    assert fs.files() == {"a": b"x"}


def test_a_full_disk_takes_what_fits(fs: FileSystem) -> None:
    append(fs, "a", b"x" * 100)
    fs.trouble.capacity = fs.used_pages() + 1
    with refused(ENOSPC):
        append(fs, "a", b"y" * 3 * PAGE)
    assert len(fs.files()["a"]) == 2 * PAGE
    truncate(fs, "a", 100)
    append(fs, "b", b"z")


def test_bits_rot_on_the_disk_where_it_is_not_written_again(fs: FileSystem) -> None:
    append(fs, "a", b"x" * 5000)
    assert fs.rot("a", Random(1)) is None, "nothing of it is on the disk"
    fsync(fs, "a")
    append(fs, "a", b"y")
    position = fs.rot("a", Random(1))
    assert position is not None
    assert position < PAGE, "the other page is dirty"
    for content in (fs.files()["a"], after(fs, LOSE_ALL)["a"]):
        differing = [at for at, byte in enumerate(content) if byte != ord("x")]
        assert differing in ([position], [position, 5000])
