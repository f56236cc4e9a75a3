"""A scenario: a story that a cluster is put through, as a value."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from chaos.nemesis.faults import Fault, Need, needs_of
from chaos.nemesis.schedule import Schedule
from chaos.trial import Trial

SIM = "sim"  # the runtime of virtual time


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens, and why it is worth watching.

    `draw` gives the schedule of one run from its own random numbers, the number of nodes and the
    seconds of hurting; the same arguments always give the same schedule.
    """

    name: str
    story: str  # one line
    description: str
    faults: tuple[Fault, ...]  # every fault that it may use
    draw: Callable[[random.Random, int, float], Schedule]
    default_duration_s: float = 30.0
    live_keys: int = 5  # of the load; with many, each is written rarely
    rate: float = 0.0  # operations/s where the user asks for none; 0: no limit
    # Where the seed decides more than the schedule: nodes, load, time-outs, network and disks too.
    # Of the seed and, where somebody asks for them, the seconds of hurting and how many nodes.
    trial: Callable[[int, float | None, int | None], Trial] | None = None

    @property
    def needs(self) -> frozenset[Need]:
        """The powers without which the story cannot be told."""
        return needs_of(self.faults)

    def plan(self, *, seed: int, nodes: int, duration_s: float) -> Schedule:
        """The schedule of a run."""
        return self.draw(random.Random(f"{seed}:schedule"), nodes, duration_s)
