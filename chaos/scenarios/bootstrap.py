"""A new quorum loses its power again and again while it writes its first records."""

import random

from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.script import Begin, End, Rest, Script, StartAll, UntilLed
from chaos.nemesis.victims import AllVoters, ControllerLeader, SomeNodes
from chaos.scenario import Scenario

_SLOT_S = 7.0
_SOME, _LEADER, _ALL = (
    PowerOff(victim=victim) for victim in (SomeNodes(2), ControllerLeader(), AllVoters())
)

_COMING_UP = Script(
    steps=(
        StartAll(),
        Begin(name="some", fault=_SOME),
        Rest(seconds=0.5),
        End(name="some"),
        UntilLed(),
        Begin(name="leader", fault=_LEADER),
        Rest(seconds=0.5),
        End(name="leader"),
        UntilLed(anew=True),
        Begin(name="all", fault=_ALL),
        Rest(seconds=0.5),
        End(name="all"),
    )
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_ALL] * rounds, duration_s=duration_s, rng=rng, held_share=0.1)


BOOTSTRAP = Scenario(
    name="bootstrap",
    summary="the power fails while a new quorum elects its first leaders, and later on",
    exists_for=("durability", "Q3-one-vote-per-epoch", "epochs-have-an-origin"),
    description=(
        "What every later record rests on is written within a second of the first election: the "
        "voters (KIP-856: the directory ids of all voters, in one batch). The power of two nodes "
        "fails as soon as they run, that of the first leader as soon as it leads, and that of all "
        "when the next one does. No voter set may ever be half known, and the quorum has to serve."
    ),
    faults=(_SOME, _LEADER, _ALL),
    coming_up=_COMING_UP,
    draw=_draw,
    default_duration_s=15.0,
)
