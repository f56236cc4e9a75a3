"""What was on disks that were wiped: kept for the judge until the cluster is collected."""

import shutil
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from docker.models.containers import Container

from chaos.cluster.docker.salvage import save_disk
from chaos.cluster.interface import NodeId
from chaos.cluster.topology import lost_disk


class LostDisks:
    """Of one cluster, by node and in order. Disks of several nodes may be kept at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: TemporaryDirectory[str] | None = None
        self._counts: Counter[NodeId] = Counter()

    def keep(self, node: NodeId, container: Container) -> None:
        """Copy the log directories of a node that is off."""
        save_disk(container, self._place(node))

    def move(self, into: Path) -> None:
        """To where the other disks of a run are."""
        if self._kept is not None:
            shutil.copytree(self._kept.name, into / "disks", dirs_exist_ok=True)

    def drop(self) -> None:
        if self._kept is not None:
            self._kept.cleanup()

    def _place(self, node: NodeId) -> Path:
        """For the next lost disk of a node. Of two that were lost at once the first has all made
        when the second comes: each with a directory of its own, one would hide the other."""
        with self._lock:
            if self._kept is None:
                self._kept = TemporaryDirectory(prefix="kraft-chaos-lost-")
            self._counts[node] += 1
            return Path(self._kept.name) / lost_disk(node, self._counts[node])
