"""The leader dies, takes its leave, or stands still and comes back believing that it leads."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario

_SLOT_S = 7.5
_FAULTS: tuple[Fault, ...] = (
    Kill(victim=ControllerLeader()),
    Pause(victim=ControllerLeader()),
    Terminate(victim=ControllerLeader()),
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All three in turn, beginning with any; a short run has time for two."""
    del nodes
    order = rng.sample(_FAULTS, len(_FAULTS))
    rounds = max(2, round(duration_s / _SLOT_S))
    faults = [order[number % len(order)] for number in range(rounds)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.55)


KILL_LEADER = Scenario(
    name="kill-leader",
    summary="the leader is killed, stopped in good order, or paused, and comes back",
    exists_for=("durability", "Q17-no-leader-again", "Q11-leader-completeness"),
    description=(
        "SIGKILL takes the process but not the page cache; the restarted node must remember its "
        "vote and epoch and must not lead again in its old epoch. After SIGTERM it hands over "
        "before it goes (EndQuorumEpoch), and the others elect at once instead of waiting for a "
        "time-out. A paused leader sleeps through an election and wakes up in a past in which it "
        "leads: it must not answer a single read."
    ),
    faults=_FAULTS,
    draw=_draw,
)
