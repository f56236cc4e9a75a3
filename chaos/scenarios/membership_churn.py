"""Voters come and go while nodes die and links are cut."""

import random
from collections.abc import Callable

from chaos.nemesis.fault import Fault
from chaos.nemesis.grudges import Ways
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.voters import LoseDisk, RemoveVoter
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.victims import ControllerLeader, RandomFollower, SomeNodes
from chaos.scenario import Scenario, Takes

_SLOT_S = 15.0
_CUT = NetworkPartition(victim=ControllerLeader(), ways=Ways.BOTH)
_SLOW_DEATH = Kill(victim=ControllerLeader(), latency_ms=300)
_DEATH = Kill(victim=ControllerLeader())
_POWER = PowerOff(victim=ControllerLeader())
_ONE, _TWO = RemoveVoter(victim=SomeNodes(1)), RemoveVoter(victim=SomeNodes(2))
_LOSS = LoseDisk(victim=RandomFollower())

_Begin = Callable[[float, float, Fault], Window]


def _while_cut_off(rng: random.Random, window: _Begin) -> list[Window]:
    """A leader that no voter hears any more is asked; what it writes is truncated later."""
    return [window(0.0, 4.0, _CUT), window(rng.uniform(0.2, 1.2), 4.0, _ONE)]


def _while_elected(rng: random.Random, window: _Begin) -> list[Window]:
    """Over slow links, a new leader is asked before anything of its epoch is committed."""
    return [window(0.0, 5.0, _SLOW_DEATH), window(rng.uniform(0.2, 1.0), 4.0, _ONE)]


def _two_at_once(rng: random.Random, window: _Begin) -> list[Window]:
    """Two are asked for at the same time; soon afterwards the leader loses its power."""
    return [window(0.0, 4.0, _TWO), window(rng.uniform(0.5, 3.0), 1.5, _POWER)]


def _while_replaced(rng: random.Random, window: _Begin) -> list[Window]:
    """A new disk is there, which does not vote yet, and the leader dies."""
    back_s = rng.uniform(2.0, 3.0)
    return [window(0.0, back_s, _LOSS), window(back_s - 0.1, 4.0, _DEATH)]


_ROUNDS = (_while_cut_off, _while_elected, _two_at_once, _while_replaced)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All in turn, beginning with any."""
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    slot_s, first = duration_s / rounds, rng.randrange(len(_ROUNDS))
    windows: list[Window] = []
    for number in range(rounds):
        began_s = number * slot_s + slot_s * rng.uniform(0.1, 0.2)
        scale = min(1.0, slot_s / _SLOT_S)

        def window(
            at_s: float, hold_s: float, fault: Fault, began: float = began_s, scale: float = scale
        ) -> Window:
            return Window(
                at_s=round(began + scale * at_s, 3), hold_s=round(scale * hold_s, 3), fault=fault
            )

        windows += _ROUNDS[(first + number) % len(_ROUNDS)](rng, window)
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


MEMBERSHIP_CHURN = Scenario(
    name="membership-churn",
    summary="voters are removed and added, and disks replaced, while leaders die or are cut off",
    exists_for=("V1-one-voter-at-a-time", "V5-acknowledged-changes-stay", "voters-as-asked-for"),
    description=(
        "An operator changes the voters while the quorum is hurt, by one at a time as far as the "
        "leader lets it. A leader that is cut off is asked, and what it writes is undone when it "
        "is back; a leader is asked before it has committed anything in its epoch; two changes are "
        "asked for at the same time, and the power of the one that wrote the first fails; the "
        "leader dies while a new disk waits to become a voter. The next leader goes by the voters "
        "of its own log, committed or not, and in the end all that was acknowledged is there, of "
        "writes and of changes."
    ),
    takes=Takes(voters=range(3, 8), settings={"quorum": ("dynamic",)}),
    faults=(_CUT, _SLOW_DEATH, _DEATH, _POWER, _ONE, _TWO, _LOSS),
    draw=_draw,
    default_duration_s=60.0,
    settings={"quorum": "dynamic", "bootstrap": "3"},
)
