"""Reads the segments of a log one after the other, and finds where they contradict one another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checkers.disk.batches import Scan, scan
from checkers.disk.fields import DamagedError
from checkers.disk.files import read_leader_epochs

_SEGMENT = re.compile(r"\d{20}\.log")


@dataclass(slots=True)
class LogFiles:
    """What is known of a log while its segments are read.

    `start` is the base offset of its first segment, `end` is behind its last intact batch; `whole`
    is false if some bytes could not be read, and may have been records. `cut_at` is the log start
    offset by the node's own checkpoint, which may be behind the first batch that is left: 0 if
    there is none. `has_gaps`: compaction leaves offsets out, so a batch may begin above the end of
    the previous one, and an epoch above its offset in the checkpoint.
    """

    directory: Path
    cut_at: int = 0
    has_gaps: bool = False
    start: int = 0
    end: int = 0
    whole: bool = True
    epochs: dict[int, int] = field(default_factory=dict)  # epoch -> its first offset
    checkpoint: list[tuple[int, int]] = field(default_factory=list)  # the same, by the node
    problems: list[str] = field(default_factory=list)

    def segments(self) -> Iterator[tuple[str, bytes, Scan]]:
        """Name, bytes and batches of each segment, in order; problems are added meanwhile."""
        paths = sorted(path for path in self.directory.iterdir() if _SEGMENT.fullmatch(path.name))
        self.start = self.end = int(paths[0].stem) if paths else 0
        for path in paths:
            try:
                data = path.read_bytes()
            except OSError as error:
                self.problems.append(f"{path.name}: {error}")
                self.whole = False
                continue
            found = scan(data)
            self._follow(path, found)
            yield path.name, data, found
        self._compare_epochs()

    def _follow(self, path: Path, found: Scan) -> None:
        self.end = max(self.end, int(path.stem))
        columns = (found.column("base_offset"), found.last_offsets, found.column("epoch"))
        rows = zip(
            *(each.tolist() for each in (found.positions, found.crc_ok, *columns)), strict=True
        )
        for position, crc_ok, base, last, epoch in rows:
            if crc_ok:
                if base < self.end or (base > self.end and not self.has_gaps):
                    self._note(path, position, base, f"the log ended at {self.end} before it")
                self.end = last + 1
                self.epochs.setdefault(epoch, base)
            else:
                self._note(path, position, base, "wrong CRC")
                self.whole = False
        if found.problem is not None:
            self.problems.append(f"{path.name}: {found.problem}")
            self.whole = False

    def _note(self, path: Path, position: int, base: int, what: str) -> None:
        self.problems.append(f"{path.name} position {position} (offset {base}): {what}")

    def _compare_epochs(self) -> None:
        """The checkpoint may lag behind the log after a crash, but may not contradict it."""
        path = self.directory / "leader-epoch-checkpoint"
        if not path.exists():
            return
        try:
            self.checkpoint = read_leader_epochs(path)
        except DamagedError as error:
            self.problems.append(str(error))
        # The log start may lie within the first segment: its first epoch then begins later.
        for number, (epoch, start) in enumerate(self.checkpoint):
            first = self.epochs.get(epoch)
            is_cut = number == 0 and (self.start > 0 or self._begins_at(start))
            is_there = self.start <= start < self.end and (first is not None or self.whole)
            is_cut |= self.has_gaps and (first is None or first > start)
            if first != start and is_there and not is_cut:
                says = "the log has no batch of it" if first is None else f"the log says {first}"
                self.problems.append(f"{path.name}: epoch {epoch} starts at {start}, {says}")

    def _begins_at(self, offset: int) -> bool:
        """Whether everything below this offset was deleted, or is covered by a snapshot."""
        cut = 0 < offset == self.cut_at
        return cut or any(self.directory.glob(f"{offset:020}-*.checkpoint"))
