"""In which log directory a new replica is (KIP-858; `LogManager.nextLogDirs`).

In the one that the controller assigned it to, if the broker has that. Else the broker chooses, as
Kafka does, the one with the fewest logs, and says so afterwards (`directory_reports`). Kafka makes
no log elsewhere while a directory is offline, as the log may be there: this broker is not without
one of its directories and alive.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol
from uuid import UUID

from node.ids import LogId


class PlacedLogs(Protocol):
    @property
    def directories(self) -> Sequence[UUID]: ...

    def directory_of(self, log: LogId) -> UUID: ...

    def __iter__(self) -> Iterator[LogId]: ...


class LogPlacement:
    """Knows the logs of each directory, with what was asked for in this step."""

    def __init__(self, logs: PlacedLogs) -> None:
        self._places = {log: logs.directory_of(log) for log in logs}
        self._counts = dict.fromkeys(logs.directories, 0)
        for directory in self._places.values():
            self._counts[directory] += 1

    def place(self, log: LogId, assigned: UUID) -> UUID:
        """Of a new log, in the place of one of that name; where several have the fewest, in the
        first of them."""
        self.remove(log)
        counts = self._counts
        chosen = assigned if assigned in counts else min(counts, key=counts.__getitem__)
        counts[chosen] += 1
        self._places[log] = chosen
        return chosen

    def remove(self, log: LogId) -> None:
        directory = self._places.pop(log, None)
        if directory is not None:
            self._counts[directory] -= 1
