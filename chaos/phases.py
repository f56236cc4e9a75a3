"""The progress of a run: its current phase, the duration of each, lines for the operator."""

from collections.abc import Iterator
from contextlib import contextmanager

from chaos.clock import Clock
from chaos.progress import Progress


class Phases:
    """Times are those of the run's own clock."""

    def __init__(self, clock: Clock, progress: Progress) -> None:
        self.clock = clock
        self.progress = progress
        self.current = "starting"
        self.timings_s: dict[str, float] = {}  # of completed phases

    @contextmanager
    def timed(self, name: str, phase: str) -> Iterator[None]:
        self.current = phase
        self.progress.status(phase)
        began = self.clock.now_ns()
        yield
        self.timings_s[name] = round((self.clock.now_ns() - began) / 1e9, 3)

    def tell(self, text: str) -> None:
        """Print a lasting line, with the time."""
        self.progress.tell(f"t={self.clock.now_ns() / 1e9:5.1f}s  {text}")
