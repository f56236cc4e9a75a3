"""A scenario of a single window, for tests that look at one fault."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.schedule import Schedule, Window
from chaos.scenario import Scenario

NAME = "toothless"


def scenario_of(fault: Fault) -> Scenario:
    """It fires soon, and is held for a second or so."""
    window = Window(at_s=0.3, hold_s=1.2, fault=fault)

    def draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
        del rng, nodes
        return Schedule(duration_s=duration_s, windows=(window,))

    return Scenario(name=NAME, summary="one fault", description="", faults=(fault,), draw=draw)
