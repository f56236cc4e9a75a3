"""What a process tells, read by somebody or by nobody."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from node.server import output
from node.server.output import MOST_BYTES, Outlet, as_text

LINE = b"x" * 999 + b"\n"
PIPE_BYTES = 65536


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def test_who_reads_late_is_waited_for() -> None:
    with pipe() as (reading, writing):
        told = list[str]()
        out = Outlet(writing, told.append)
        expected = b"".join(b"%d" % number + LINE for number in range(200))
        read = bytearray()

        def read_all() -> None:
            while len(read) < len(expected):
                read.extend(os.read(reading, 4096))

        reader = threading.Thread(target=read_all)
        reader.start()
        for number in range(200):
            out.write(b"%d" % number + LINE)
        reader.join()
        assert read == expected
        assert told == []


def test_nobody_reads_and_the_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "WRITE_PATIENCE_S", 0.05)
    with pipe() as (reading, writing):
        told = list[str]()
        out = Outlet(writing, told.append)
        lines = [b"%d" % number + LINE for number in range(300)]
        began = time.monotonic()
        for line in lines:
            out.write(line)
        assert time.monotonic() - began < 30
        assert told == [f"no process reads descriptor {writing}: lines wait"]
        taken = b""
        while len(taken) < len(b"".join(lines)):
            taken += os.read(reading, PIPE_BYTES)
            out.write(b"")
        assert taken == b"".join(lines)  # all of them, in order, once somebody reads
        assert told[1:] == [f"what descriptor {writing} is told is read again"]
        out.write(b"next\n")
        assert os.read(reading, PIPE_BYTES) == b"next\n"


def test_what_waits_is_bounded_and_what_is_dropped_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "WRITE_PATIENCE_S", 0.0)
    with pipe() as (reading, writing):
        told = list[str]()
        out = Outlet(writing, told.append)
        large = b"y" * (MOST_BYTES // 4 - 1) + b"\n"
        for _ in range(4):
            out.write(large)
        out.write(large + LINE)
        out.write(LINE)
        taken = 0
        while len(told) < 2:
            taken += len(os.read(reading, 1 << 20))
            out.write(b"")
        taken += len(os.read(reading, 1 << 20))
        assert taken == 4 * len(large) + len(LINE)
        assert told[1].endswith("read again; 2 lines were dropped meanwhile")


def test_text_leaves_at_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "err"
    with path.open("wb") as file:
        text = as_text(Outlet(file.fileno(), lambda _: None))
        text.write("a line, grün\n" * 1000)
        assert path.read_text() == "a line, grün\n" * 1000
