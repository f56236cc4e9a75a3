"""Runtimes, which make clusters: the one place that knows runtimes and targets by name.

A runtime makes a cluster with a name and a number of nodes, or finds a running one. Everything
else in the harness sees `chaos.cluster.interface.Cluster` only. A run takes place in a world: this
machine's, where its runtime makes containers, or a simulated one, with virtual time.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chaos.cluster.interface import Cluster, Hosted, StandingCluster
from chaos.conditions import Conditions
from chaos.recorder import Clock, MachineClock
from chaos.scenario import SIM as SIM

DOCKER = "docker"
_USUAL = Conditions()
_NONE: Mapping[str, str] = {}

T = TypeVar("T")


class Runtime(Protocol):
    def why_not(self) -> str:
        """Why this machine can run no cluster, set up or not; "" where it can."""

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
        """A cluster that is not created yet. With `keep` it outlives the process that made it.

        `directory` is where the next run saves the logs if this process dies; `settings` are the
        target's, `nodes` as its layout counts them (`chaos.cluster.targets`); `mutation` is planted
        in every node (`chaos.bugs`). A runtime without simulated network and disk ignores
        those of the conditions.
        """

    def attach(self, run_id: str) -> Cluster:
        """A running cluster. Raises UsageError if there is none with that name."""

    def standing(self) -> Sequence[StandingCluster]:
        """All clusters of this user that are there, by name."""


@dataclass(frozen=True, slots=True)
class DockerRuntime:
    """Containers; imported on demand, since the engine's libraries are slow to load."""

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

    def standing(self) -> Sequence[StandingCluster]:
        from chaos.cluster.docker.clusters import standing_clusters

        return standing_clusters()


class World(Protocol):
    """The world of one run. Used once."""

    @property
    def clock(self) -> Clock: ...

    @property
    def syncs(self) -> bool:
        """Whether recorded events have to survive a crash of the machine."""

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
        """The duration of the run, for people; "" where it is obvious."""


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


RUNTIMES: dict[str, Runtime] = {DOCKER: DockerRuntime()}  # those with clusters that can be kept


def world_of(runtime: str, *, seed: int, mutation: str, conditions: Conditions = _USUAL) -> World:
    """The world of a run, with a bug planted in its nodes unless `mutation` is empty."""
    if runtime != SIM:
        return HostWorld(RUNTIMES[runtime], mutation, conditions)
    from chaos.cluster.sim.world import SimWorld  # imports the node

    return SimWorld(seed=seed, mutation=mutation, conditions=conditions)


def let_go(cluster: Cluster) -> None:
    """Close this process's connections to a cluster that stays up."""
    if isinstance(cluster, Hosted):
        cluster.let_go()


def why_lacking(cluster: Cluster) -> str:
    """Why a cluster lacks a power that its runtime can have."""
    why = cluster.no_power if isinstance(cluster, Hosted) else ""
    return why or "this cluster does not support it"
