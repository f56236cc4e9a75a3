"""The last lines of each node's collected logs."""

from collections import deque
from pathlib import Path

LAST_LINES = 3
_LONGEST = 300


def last_words(directory: Path, nodes: int) -> dict[str, list[str]]:
    """The last lines of each node's error output, or of its log where that is empty."""
    return {str(node): _last_lines(directory / "logs", node) for node in range(1, nodes + 1)}


def _last_lines(logs: Path, node: int) -> list[str]:
    for suffix in ("err", "log"):
        path = logs / f"node-{node}.{suffix}"
        if path.exists() and path.stat().st_size:
            with path.open(encoding="utf-8", errors="replace") as lines:
                last = deque((line.strip() for line in lines if line.strip()), LAST_LINES)
            return [line[:_LONGEST] for line in last]
    return []
