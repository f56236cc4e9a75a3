"""Collects what a cluster leaves, with an inventory by which later losses are found.

Sealing reads all of them back and compares (`checkers.history.inventory`).
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from chaos.cluster.interface import Cluster, NodeId, NodeStatus, UnaskedEnd
from checkers.history.inventory import INVENTORY, evidence_files, inventory_of
from checkers.history.store import replace_file

_TRACE = re.compile(r"logs/node-(\d+)\.log")


def take(directory: Path, *, syncs: bool = True) -> int:
    """Write a run's inventory; returns its own CRC."""
    data = inventory_of(directory)
    replace_file(directory / INVENTORY, data, syncs=syncs)
    return crc32c(data)


def trace_lines(directory: Path) -> dict[str, int]:
    """By node: the number of lines of its log that begin as trace lines do."""
    found = {}
    for name in evidence_files(directory):
        if match := _TRACE.fullmatch(name):
            with (directory / name).open("rb") as lines:
                found[match[1]] = sum(line.startswith(b"{") for line in lines)
    return found


# Collects what a cluster leaves, and records what has to be there.
#
# Nodes that trace are shut down cleanly first: the last line of a trace then says that it is the
# last, and the engine has delivered all buffered output. A kept cluster goes on.


STOPPED, KILLED, RUNS, OFF = "stopped", "killed", "runs", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """By node, as in `RunInfo`."""

    endings: dict[str, str] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    trace_lines: dict[str, int] = field(default_factory=dict)
    unasked_ends: Sequence[UnaskedEnd] = ()
    inventory_crc32c: int | None = None


async def collect(
    cluster: Cluster, directory: Path, *, keeps: bool, syncs: bool = True
) -> Collected:
    """Logs and disks of all nodes; with `keeps` their processes go on.

    A node that cannot be stopped runs on, and its disk is copied all the same.
    """
    stops = cluster.traces and not keeps
    endings = await asyncio.gather(
        *(_end(cluster, node, stops=stops) for node in cluster.nodes), return_exceptions=True
    )
    await cluster.collect(directory)
    return Collected(
        endings={
            str(node): end if isinstance(end, str) else RUNS
            for node, end in zip(cluster.nodes, endings, strict=True)
        },
        starts={str(node): count for node, count in cluster.starts.items()},
        trace_lines=trace_lines(directory) if cluster.traces else {},
        unasked_ends=await cluster.unasked_ends(),  # also of those that failed as they stopped
        inventory_crc32c=take(directory, syncs=syncs),
    )


async def _end(cluster: Cluster, node: NodeId, *, stops: bool) -> str:
    if await cluster.status(node) is NodeStatus.OFF:
        return OFF
    if not stops:
        return RUNS
    return STOPPED if await cluster.stop(node) else KILLED
