"""The log of every replica, followed through its trace: what it held, when, and what it committed.

A crash can leave a line unwritten: a new process may find more on its disk than was traced (then
those offsets are *unseen*) or less (then they were lost or cut off). Traces with lines missing in
between are not followed at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from checkers.evidence.lives import Life, NodeEvent


@dataclass(frozen=True, slots=True)
class Committed:
    """A batch, by the q.append of a node that held it, and the q.hwm that says it is committed."""

    batch: NodeEvent
    by: NodeEvent


@dataclass(frozen=True, slots=True)
class Election:
    """A leader's q.state, and its log at that moment."""

    event: NodeEvent
    log: Sequence[NodeEvent]
    holes: Sequence[tuple[int, int]]

    def unseen(self, base: int, last: int) -> bool:
        """Whether these offsets may be in the log although no trace shows them."""
        return any(start <= last and base < end for start, end in self.holes)


@dataclass(slots=True)
class TracedLogs:
    """All replicas' logs. `committed` is by base offset, with the lowest epoch that committed it;
    `highest` is each node's highest high watermark on its newest disk."""

    committed: dict[int, Committed] = field(default_factory=dict)
    conflicts: list[tuple[Committed, Committed]] = field(default_factory=list)
    elections: list[Election] = field(default_factory=list)
    highest: dict[int, int] = field(default_factory=dict)


def traced_logs(lives: Iterable[Life]) -> TracedLogs:
    """Follow all lives of a run; those whose traces have gaps are left out."""
    logs = TracedLogs()
    for life in lives:
        if life.gap is None:
            _Log(life, logs).follow()
    logs.elections.sort(key=lambda election: election.event.epoch)
    return logs


@dataclass
class _Log:
    """One replica's log while its trace is read."""

    life: Life
    logs: TracedLogs
    batches: list[NodeEvent] = field(default_factory=list)
    holes: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    committed: int = 0  # how many of the batches were reported as committed
    highest: int = 0

    def follow(self) -> None:
        for event in self.life.events():
            match event.event:
                case "n.start":
                    self._start(event.log_end)
                case "q.append":
                    self._cut(event.base)
                    self.batches.append(event)
                    self.end = event.last + 1
                case "q.truncate":
                    self._cut(event.log_end)
                case "q.hwm":
                    self._commit(event)
                case "q.state" if event.state == "leader":
                    election = Election(event, tuple(self.batches), tuple(self.holes))
                    self.logs.elections.append(election)
        self.logs.highest[self.life.node] = self.highest

    def _start(self, end: int) -> None:
        if end > self.end:
            self.holes.append((self.end, end))
        self._cut(end)
        self.end = end

    def _cut(self, end: int) -> None:
        while self.batches and self.batches[-1].last >= end:
            self.batches.pop()
        if self.holes and self.holes[-1][1] > end:
            self.holes = [(start, min(stop, end)) for start, stop in self.holes if start < end]
        self.committed = min(self.committed, len(self.batches))
        self.end = min(self.end, end)

    def _commit(self, event: NodeEvent) -> None:
        self.highest = max(self.highest, event.hwm)
        while self.committed < len(self.batches):
            batch = self.batches[self.committed]
            if batch.last >= event.hwm:
                return
            self.committed += 1
            self._enter(Committed(batch, event))

    def _enter(self, found: Committed) -> None:
        ledger = self.logs.committed
        known = ledger.setdefault(found.batch.base, found)
        if _content(known.batch) != _content(found.batch):
            self.logs.conflicts.append((known, found))
        elif found.by.epoch < known.by.epoch:
            ledger[found.batch.base] = found


def _content(batch: NodeEvent) -> tuple[int, int, int]:
    return batch.last, batch.epoch, batch.crc
