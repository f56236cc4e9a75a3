"""Collects what a cluster leaves, with an inventory by which later losses are found.

`inventory.json` names every file of evidence, with its size and CRC, and `run.json` has the
inventory's own CRC. Sealing reads all of them back and compares.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crc32c import crc32c

from chaos.cluster.interface import Cluster, NodeId, NodeStatus, UnaskedEnd
from checkers.history.sealed_run import laid_out
from checkers.history.store import replace_file

INVENTORY = "inventory.json"
_TRACE = re.compile(r"logs/node-(\d+)\.log")
# A broker derives these from its segments, which are collected: megabytes that are never read.
_DERIVED = (".index", ".timeindex", ".txnindex")
_BLOCK = 1 << 20

_Entries = Mapping[str, Mapping[str, int]]


class InventoryError(Exception):
    """The inventory itself was changed."""


def take(directory: Path, *, syncs: bool = True) -> int:
    """Write a run's inventory; returns its own CRC."""
    entries = {name: _entry(directory / name) for name in _evidence(directory)}
    data = laid_out(entries, sort_keys=True)
    replace_file(directory / INVENTORY, data, syncs=syncs)
    return crc32c(data)


def trace_lines(directory: Path) -> dict[str, int]:
    """By node: the number of lines of its log that begin as trace lines do."""
    found = {}
    for name in _evidence(directory):
        if match := _TRACE.fullmatch(name):
            with (directory / name).open("rb") as lines:
                found[match[1]] = sum(line.startswith(b"{") for line in lines)
    return found


def differences(directory: Path, own_crc32c: int, *, read: bool) -> dict[str, str]:
    """Files that changed after they were collected, and how.

    Without `read` only their sizes are compared.
    """
    try:
        entries = _load(directory, own_crc32c)
    except InventoryError as error:
        return {INVENTORY: str(error)}
    found = {}
    for name, entry in entries.items():
        if what := _difference(directory / name, entry, read=read):
            found[name] = what
    return found


def has_any_file(directory: Path, own_crc32c: int) -> bool:
    """Whether any collected file is here: of an archived run there may be only the seal."""
    try:
        return any((directory / name).exists() for name in _load(directory, own_crc32c))
    except InventoryError:
        return next(_evidence(directory), None) is not None


def _load(directory: Path, own_crc32c: int) -> _Entries:
    try:
        data = (directory / INVENTORY).read_bytes()
    except OSError as error:
        raise InventoryError(f"{error.strerror}") from error
    if crc32c(data) != own_crc32c:
        raise InventoryError("is not the one that run.json names")
    entries: _Entries = json.loads(data)
    return entries


def _difference(path: Path, entry: Mapping[str, int], *, read: bool) -> str:
    try:
        size = path.stat().st_size
    except OSError:
        return "is gone"
    if size != entry["bytes"]:
        return f"has {size:,} bytes of {entry['bytes']:,}"
    if read and _crc32c(path) != entry["crc32c"]:
        return "has other bytes than it had when it was collected"
    return ""


def _evidence(directory: Path) -> Iterator[str]:
    """The names of files, as paths in a run's directory."""
    yield from sorted(path.name for path in directory.glob("events-*.jsonl.zst"))
    for below in ("logs", "disks"):
        if (directory / below).is_dir():
            yield from sorted(_below(str(directory), below))


def _below(directory: str, name: str) -> Iterator[str]:
    """Without a Path for each: disks of brokers hold hundreds of files."""
    with os.scandir(f"{directory}/{name}") as entries:
        for entry in entries:
            found = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _below(directory, found)
            elif entry.is_file() and not found.endswith(_DERIVED):
                yield found


def _entry(path: Path) -> dict[str, int]:
    return {"bytes": path.stat().st_size, "crc32c": _crc32c(path)}


def _crc32c(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = crc32c(block, found)
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
