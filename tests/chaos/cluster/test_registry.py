"""Which runs live, told by locks; what came off a disk, written with care."""

import io
import tarfile
from pathlib import Path

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.registry import RunLock
from chaos.container_files import unpack


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_a_run_is_alive_while_its_lock_is_held() -> None:
    mine, other = RunLock("run-1"), RunLock("run-1")
    assert mine.acquire()
    assert not other.acquire()
    mine.release()
    mine.release()
    assert not mine.path.exists()
    assert other.acquire()
    other.release()


@pytest.mark.parametrize("run_id", ["", "../x", "a b", "-x", "x" * 101])
def test_a_run_id_cannot_lead_elsewhere(run_id: str) -> None:
    with pytest.raises(ClusterError, match="run id"):
        RunLock(run_id)


def test_files_of_a_disk_stay_where_they_belong(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("kraft/meta.properties", "kraft/log/0.log", "kraft/../../escaped"):
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("kraft/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    into = tmp_path / "disks" / "node-1"
    unpack(io.BytesIO(buffer.getvalue()), into)
    written = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert written == ["disks/node-1/log/0.log", "disks/node-1/meta.properties"]


def test_zeros_of_a_file_take_no_room(tmp_path: Path) -> None:
    content = b"head" + bytes(8 << 20) + b"tail" + bytes(100_000)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo("kraft/0.index")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    unpack(io.BytesIO(buffer.getvalue()), tmp_path)
    written = tmp_path / "0.index"
    assert written.read_bytes() == content
    assert written.stat().st_blocks * 512 < len(content) / 4
