"""One simulated run's own world: loop, clock and cluster, with a bug planted or not."""

import gc
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from chaos.bugs.planted import planted_by
from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import Cluster
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.surroundings import VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from chaos.conditions import Conditions
from chaos.setup.shell import module_name

# Modules of the node that the simulator replaces.
_NOT_SIMULATED = frozenset(
    module_name(f"node.server.{name}") for name in ("cli", "run", "shell", "real_disk")
)

_NEW_OBJECTS = 50_000  # after so many the collector looks at them; a second has some hundred
T = TypeVar("T")


class SimWorld:
    """`chaos.run.runtimes.World` from a seed; used once."""

    syncs = False  # a run that dies with the machine is repeated from its seed

    def __init__(
        self, *, seed: int, mutation: str = "", conditions: Conditions | None = None
    ) -> None:
        self._seed = seed
        self._conditions = conditions or Conditions()
        self._mutation = mutation
        self._planted = planted_by(mutation) if mutation else None
        where = self._planted.modules if self._planted is not None else ()
        if lacking := sorted(_NOT_SIMULATED.intersection(where)):
            raise ClusterError(
                f"{mutation} cannot be planted in virtual time: it changes {lacking[0]}, which "
                "simulated nodes do not run\n  try: --runtime docker"
            )
        self._loop = VirtualLoop()
        self._watchdog = Watchdog(lambda: self._loop.is_signalled)
        self._real_s = 0.0
        self.clock = VirtualClock(self._loop, seed)

    def cluster(
        self,
        *,
        run_id: str,
        nodes: int,
        target: str,
        keep: bool,
        directory: Path | None,
        settings: Mapping[str, str] | None = None,
    ) -> Cluster:
        del run_id, directory  # no other process sees it, and nothing outlives this one
        assert target == "node", "the command line refuses others"
        if keep:
            raise ClusterError(
                "a simulated cluster ends with its run: nothing of it can be kept\n"
                "  try: without --keep, or with --runtime docker"
            )
        return SimCluster(
            loop=self._loop,
            clock=self.clock,
            nodes=nodes,
            seed=self._seed,
            watchdog=self._watchdog,
            mutation=self._mutation,
            conditions=self._conditions,
            settings=settings,
        )

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """The nodes live in this process: so does what is planted in them, until it ends."""
        planted = self._planted.planted() if self._planted is not None else nullcontext()
        began = time.perf_counter()
        try:
            with planted, _old_objects_kept(), self._watchdog.awake():
                return run(main, self._loop)
        finally:
            self._real_s = time.perf_counter() - began

    @property
    def virtual_s(self) -> float:
        return self._loop.elapsed_ns / 1e9

    def account(self) -> str:
        """How much virtual time went by, and how fast."""
        virtual_s = self.virtual_s
        return (
            f"simulated {virtual_s:.1f} s in {self._real_s:.1f} s: "
            f"{virtual_s / self._real_s:.1f} virtual seconds a second"
        )


@contextmanager
def _old_objects_kept() -> Iterator[None]:
    """What was imported or made before a run is no garbage by its end: the collector, which would
    walk all of it every few thousand steps, is told so, and comes seldom: a run makes few cycles.
    What it left is collected before all that is old counts again: else that takes ten times as
    long."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        yield
    finally:
        gc.collect()
        gc.set_threshold(*usual)
        gc.unfreeze()
