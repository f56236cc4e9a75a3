"""Where clusters come from: the one place that knows runtimes and targets by name.

A runtime makes a cluster out of a name and a number of nodes, or finds one that is up. Everything
else in the harness sees `chaos.cluster.interface.Cluster` only.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaos.cluster.interface import Cluster


class Runtime(Protocol):
    def new(self, *, run_id: str, nodes: int, target: str, keep: bool, directory: Path) -> Cluster:
        """A cluster that does not exist yet. With `keep` it outlives the process that made it.

        `directory` is where logs are saved should this process die.
        """

    def attach(self, run_id: str) -> Cluster:
        """A cluster that is up. Raises what the runtime says when there is none of that name."""

    def let_go(self, cluster: Cluster) -> None:
        """Close what this process holds of a cluster that stays up."""

    def why_lacking(self, cluster: Cluster) -> str:
        """Why a cluster of this runtime cannot do all that others of it can; "" if it can."""


@dataclass(frozen=True, slots=True)
class DockerRuntime:
    """Containers; imported when asked for, since the engine's libraries take their time."""

    def new(self, *, run_id: str, nodes: int, target: str, keep: bool, directory: Path) -> Cluster:
        from chaos.cluster.docker.cluster import DockerCluster

        del target  # `node` is the only one
        return DockerCluster.new(run_id=run_id, nodes=nodes, keep=keep, directory=directory)

    def attach(self, run_id: str) -> Cluster:
        from chaos.cluster.docker.cluster import DockerCluster

        return DockerCluster.attach(run_id)

    def let_go(self, cluster: Cluster) -> None:
        from chaos.cluster.docker.cluster import DockerCluster

        if isinstance(cluster, DockerCluster):
            cluster.let_go()

    def why_lacking(self, cluster: Cluster) -> str:
        from chaos.cluster.docker.cluster import DockerCluster

        return cluster.no_power if isinstance(cluster, DockerCluster) else ""


RUNTIMES: dict[str, Runtime] = {"docker": DockerRuntime()}
TARGETS = ("node",)
