"""Collects what a cluster leaves, and records what has to be there.

Nodes that trace are shut down cleanly first: the last line of a trace then says that it is the
last, and the engine has delivered all buffered output. A kept cluster goes on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.cluster.interface import Cluster, NodeId, NodeStatus, UnaskedEnd
from chaos.inventory import take, trace_lines

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
