"""The simulated disk makes the system calls of the real one, in its order.

The same expectations as in `tests.node.server.test_real_disk`, which watches the real calls.
"""

from random import Random

import pytest

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from tests.support.power import PowerCut, Powered

CALLS = ("fsync", "fdatasync", "fsync_directory", "rename", "truncate", "write", "mkdir", "unlink")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def watch(name: str) -> None:
        real = getattr(FileSystem, name)

        def watched(filesystem: FileSystem, *arguments: object) -> object:
            seen.append(name)
            return real(filesystem, *arguments)

        monkeypatch.setattr(FileSystem, name, watched)

    for name in CALLS:
        watch(name)
    return seen


@pytest.fixture
def disk() -> SimDisk:
    filesystem = FileSystem()
    filesystem.mkdir("data")
    return SimDisk(filesystem, "data")


def test_a_replaced_file_is_synced_before_and_its_name_after_the_rename(
    disk: SimDisk, calls: list[str]
) -> None:
    disk.replace("state", b"new")
    assert calls == ["write", "fsync", "rename", "fsync_directory"]
    disk.open("state.tmp").append(b"left by a power cut")
    calls.clear()
    disk.replace("state", b"newer")
    assert calls == ["truncate", "write", "fsync", "rename", "fsync_directory"]


def test_names_are_synced(disk: SimDisk, calls: list[str]) -> None:
    disk.make_directory("d/e")
    assert calls == ["mkdir"] * 2 + ["fsync_directory"] * 2
    calls.clear()
    disk.make_directory("d/e")
    assert calls == ["fsync_directory"] * 2, "its maker may have been killed before"
    calls.clear()
    disk.make_directory("f", "g", "h")
    assert calls == ["mkdir"] * 3 + ["fsync_directory"], "once for names side by side"
    calls.clear()
    disk.open("d/e/x").close()
    disk.open("d/e/x").close()
    disk.remove("d/e/x")
    assert calls == ["fsync_directory", "fsync_directory", "unlink", "fsync_directory"]


def test_what_is_put_is_synced_only_when_asked(disk: SimDisk, calls: list[str]) -> None:
    disk.put("x", b"1")
    disk.sync("x")
    assert calls == ["write", "fdatasync"]
    calls.clear()
    disk.put("x", b"2")
    disk.put("y", b"1")
    disk.remove("y", "x")
    assert calls == ["truncate", "write", "write", "unlink", "unlink", "fsync_directory"]


def test_content_is_synced_only_when_asked(disk: SimDisk, calls: list[str]) -> None:
    file = disk.open("x")
    calls.clear()
    file.append(b"12345")
    file.truncate(3)
    file.flush()
    file.close()
    assert calls == ["write", "truncate", "fdatasync"]


def test_it_lies_below_its_root(disk: SimDisk) -> None:
    disk.make_directory("d")
    disk.replace("d/x", b"1")
    assert disk.filesystem.files() == {"data/d/x": b"1"}
    assert disk.filesystem.files("data") == {"d/x": b"1"}
    assert disk.names("") == ["d"]
    assert disk.exists("")


@pytest.mark.parametrize("replaced", [b"", b"old"])
def test_whenever_the_process_dies_a_replaced_file_is_old_or_new(replaced: bytes) -> None:
    for steps in range(20):
        power = Powered()
        if replaced:
            power.disk.replace("x", replaced)
        power.steps_left = steps
        try:
            power.disk.replace("x", b"new")
        except PowerCut:
            power.steps_left = None
            power.filesystem.close_all()
            assert power.filesystem.files().get("x", b"") in (replaced, b"new")
            power.disk.replace("x", b"newer")
            assert power.filesystem.files() == {"x": b"newer"}
        else:
            break
    assert steps == 7, "create, write, sync, commit, rename, sync, commit"


def test_a_flush_costs_what_changed(disk: SimDisk) -> None:
    """Not the whole file: this is the hot path of the simulator."""
    file = disk.open("x")
    file.append(bytes(100 * 4096))
    file.flush()
    blocks = disk.filesystem.metadata.files[disk.filesystem.metadata.file("data/x")].blocks
    before = {page: block.content for page, block in blocks.items()}
    file.append(b"more")
    file.flush()
    changed = [page for page, block in blocks.items() if block.content is not before.get(page)]
    assert changed == [100]
    disk.filesystem.power_cut(PowerCutMode.LOSE_ALL, Random(1))
    assert disk.read_all("x") == bytes(100 * 4096) + b"more"
