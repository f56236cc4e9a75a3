"""Partitions that keep every promise, under random clients: what they record must be valid.

Sends take effect at some moment while they run; those whose outcome is not known may take effect
later, or never. Consumers lag behind a high watermark that a new leader learns late. Offsets have
gaps. At the end a fresh consumer reads everything.
"""

import random
from dataclasses import dataclass, field

from tests.support.histories import Row
from tests.support.logs import LogRun

KEYS = ("t-0", "t-1")
PRODUCERS, CONSUMERS = 4, 3


@dataclass(slots=True)
class _Partition:
    records: list[tuple[int, int, int]] = field(default_factory=list)  # offset, value, epoch
    end: int = 0
    epoch: int = 0
    committed: int = 0  # so many records are on all in-sync replicas
    led: int = 0  # so many of them are below the leader's high watermark

    def append(self, value: int, gap: int) -> int:
        offset = self.end + gap
        self.records.append((offset, value, self.epoch))
        self.end = offset + 1
        return offset

    @property
    def high_watermark(self) -> int:
        """As its leader tells it."""
        return self.records[self.led - 1][0] + 1 if self.led else 0


@dataclass(slots=True)
class _Send:
    row: Row
    span: Row
    key: str
    value: int
    offset: int | None = None


@dataclass
class SimulatedLog:
    rng: random.Random
    log: LogRun = field(default_factory=LogRun)
    partitions: dict[str, _Partition] = field(
        default_factory=lambda: {key: _Partition() for key in KEYS}
    )
    open: dict[int, _Send] = field(default_factory=dict)  # by process
    ghosts: list[_Send] = field(default_factory=list)  # nobody knows what became of them
    positions: dict[tuple[int, str], int] = field(default_factory=dict)  # in records
    producers: list[int] = field(default_factory=lambda: list(range(PRODUCERS)))
    numbers: int = 0

    def live(self, steps: int) -> LogRun:
        acts = (self._send, self._effect, self._effect, self._return, self._lead, self._poll)
        weights = (6, 4, 4, 6, 1, 6)
        for _ in range(steps):
            self.rng.choices(acts, weights)[0]()
        for process in list(self.open):
            self._end(process)
        self._read_all()
        return self.log

    def _send(self) -> None:
        process = self.rng.choice(self.producers)
        if process in self.open:
            return
        key = self.rng.choice(KEYS)
        self.numbers += 1
        value = process << 32 | self.numbers
        row = self.log.begin("send", process, key=key)
        self.log.sent(row, value, None)
        self.open[process] = _Send(row, self.log.spans[-1], key, value)

    def _effect(self) -> None:
        """Of a send that runs, or that ran once."""
        waiting = [one for one in (*self.open.values(), *self.ghosts) if one.offset is None]
        if waiting:
            one = self.rng.choice(waiting)
            gap = self.rng.choice((0, 0, 0, 1))
            one.offset = self.partitions[one.key].append(one.value, gap)

    def _return(self) -> None:
        if self.open:
            self._end(self.rng.choice(list(self.open)))

    def _end(self, process: int) -> None:
        one = self.open.pop(process)
        partition = self.partitions[one.key]
        lucky = self.rng.random() < 0.8
        if lucky and one.offset is not None:
            one.span["offset"] = one.offset
            # Acknowledged is what all in-sync replicas have.
            known = [offset for offset, _, _ in partition.records].index(one.offset) + 1
            partition.committed = max(partition.committed, known)
            self.log.end(one.row)
        elif lucky:
            self.log.end(one.row, "fail")
        else:
            self.log.end(one.row, "info")
            self.ghosts.append(one)
            self.producers[self.producers.index(process)] = max(self.producers) + 1

    def _lead(self) -> None:
        """A new leader: it begins with a high watermark that may be an older one."""
        partition = self.partitions[self.rng.choice(KEYS)]
        partition.epoch += 1
        partition.led = self.rng.randint(0, partition.committed)

    def _poll(self) -> None:
        process, key = 1000 + self.rng.randrange(CONSUMERS), self.rng.choice(KEYS)
        if self.rng.random() < 0.1:
            self.log.assign(process, key=key)
            self.positions[process, key] = self.rng.randint(0, self.partitions[key].committed)
        self._fetch(process, key, "main", self.rng.choice(("ok", "ok", "ok", "fail")))

    def _fetch(self, process: int, key: str, phase: str, outcome: str) -> bool:
        """Whether anything was there."""
        partition = self.partitions[key]
        partition.committed = self.rng.randint(partition.committed, len(partition.records))
        partition.led = self.rng.randint(partition.led, partition.committed)
        if phase == "final":
            partition.committed = partition.led = len(partition.records)
        at = self.positions.get((process, key), 0)
        found = partition.records[at : min(partition.led, at + self.rng.randint(1, 4))]
        row = self.log.begin("poll", process, key=key, phase=phase)
        for offset, value, epoch in found:
            self.log.polled(
                row, [(offset, value)], epoch=epoch, high_watermark=partition.high_watermark
            )
        self.log.end(row, outcome)
        if outcome == "ok":
            self.positions[process, key] = at + len(found)
        return bool(found)

    def _read_all(self) -> None:
        for number, key in enumerate(KEYS):
            while self._fetch(2000 + number, key, "final", "ok"):
                pass
