"""A scenario of a single window, or of some that never meet, for tests that look at each fault."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.script import Schedule, Window
from chaos.scenario import Scenario

NAME = "toothless"
_APART_S = 4.5  # whoever was elected meanwhile leads, and is found


def scenario_of(*faults: Fault) -> Scenario:
    """The first fires soon; each is held for a second or so."""
    windows = tuple(
        Window(at_s=0.3 + _APART_S * number, hold_s=1.2, fault=fault)
        for number, fault in enumerate(faults)
    )

    def draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
        del rng, nodes
        return Schedule(duration_s=duration_s, windows=windows)

    return Scenario(
        name=NAME,
        summary="one fault after the other",
        description="",
        faults=tuple(faults),
        draw=draw,
        default_duration_s=2.0 + _APART_S * (len(faults) - 1),
    )
