"""The real disk does what the simulated one does, and what `Disk` says."""

import os
from pathlib import Path

import pytest

from node.server.real_disk import RealDisk, open_to_read
from node.storage.disk import Disk
from tests.support.simulated_disk import SimulatedDisk


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return RealDisk(tmp_path) if request.param == "real" else SimulatedDisk()


def test_a_file_is_appended_to_read_and_cut(disk: Disk) -> None:
    file = disk.open("a")
    assert file.size() == 0
    assert file.read(0, 10) == b""
    file.append(b"hello ")
    file.append(b"world")
    assert file.size() == 11
    assert file.read(4, 3) == b"o w"
    assert file.read(9, 100) == b"ld"
    assert file.read(11, 1) == file.read(100, 1) == b""
    file.truncate(5)
    file.append(b"!")
    file.flush()
    file.close()
    assert disk.read_all("a") == b"hello!"
    assert disk.open("a").size() == 6


def test_names_come_and_go(disk: Disk) -> None:
    assert disk.names("d/e") == []
    assert not disk.exists("d")
    with pytest.raises(FileNotFoundError):
        disk.open("d/e/x")
    disk.make_directory("d/e")
    disk.make_directory("d/e")
    disk.open("d/e/x").close()
    disk.replace("d/e/b", b"1")
    disk.replace("d/e/b", b"2")
    assert disk.names("d/e") == ["b", "x"]
    assert disk.names("d") == ["e"]
    assert disk.read_all("d/e/b") == b"2"
    disk.remove("d/e/x")
    assert disk.names("d/e") == ["b"]
    assert disk.exists("d/e/b")
    assert not disk.exists("d/e/x")
    for gone in (disk.remove, disk.read_all):
        with pytest.raises((FileNotFoundError, KeyError)):
            gone("d/e/x")


def test_a_remnant_of_a_power_cut_does_not_hinder_replacing(disk: Disk) -> None:
    disk.open("state.tmp").append(b"half of something longer")
    disk.replace("state", b"new")
    assert disk.read_all("state") == b"new"
    assert not disk.exists("state.tmp")


def test_what_was_opened_to_be_read_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    file = open_to_read(tmp_path / "a")
    assert file.read(0, 10) == b"abc"
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.append(b"d")
    file.close()


def test_everything_replaced_is_synced_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that a power cut cannot show on most file systems, so it is watched here."""
    calls: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        kind = "directory" if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir() else "file"
        calls.append(f"fsync {kind}")
        real_fsync(descriptor)

    def rename(source: str, target: str) -> None:
        calls.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    RealDisk(tmp_path).replace("state", b"new")
    assert calls == ["fsync file", "rename", "fsync directory"]
