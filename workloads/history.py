"""Where a workload writes down what happens, the moment it happens."""

from typing import Protocol

from checkers.history.events import EventType

READ = "read"
WRITE = "write"
MAIN = "main"
FINAL = "final"


class History(Protocol):
    """One order for all processes of a run: the order of these calls is that of real time."""

    def new_process(self) -> int:
        """An id that no process of this run has had."""

    def invoke(
        self, process: int, f: str, key: str, value: int | None, node: int, phase: str
    ) -> None:
        """Before the first byte is sent. `node` is -1 where none could be found to send it to."""

    def complete(
        self, process: int, outcome: EventType, value: int | None, error: str | None
    ) -> None:
        """Ends the open operation of `process`: OK, FAIL (surely did not happen) or INFO."""
