"""What was on disks that were wiped: kept for the judge until the cluster is collected."""

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from docker.models.containers import Container

from chaos.cluster.docker.salvage import save_disk
from chaos.cluster.interface import NodeId
from chaos.cluster.topology import lost_disk


class LostDisks:
    """Of one cluster, by node and in order."""

    def __init__(self) -> None:
        self._kept = TemporaryDirectory(prefix="kraft-chaos-lost-")
        self._counts: Counter[NodeId] = Counter()

    def keep(self, node: NodeId, container: Container) -> None:
        """Copy the log directories of a node that is off."""
        self._counts[node] += 1
        save_disk(container, Path(self._kept.name) / lost_disk(node, self._counts[node]))

    def move(self, into: Path) -> None:
        """To where the other disks of a run are."""
        shutil.copytree(self._kept.name, into / "disks", dirs_exist_ok=True)

    def drop(self) -> None:
        self._kept.cleanup()
