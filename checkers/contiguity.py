"""A log on a disk has no holes."""

from itertools import pairwise

from checkers.conclusion import Violation, conclude
from checkers.history.run import Run
from checkers.verdict import CheckResult, EventValue

Row = dict[str, EventValue]
NAMES = ["node", "base_offset", "last_offset", "epoch", "segment", "position", "size", "crc_ok"]


def logs_have_no_holes(run: Run) -> CheckResult:
    """On each disk, every batch begins where the one before it ended. Needs: log_batches.

    The metadata log gives every offset to a record, and drops nothing but whole segments at its
    head. Two intact batches that follow one another and leave offsets out (or give one twice) are
    therefore no damage, which would leave a mark in between or in a CRC: records are missing that
    a node counted as stored. Nothing is said of the neighbours of a damaged batch, nor across the
    end of a segment, behind which unreadable bytes may have stood: that disk is not whole.
    """
    violations: list[Violation] = []
    batches = run.tables["log_batches"].select(NAMES).to_pylist()
    by_node: dict[int, list[Row]] = {}
    for row in batches:
        by_node.setdefault(row["node"], []).append(row)
    for node, rows in sorted(by_node.items()):
        violations += [_hole(node, a, b) for a, b in pairwise(rows) if _is_hole(a, b)]
    return conclude(
        "log-contiguous",
        looked_at=len(batches),
        unit="batches on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins where the one before it ended",
        algorithm="neighbours by place in their segments",
    )


def _is_hole(before: Row, after: Row) -> bool:
    """Rows in the order in which they stand on the disk."""
    together = before["segment"] == after["segment"] and before["crc_ok"] and after["crc_ok"]
    return bool(together) and _number(after["base_offset"]) != _number(before["last_offset"]) + 1


def _number(value: EventValue) -> int:
    assert isinstance(value, int)
    return value


def _hole(node: int, before: Row, after: Row) -> Violation:
    ended, begins = before["last_offset"], after["base_offset"]
    return Violation(
        message=f"node {node}: offset {ended} is followed by {begins} on its disk",
        witness=[
            {"what": "stands before" if row is before else "stands after it", **row}
            for row in (before, after)
        ],
    )
