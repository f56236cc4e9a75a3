"""The small text files of a log directory: who it belongs to, and what its node voted."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from checkers.disk.fields import DamagedError

NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"  # the zero uuid: none


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    cluster_id: str | None
    node_id: int
    directory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """Version 0 forgets the directory of the vote. -1: none."""

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
    """One line of JSON, `data_version` 0 or 1 (facts: records 5). Raises DamagedError."""
    try:
        found = json.loads(_text(path))
        directory = found.get("votedDirectoryId")
        return QuorumState(
            epoch=int(found["leaderEpoch"]),
            leader=int(found["leaderId"]),
            voted=int(found["votedId"]),
            voted_directory=None if directory in (None, "", NO_DIRECTORY) else str(directory),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path.name}: {type(error).__name__} {error}") from error


def read_leader_epochs(path: Path) -> list[tuple[int, int]]:
    """(epoch, start offset) of each entry, strictly rising. Raises DamagedError."""
    lines = _text(path).split("\n")
    try:
        version, count = int(lines[0]), int(lines[1])
        entries = [(int(e), int(o)) for e, o in (line.split() for line in lines[2:] if line)]
    except (ValueError, IndexError) as error:
        raise DamagedError(f"{path.name}: {error}") from error
    rising = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries))
    if version != 0 or count != len(entries) or not rising:
        raise DamagedError(f"{path.name}: version {version}, {count} entries: {entries[-3:]}")
    return entries


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedError(f"{path.name}: {error}") from error
