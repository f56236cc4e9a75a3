"""Reads the segments of a log one after the other, and finds contradictions between them; reads the
small files of a log directory."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from checkers.disk.batches import Scan, scan
from checkers.disk.fields import DamagedError
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import counted

# The small text files of a log directory: its identity, its node's vote, the ends of its logs.


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    cluster_id: str | None
    node_id: int
    directory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """Version 0 does not keep the directory of the vote. -1: none."""

    epoch: int
    leader: int
    voted: int
    voted_directory: str | None


def read_meta_properties(path: Path) -> MetaProperties:
    """Java properties, version 1 (`node.id`) or 0 (`broker.id`). Raises DamagedError."""
    pairs = dict(
        line.split("=", 1)
        for line in _text(path).splitlines()
        if "=" in line and not line.startswith(("#", "!"))
    )
    values = {name.strip(): value.strip() for name, value in pairs.items()}
    node = values.get("node.id", values.get("broker.id", ""))
    if not node.isdecimal():
        raise DamagedError(f"{path.name}: no node.id")
    return MetaProperties(
        cluster_id=values.get("cluster.id"),
        node_id=int(node),
        directory_id=values.get("directory.id", NO_DIRECTORY),
    )


def read_quorum_state(path: Path) -> QuorumState:
    """One line of JSON, `data_version` 0 or 1 (KIP-595, KIP-853). Raises DamagedError."""
    try:
        found = json.loads(_text(path))
        directory = found.get("votedDirectoryId")
        return QuorumState(
            epoch=int(found["leaderEpoch"]),
            leader=int(found["leaderId"]),
            voted=int(found["votedId"]),
            voted_directory=None if directory in (None, "", NO_DIRECTORY) else str(directory),
        )
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path.name}: {type(error).__name__} {error}") from error


def read_leader_epochs(path: Path) -> list[tuple[int, int]]:
    """(epoch, start offset) of each entry, strictly rising. Raises DamagedError."""
    entries = [_numbers(path, words, of=2) for words in _entries(path)]
    if not all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries)):
        raise DamagedError(f"{path.name}: epochs or offsets that do not rise: {entries[-3:]}")
    return [(epoch, offset) for epoch, offset in entries]


def read_offsets(path: Path) -> dict[str, int]:
    """`replication-offset-checkpoint` and its like: the offset of each partition, as "topic-0".

    A missing file names no partition. Raises DamagedError.
    """
    if not path.exists():
        return {}
    found = {}
    for words in _entries(path):
        partition, offset = _numbers(path, words[1:], of=2)
        found[f"{words[0]}-{partition}"] = offset
    return found


def read_topic_id(path: Path) -> str:
    """The topic id in `partition.metadata`. Raises DamagedError."""
    pairs = dict(line.split(": ", 1) for line in _text(path).splitlines() if ": " in line)
    if pairs.get("version") != "0" or "topic_id" not in pairs:
        raise DamagedError(f"{path.name}: {pairs}")
    return pairs["topic_id"]


def read_clean_shutdown(path: Path) -> int | None:
    """The broker epoch in the clean-shutdown file, -1 if the file has none; None: there is no file.

    A broker writes the file last of all when it stops and deletes it when it starts. Until KIP-966
    it was empty. Raises DamagedError.
    """
    if not path.exists():
        return None
    if not path.stat().st_size:
        return -1
    try:
        return int(json.loads(_text(path))["brokerEpoch"])
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise DamagedError(f"{path.name}: {type(error).__name__} {error}") from error


def _entries(path: Path) -> list[list[str]]:
    """The lines of a checkpoint after its version, 0, and their number. Raises DamagedError.

    A node leaves the file empty until it has an entry.
    """
    lines = (_text(path) or "0\n0\n").split("\n")
    entries = [line.split() for line in lines[2:] if line]
    if lines[:2] != ["0", str(len(entries))]:
        told = ", ".join(
            f"{what} {line}" for what, line in zip(("version", "entries"), lines, strict=False)
        )
        raise DamagedError(f"{path.name}: {told}, and {len(entries)} follow")
    return entries


def _numbers(path: Path, words: list[str], *, of: int) -> list[int]:
    try:
        numbers = [int(word) for word in words]
    except ValueError as error:
        raise DamagedError(f"{path.name}: {error}") from error
    if len(numbers) != of:
        raise DamagedError(
            f"{path.name}: {counted(len(numbers), 'number')} where {of} should be: {numbers}"
        )
    return numbers


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path.name}: {error}") from error


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
