"""Finds the log directories of nodes below any directory, and the node that each belongs to.

A log directory has a `meta.properties`. A node may have several (log.dirs, metadata.log.dir), each
of which names the node; all of one cluster name the cluster.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from checkers.disk.fields import DamagedError
from checkers.disk.files import read_meta_properties
from checkers.disk.metadata_log import METADATA_LOG

_META = "meta.properties"
_DEEPEST = 6  # below the directory that was named
_MOST = 50_000  # directories looked into


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDisks:
    """By node, its log directories. `strange` says why others belong to no node."""

    by_node: Mapping[int, Sequence[Path]]
    strange: Sequence[str]


class MixedDisksError(Exception):
    """The directories belong to several clusters, or twice to one node; the message says which."""


def find_disks(directory: Path) -> FoundDisks | None:
    """None if there is no log directory. Raises MixedDisksError, OSError."""
    by_node: dict[int, list[Path]] = {}
    clusters: dict[str, Path] = {}
    strange: list[str] = []
    found = sorted(_log_directories(directory))
    for path in found:
        try:
            meta = read_meta_properties(path / _META)
        except DamagedError as error:
            strange.append(f"{path}: {error}")
            continue
        if meta.cluster_id is not None:
            clusters.setdefault(meta.cluster_id, path)
        by_node.setdefault(meta.node_id, []).append(path)
    if not found:
        return None
    if len(clusters) > 1:
        (one, at_one), (two, at_two) = list(clusters.items())[:2]
        raise MixedDisksError(f"disks of one cluster, found {one} in {at_one}, {two} in {at_two}")
    for node, paths in by_node.items():
        twice = [path for path in paths if (path / METADATA_LOG).is_dir()]
        if len(twice) > 1:
            raise MixedDisksError(
                f"one metadata log of node {node}, found one in {twice[0]}, one in {twice[1]}"
            )
    return FoundDisks(by_node=dict(sorted(by_node.items())), strange=strange)


def _log_directories(directory: Path) -> Iterator[Path]:
    """Directories with a `meta.properties`, and those with partitions but without one."""
    top = len(directory.parts)
    for name, inside, files in islice(os.walk(directory), _MOST):
        path = Path(name)
        if _META in files:
            yield path
            inside.clear()
        elif METADATA_LOG in inside:
            yield path  # belongs to no node, as nothing names one
            inside.clear()
        elif len(path.parts) - top >= _DEEPEST:
            inside.clear()
