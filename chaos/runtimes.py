"""Where clusters come from: the one place that knows runtimes and targets by name.

A runtime makes a cluster out of a name and a number of nodes, or finds one that is up. Everything
else in the harness sees `chaos.cluster.interface.Cluster` only.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaos.cluster.interface import Cluster, Hosted


class Runtime(Protocol):
    def new(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        mutation: str = "",
    ) -> Cluster:
        """A cluster that does not exist yet. With `keep` it outlives the process that made it.

        `directory` is where the next run saves logs should this process die; `mutation` is planted
        in every node (`chaos.mutations`).
        """

    def attach(self, run_id: str) -> Cluster:
        """A cluster that is up. Raises what the runtime says when there is none of that name."""


@dataclass(frozen=True, slots=True)
class DockerRuntime:
    """Containers; imported when asked for, since the engine's libraries take their time."""

    def new(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        mutation: str = "",
    ) -> Cluster:
        from chaos.cluster.docker.cluster import DockerCluster
        from chaos.cluster.targets.node import OwnNode

        del target  # `node` is the only one
        return DockerCluster.new(
            run_id=run_id,
            nodes=nodes,
            keep=keep,
            directory=directory,
            target=OwnNode(mutation=mutation),
        )

    def attach(self, run_id: str) -> Cluster:
        from chaos.cluster.docker.cluster import DockerCluster

        return DockerCluster.attach(run_id)


RUNTIMES: dict[str, Runtime] = {"docker": DockerRuntime()}
TARGETS = ("node",)


def let_go(cluster: Cluster) -> None:
    """Close what this process holds of a cluster that stays up."""
    if isinstance(cluster, Hosted):
        cluster.let_go()


def why_lacking(cluster: Cluster) -> str:
    """Why a cluster cannot do all that others of its runtime can."""
    why = cluster.no_power if isinstance(cluster, Hosted) else ""
    return why or "this cluster has no such power"
