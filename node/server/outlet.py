"""stdout and stderr, as a process writes to them that goes on when nobody reads.

Lines are with their reader when `write` returns, as long as there is a reader: who does not take
what a pipe holds in `WRITE_PATIENCE_S` is waited for no more, until it has taken all that waits.
What waits then is bounded: lines beyond that are dropped, whole writes of them, and counted.
"""

import io
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

WRITE_PATIENCE_S = 1.0
MOST_BYTES = 16 * 1024 * 1024
_FILE_BYTES = 1 << 30


class Outlet:
    """Of an open file; nobody else writes to it."""

    def __init__(self, descriptor: int, tell: Callable[[str], None]) -> None:
        """`tell` is told, as a line, when nobody reads, and when somebody does again."""
        self._descriptor = descriptor
        # A pipe that has room has it for so many bytes at least, and a file for any number.
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._piece_bytes = _FILE_BYTES if is_file else select.PIPE_BUF
        self._tell = tell
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._waiting = deque[memoryview]()
        self._waiting_bytes = 0
        self._dropped = 0
        self._is_stalled = False

    def write(self, data: bytes) -> None:
        """Raises OSError where there is no reader any more."""
        if self._is_stalled:
            self._put_by(data)
            self._write_on(0.0)
            if not self._waiting:
                self._end_stall()
        elif not self._write(memoryview(data), WRITE_PATIENCE_S):
            self._is_stalled = True
            self._tell(f"nobody reads what descriptor {self._descriptor} is told: lines wait")

    def finish(self) -> None:
        """Before the process ends: its last lines are waited for as its first were."""
        self._write_on(WRITE_PATIENCE_S)

    def _write_on(self, patience_s: float) -> None:
        """What waits, as far as it is taken."""
        while self._waiting:
            first = self._waiting.popleft()
            self._waiting_bytes -= len(first)
            if not self._write(first, patience_s):
                return

    def _write(self, data: memoryview, patience_s: float) -> bool:
        """All of it; False: not all was taken in time, and the rest waits, before all others."""
        while data:
            if not self._poll.poll(patience_s * 1000):
                self._waiting.appendleft(data)
                self._waiting_bytes += len(data)
                return False
            data = data[os.write(self._descriptor, data[: self._piece_bytes]) :]
        return True

    def _put_by(self, data: bytes) -> None:
        if self._waiting_bytes + len(data) > MOST_BYTES:
            self._dropped += data.count(b"\n")
        else:
            self._waiting.append(memoryview(data))
            self._waiting_bytes += len(data)

    def _end_stall(self) -> None:
        self._is_stalled = False
        dropped, self._dropped = self._dropped, 0
        lost = f"; {dropped} lines were dropped meanwhile" if dropped else ""
        self._tell(f"what descriptor {self._descriptor} is told is read again{lost}")


class _Raw(io.RawIOBase):
    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        self._outlet.write(bytes(data))
        return memoryview(data).nbytes


def as_text(outlet: Outlet) -> TextIO:
    """In the place of `sys.stderr`: each write leaves at once."""
    return io.TextIOWrapper(io.BufferedWriter(_Raw(outlet)), line_buffering=True)
