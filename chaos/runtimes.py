"""Where clusters come from: the one place that knows runtimes and targets by name.

A runtime makes a cluster out of a name and a number of nodes, or finds one that is up. Everything
else in the harness sees `chaos.cluster.interface.Cluster` only. A run takes place in a world: this
machine's, where its runtime makes containers, or a simulated one, with a time of its own.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chaos.clock import Clock, MachineClock
from chaos.cluster.interface import Cluster, Hosted
from chaos.conditions import Conditions
from chaos.scenario import SIM as SIM

DOCKER = "docker"
_USUAL = Conditions()
_NONE: Mapping[str, str] = {}

T = TypeVar("T")


class Runtime(Protocol):
    def why_not(self) -> str:
        """Why there can be no cluster on this machine, set up or not; "" where there can."""

    def new(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] = _NONE,
        mutation: str = "",
        conditions: Conditions = _USUAL,
    ) -> Cluster:
        """A cluster that does not exist yet. With `keep` it outlives the process that made it.

        `directory` is where the next run saves logs should this process die; `settings` are the
        target's, `nodes` as its layout counts them (`chaos.cluster.targets`); `mutation` is planted
        in every node (`chaos.mutations`). A runtime that cannot have the conditions' network and
        disk leaves them to the machine.
        """

    def attach(self, run_id: str) -> Cluster:
        """A cluster that is up. Raises what the runtime says when there is none of that name."""


@dataclass(frozen=True, slots=True)
class DockerRuntime:
    """Containers; imported when asked for, since the engine's libraries take their time."""

    def why_not(self) -> str:
        from chaos.setup.docker_engine import why_not_to_be_had

        return why_not_to_be_had()

    def new(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] = _NONE,
        mutation: str = "",
        conditions: Conditions = _USUAL,
    ) -> Cluster:
        from chaos.cluster.docker.clusters import new_cluster
        from chaos.cluster.targets.named import layout

        made, count = layout(target, nodes, settings, mutation=mutation, conditions=conditions)
        return new_cluster(run_id=run_id, nodes=count, keep=keep, directory=directory, target=made)

    def attach(self, run_id: str) -> Cluster:
        from chaos.cluster.docker.clusters import attached_cluster

        return attached_cluster(run_id)


class World(Protocol):
    """What one run needs of where it takes place. Used once."""

    @property
    def clock(self) -> Clock: ...

    @property
    def syncs(self) -> bool:
        """Whether what is recorded has to survive the machine."""

    def cluster(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] = _NONE,
    ) -> Cluster:
        """See `Runtime.new`; called within `run`."""

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """As `asyncio.run`."""

    def account(self) -> str:
        """What the run took, for a person; "" where that goes without saying."""


class HostWorld:
    """This machine, and the clusters that a runtime makes on it."""

    syncs = True

    def __init__(self, runtime: Runtime, mutation: str, conditions: Conditions) -> None:
        self._runtime = runtime
        self._mutation = mutation
        self._conditions = conditions
        self.clock = MachineClock()

    def cluster(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] = _NONE,
    ) -> Cluster:
        return self._runtime.new(
            run_id=run_id,
            nodes=nodes,
            target=target,
            settings=settings,
            keep=keep,
            directory=directory,
            mutation=self._mutation,
            conditions=self._conditions,
        )

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(main)

    def account(self) -> str:
        return ""


RUNTIMES: dict[str, Runtime] = {DOCKER: DockerRuntime()}  # whose clusters can be kept


def world_of(runtime: str, *, seed: int, mutation: str, conditions: Conditions = _USUAL) -> World:
    """The world of a run, with a bug planted in its nodes unless `mutation` is empty."""
    if runtime != SIM:
        return HostWorld(RUNTIMES[runtime], mutation, conditions)
    from chaos.cluster.sim.world import SimWorld  # brings the node along

    return SimWorld(seed=seed, mutation=mutation, conditions=conditions)


def let_go(cluster: Cluster) -> None:
    """Close what this process holds of a cluster that stays up."""
    if isinstance(cluster, Hosted):
        cluster.let_go()


def why_lacking(cluster: Cluster) -> str:
    """Why a cluster cannot do all that others of its runtime can."""
    why = cluster.no_power if isinstance(cluster, Hosted) else ""
    return why or "this cluster has no such power"
