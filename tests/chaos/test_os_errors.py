"""What the system refuses is told as what it is, with a step that helps against that."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.commands import setup_command
from chaos.errors import explained
from tests.support.foreign import JEPSEN


@pytest.mark.parametrize(
    ("number", "file", "what", "step"),
    [
        (errno.ENOSPC, "a", "No space left on device: a", "system prune"),
        (errno.EDQUOT, None, "Disk quota exceeded\n", "--out DIRECTORY"),
        (errno.ECONNREFUSED, None, "Connection refused\n", "kraft-chaos doctor"),
        (errno.EACCES, "/root/x", "Permission denied: /root/x", "ls -l"),
        (errno.EROFS, "a", "Read-only file system: a", "--out DIRECTORY"),
        (errno.EMFILE, None, "Too many open files\n", "ulimit -n"),
        (errno.ENAMETOOLONG, "x" * 300, f"File name too long: {'x' * 80}...\n", "a shorter name"),
        (errno.ENOENT, "a\nb", "No such file or directory: 'a\\nb'\n", "ls of the directory"),
        (errno.EILSEQ, None, "", "--traceback"),
    ],
)
def test_each_has_its_own_next_step(number: int, file: str | None, what: str, step: str) -> None:
    told = explained(OSError(number, os.strerror(number), file))
    assert told.startswith(what)
    assert step in told
    assert ("prune" in told) == (number in (errno.ENOSPC, errno.EDQUOT))


def test_what_has_no_number_is_told_in_its_own_words() -> None:
    assert explained(OSError("the engine hung up")).startswith("the engine hung up\n")
    assert explained(OSError()).startswith("OSError\n")


def test_an_error_of_another_pipe_than_ours_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(setup_command, "run_doctor", broken)
    assert main(["doctor"]) == 255
    assert capsys.readouterr().err.startswith("error: Broken pipe\n")


@pytest.mark.slow
def test_who_is_cut_short_by_head_is_quiet(tmp_path: Path) -> None:
    """The reader of the pipe ends before the first line is written."""
    history = tmp_path / "history.edn"
    history.write_text(JEPSEN)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "chaos.cli", "check", str(history)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
