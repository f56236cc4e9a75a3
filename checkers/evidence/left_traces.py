"""What is missing in the nodes' traces: nodes, processes, lines, ends.

Each process of a node numbers its lines from 0 and, if it ends in good order, prints `n.stop` last.
The harness counts the processes that it started and that answered, how the last process of each
node ended, and the lines that it collected.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from checkers.counted import counted
from checkers.history.sealed_run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """A summary of one process' lines."""

    node: int
    lines: int
    first: int  # the lowest line number, and the highest
    last: int
    began_ns: int
    stopped: bool  # the line with the highest number is n.stop

    @property
    def is_whole(self) -> bool:
        return self.first == 0 and self.last == self.lines - 1


def missing_traces(run: Run) -> Iterator[tuple[str, str]]:
    """The nodes with missing trace lines, and what is missing."""
    events = run.tables["node_events"]
    accounts = _accounts(events)
    for node in range(1, run.info.nodes + 1):
        mine = [account for account in accounts if account.node == node]
        for what in _missing_of(run, node, mine):
            yield f"node {node}", what


def _missing_of(run: Run, node: int, mine: list[_Account]) -> Iterator[str]:
    name, info = str(node), run.info
    if not mine:
        yield "it left no trace"
        return
    for account in mine:
        if not account.is_whole:
            lines = account.last - account.first + 1 - account.lines + account.first
            yield f"{lines:,} of {account.last + 1:,} lines of one process are missing"
    started = info.starts.get(name, 0)
    if len(mine) < started:
        yield f"{started} of its processes answered, but {len(mine)} left a trace"
    last = max(mine, key=lambda account: account.began_ns)
    if info.endings.get(name) == "stopped" and not last.stopped:
        yield "it was stopped in good order, but its trace does not end with that"
    collected = info.trace_lines.get(name)
    found = sum(account.lines for account in mine) + run.broken_lines.get(name, 0)
    if collected is not None and found != collected:
        yield f"{counted(collected, 'line was', 'lines were')} collected, but {found:,} are left"


def _accounts(events: pa.Table) -> list[_Account]:
    known = events.filter(events["seq"].is_valid())
    stops = {
        (row["node"], row["directory"], row["incarnation"]): row["seq"]
        for row in known.filter(pa.compute.equal(known["event"], "n.stop")).to_pylist()
    }
    grouped = known.group_by(["node", "directory", "incarnation"]).aggregate(
        [("seq", "count"), ("seq", "min"), ("seq", "max"), ("t", "min")]
    )
    return [
        _Account(
            node=row["node"],
            lines=row["seq_count"],
            first=row["seq_min"],
            last=row["seq_max"],
            began_ns=row["t_min"],
            stopped=stops.get((row["node"], row["directory"], row["incarnation"]))
            == row["seq_max"],
        )
        for row in grouped.to_pylist()
    ]
