"""After the engine's daemon was killed: what it left must not keep the next from starting."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.setup.docker_engine import remove_stale


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "60"])
    name = Path(f"/proc/{process.pid}/comm")
    while name.read_text() != "sleep\n":  # between fork and exec it has our own name
        assert process.poll() is None
    yield process
    process.kill()
    process.wait()


def test_a_living_daemon_keeps_its_pid_file(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    pid_file = tmp_path / "daemon.pid"
    pid_file.write_text(str(sleeper.pid))
    assert not remove_stale(pid_file, "sleep")
    assert pid_file.exists()


def test_the_pid_now_belongs_to_another_program(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    pid_file = tmp_path / "daemon.pid"
    pid_file.write_text(str(sleeper.pid))
    assert remove_stale(pid_file, "dockerd")
    assert not pid_file.exists()


def test_a_dead_daemon_that_nobody_waited_for(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    pid_file = tmp_path / "daemon.pid"
    pid_file.write_text(str(sleeper.pid))
    sleeper.kill()
    stat = Path(f"/proc/{sleeper.pid}/stat")
    while stat.read_text().rpartition(") ")[2][0] != "Z":
        pass
    assert remove_stale(pid_file, "sleep")
    assert not pid_file.exists()


@pytest.mark.parametrize("content", ["", "not a number", "4194304", None])
def test_nothing_that_lives(content: str | None, tmp_path: Path) -> None:
    pid_file = tmp_path / "daemon.pid"
    if content is not None:
        pid_file.write_text(content)
    assert remove_stale(pid_file, "dockerd")
    assert not pid_file.exists()
