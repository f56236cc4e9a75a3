"""When a fault hits: not at rest only, but between any two effects or operations of a disk.

A fault that comes at a moment of virtual time would nearly always find its victims waiting, since
steps take no time. So a strike waits for a drawn number of effects and disk operations of its
victims, and hits before the next one; if they do too little for that in a short time, it hits then.
"""

import asyncio
import random
from collections.abc import Callable, Sequence

from chaos.cluster.interface import NodeStatus
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.sim.surroundings import Between, StruckError

_MOST_EFFECTS = 40  # of a few requests under a light load
_WITHIN_S = 0.1


async def strike(victims: Sequence[Machine], rng: random.Random, deed: Callable[[], None]) -> None:
    """Do `deed` once, at a drawn point of what the victims do; done when this returns."""
    left = rng.randrange(_MOST_EFFECTS)
    done = asyncio.get_running_loop().create_future()

    def hit() -> None:
        if not done.done():
            for victim in victims:
                victim.between = None
            done.set_result(None)
            deed()

    def between_of(victim: Machine) -> Between:
        def between() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                hit()
                if victim.status is NodeStatus.OFF:
                    raise StruckError

        return between

    for victim in victims:
        victim.between = between_of(victim)
    timer = asyncio.get_running_loop().call_later(_WITHIN_S, hit)
    try:
        await done
    finally:
        timer.cancel()
        for victim in victims:
            victim.between = None
