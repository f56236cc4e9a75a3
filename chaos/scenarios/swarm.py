"""Whatever the seed comes up with: any cluster, any faults, side by side."""

import random

from chaos.nemesis.schedule import Schedule
from chaos.scenario import Scenario
from chaos.scenarios.swarm_trial import every_fault, trial


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """The schedule of a trial with a drawn seed: nothing else of it is used."""
    del nodes, duration_s
    return trial(rng.getrandbits(32)).schedule


SWARM = Scenario(
    name="swarm",
    summary="the seed draws everything: cluster, voters, network, disks, load and many faults",
    exists_for=("linearizable", "durability"),
    description=(
        "Each seed switches kinds of faults on and off and lets what is left fall as it may, one "
        "fault upon another: kills, pauses, power cuts of one, several or all nodes, partitions of "
        "groups, clean and one way, flaky and slow links, sick disks, clocks that jump or go at "
        "another rate. In half of them an operator changes the voters meanwhile: disks are lost "
        "and replaced, and where voters are not listed (KIP-853) they are removed, and added "
        "again; never so many that no majority is left. Then all is healed, and the quorum has to "
        "be whole and acknowledge a write within half a minute. Made for campaigns in virtual "
        "time; a seed's own line runs it again."
    ),
    faults=every_fault(),
    draw=_draw,
    default_duration_s=60.0,
    trial=trial,
)
