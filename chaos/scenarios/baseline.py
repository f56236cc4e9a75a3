"""No faults: what the cluster, the load and the judge do when all is well."""

import random

from chaos.nemesis.schedule import Schedule
from chaos.scenario import Scenario


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del rng, nodes  # nothing happens, whatever the seed
    return Schedule(duration_s=duration_s)


BASELINE = Scenario(
    name="baseline",
    summary="no faults: load, final reads, judgement",
    exists_for=("linearizable", "durability"),
    description=(
        "Runs the load against a healthy quorum. Any accusation here is the harness's own fault or "
        "a bug that needs no failure; the throughput is what faults are compared with."
    ),
    faults=(),
    draw=_draw,
    default_duration_s=10.0,
)
