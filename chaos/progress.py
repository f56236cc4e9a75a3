"""Progress for people: one status line on a terminal, terse lines in a pipe."""

import os
import sys
from typing import Protocol, TextIO

_USUAL_COLUMNS = 80  # of a terminal of unknown width


class Progress(Protocol):
    def tell(self, text: str) -> None:
        """Report an event."""

    def status(self, text: str) -> None:
        """Show the current status; it replaces the last one, and is not shown in a pipe."""


class ConsoleProgress:
    """To stderr, so that stdout holds results only."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._living = self._stream.isatty() and not quiet
        self._quiet = quiet
        self._shown = 0

    @property
    def is_watched(self) -> bool:
        """Whether both progress and results go to a terminal."""
        return self._living and sys.stdout.isatty() and not os.environ.get("CI")

    def tell(self, text: str) -> None:
        if not self._quiet:
            self._write(f"{self._blank()}{text}\n")

    def status(self, text: str) -> None:
        if self._living:
            # The last column stays free: a full line would wrap, and could not be removed.
            line = text[: self._columns() - 1]
            self._write(f"{self._blank()}{line}")
            self._shown = len(line)

    def end(self) -> None:
        """Remove the status line."""
        self._write(self._blank())

    def _columns(self) -> int:
        return os.get_terminal_size(self._stream.fileno()).columns or _USUAL_COLUMNS

    def _blank(self) -> str:
        shown, self._shown = self._shown, 0
        return f"\r{' ' * shown}\r" if shown else ""

    def _write(self, text: str) -> None:
        """A closed pipe must not end a run."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self._quiet, self._living = True, False
