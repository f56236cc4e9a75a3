"""What was on lost disks is kept in one place, also where several are lost at once."""

import io
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import pytest
from docker.errors import NotFound

from chaos.cluster.docker import disks as module
from chaos.cluster.docker.disks import LostDisks
from chaos.cluster.interface import NodeId

if TYPE_CHECKING:
    from docker.models.containers import Container

NODES = [NodeId(1), NodeId(2)]
MET_WITHIN_S = 0.5


class Disk:
    """A container whose log directory holds one file."""

    def __init__(self, content: str) -> None:
        self._content = content.encode()

    def get_archive(self, path: str) -> tuple[list[bytes], dict[str, str]]:
        if not path.endswith("/kraft"):
            raise NotFound("there is no second one")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            member = tarfile.TarInfo("kraft/meta.properties")
            member.size = len(self._content)
            tar.addfile(member, io.BytesIO(self._content))
        return [packed.getvalue()], {}


def disk(content: str) -> "Container":
    return cast("Container", Disk(content))


@pytest.fixture
def made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes a directory waits for another one to do so too, if only anybody does: a moment
    that two threads hit by chance, and rarely."""
    together = threading.Barrier(len(NODES))

    def made(**words: Any) -> TemporaryDirectory[str]:
        with suppress(threading.BrokenBarrierError):
            together.wait(MET_WITHIN_S)
        return TemporaryDirectory(**words)

    monkeypatch.setattr(module, "TemporaryDirectory", made)


def collected(lost: LostDisks, into: Path) -> dict[str, str]:
    """What was on the disks, by where it is now."""
    lost.move(into)
    files = sorted((into / "disks").rglob("meta.properties"))
    return {str(each.parent.relative_to(into / "disks")): each.read_text() for each in files}


@pytest.mark.usefixtures("made_at_once")
def test_disks_that_are_lost_at_once_are_all_kept(tmp_path: Path) -> None:
    lost = LostDisks()
    with ThreadPoolExecutor(len(NODES)) as pool:
        list(pool.map(lambda node: lost.keep(node, disk(f"of {node}")), NODES))
    found = collected(lost, tmp_path)
    lost.drop()
    assert found == {"lost/node-1-1": "of 1", "lost/node-2-1": "of 2"}


def test_each_disk_that_a_node_loses_is_kept(tmp_path: Path) -> None:
    lost = LostDisks()
    for content in ("first", "second"):
        lost.keep(NODES[0], disk(content))
    found = collected(lost, tmp_path)
    lost.drop()
    assert found == {"lost/node-1-1": "first", "lost/node-1-2": "second"}


def test_where_none_was_lost_nothing_is_collected(tmp_path: Path) -> None:
    lost = LostDisks()
    assert collected(lost, tmp_path) == {}
    lost.drop()
