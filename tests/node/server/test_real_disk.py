"""The real disk does what the simulated one does, and what `Disk` says."""

import os
from pathlib import Path

import pytest

from node.server.real_disk import RealDisk, open_to_read
from node.storage.disk import Disk
from tests.support.power import new_disk


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return RealDisk(tmp_path) if request.param == "real" else new_disk()


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
        with pytest.raises(FileNotFoundError):
            gone("d/e/x")


def test_what_is_put_is_the_whole_of_it(disk: Disk) -> None:
    disk.put("x", b"longer")
    disk.put("x", b"new")
    disk.sync("x")
    assert disk.read_all("x") == b"new"
    disk.put("x", b"")
    disk.put("y", b"1")
    assert disk.names("") == ["x", "y"]
    disk.remove("x", "y")
    assert disk.names("") == []


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


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The order of syncs, which a power cut cannot show on most file systems, is watched here."""
    seen: list[str] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def watched(*arguments: object) -> object:
            seen.append(" ".join((name, *_names(arguments))))
            return real(*arguments)

        monkeypatch.setattr(os, name, watched)

    for name in ("fsync", "fdatasync", "replace", "ftruncate", "pwrite", "mkdir", "unlink"):
        watch(name)
    return seen


def _names(arguments: tuple[object, ...]) -> list[str]:
    """The names of the files among `arguments`, descriptors or paths."""
    first, *_ = arguments
    if isinstance(first, int):
        return [Path(f"/proc/self/fd/{first}").readlink().name]
    return [Path(str(first)).name]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_replaced_file_is_synced_before_and_its_name_after_the_rename(
    root: Path, calls: list[str]
) -> None:
    RealDisk(root).replace("state", b"new")
    assert calls == ["fsync state.tmp", "replace state.tmp", "fsync root"]


def test_names_are_synced(root: Path, calls: list[str]) -> None:
    disk = RealDisk(root)
    disk.make_directory("d/e")
    assert calls == ["mkdir d", "mkdir e", "fsync root", "fsync d"]
    calls.clear()
    disk.make_directory("d/e")
    assert calls[2:] == ["fsync root", "fsync d"], "its maker may have been killed before"
    calls.clear()
    disk.open("d/e/x").close()
    disk.open("d/e/x").close()
    disk.remove("d/e/x")
    assert calls == ["fsync e", "fsync e", "unlink x", "fsync e"]


def test_what_is_put_is_synced_only_when_asked(root: Path, calls: list[str]) -> None:
    disk = RealDisk(root)
    disk.put("x", b"1")
    assert calls == []
    disk.sync("x")
    assert calls == ["fdatasync x"]
    calls.clear()
    disk.put("y", b"1")
    disk.remove("y", "x")
    assert calls == ["unlink y", "unlink x", "fsync root"]


def test_content_is_synced_only_when_asked(root: Path, calls: list[str]) -> None:
    file = RealDisk(root).open("x")
    calls.clear()
    file.append(b"12345")
    file.truncate(3)
    assert calls == ["pwrite x", "ftruncate x"]
    file.flush()
    assert calls[2:] == ["fdatasync x"]
    file.close()
