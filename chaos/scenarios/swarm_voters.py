"""The voters in a seed's trial: how its nodes know them, and how an operator changes them.

A quorum whose voters are formatted with it (KIP-853) or listed (KIP-856), each in half of all
trials; in half of them the voters stay. In the others most changes are aimed: what is
decided by the wrong set shows while the quorum is hurt.

    a voter is removed, or its disk lost      shortly after any other fault, most after cuts
    another fault                             shortly after an operator was asked to remove a voter
    another fault                             as a node comes back with its new disk, which is no
                                              voter yet
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from chaos.cluster.targets.node import BOOTSTRAP, DYNAMIC, LISTED, QUORUM
from chaos.nemesis.fault import Aspect, Menace
from chaos.nemesis.kinds.voters import LoseDisk, RemoveVoter
from chaos.nemesis.schedule import Window
from chaos.scenarios.swarm_windows import at_random, one_window

OF_VOTERS = (LoseDisk, RemoveVoter)
_LOSE_DISK, _REMOVE_VOTER = (menace for kind in OF_VOTERS for menace in kind.menaces.values())
_CHANGING_SHARE = 0.5
_MEANS_S = (8.0, 15.0, 30.0)
_MOST_CHANGES = 10
# A leader that is cut off leads for 1.5 fetch time-outs; whom it removes is asked at once.
_AFTER_ANOTHER_S, _AFTER_ANOTHER_SHARE, _AFTER_CUT_SHARE = (0.1, 1.5), 0.3, 0.8
_AFTER_CHANGE_S, _AFTER_CHANGE_SHARE = (-0.2, 1.0), 0.6


def form(rng: random.Random, nodes: int, asked: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of the nodes: as somebody asks, or as the seed says."""
    drawn = rng.choice((DYNAMIC, LISTED))
    chosen = asked.get(QUORUM, drawn)
    known = {BOOTSTRAP: str(nodes)} if chosen == DYNAMIC else {}
    return {QUORUM: chosen, **known}


def changes(
    rng: random.Random,
    settings: Mapping[str, str],
    others: Sequence[Menace],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> list[Window]:
    """What an operator does, with the faults that are aimed at it; `drawn` are all `others`."""
    possible = _possible(settings, nodes)
    if rng.random() > _CHANGING_SHARE or not possible:
        return []
    found = list(_alone(rng, possible, nodes, last_s))
    found += _after_others(rng, possible, drawn, nodes, last_s)
    found = rng.sample(found, min(len(found), _MOST_CHANGES))
    return [*found, *_after_changes(rng, others, found, nodes, last_s)]


def _possible(settings: Mapping[str, str], nodes: int) -> list[Menace]:
    """Of listed voters none is removed for good. A new disk finds the others where its node's
    configuration tells of them."""
    dynamic = settings[QUORUM] == DYNAMIC
    known = settings[BOOTSTRAP] != "0" if dynamic else settings[QUORUM] == LISTED
    able = [_LOSE_DISK] * known + [_REMOVE_VOTER] * dynamic
    return [menace for menace in able if menace.least_nodes <= nodes]


def _alone(
    rng: random.Random, possible: Sequence[Menace], nodes: int, last_s: float
) -> Iterator[Window]:
    for menace in rng.sample(possible, rng.randint(1, len(possible))):
        yield from at_random(rng, menace, rng.choice(_MEANS_S), nodes, last_s)


def _after_others(
    rng: random.Random,
    possible: Sequence[Menace],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    for window in drawn:
        at_s = window.at_s + rng.uniform(*_AFTER_ANOTHER_S)
        cuts = window.fault.aspect is Aspect.CUTS
        share = _AFTER_CUT_SHARE if cuts else _AFTER_ANOTHER_SHARE
        if rng.random() < share and at_s < last_s:
            yield one_window(rng, rng.choice(possible), at_s, nodes, last_s, whoever=True)


def _after_changes(
    rng: random.Random,
    others: Sequence[Menace],
    found: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    for window in found:
        aimed_s = window.end_s if isinstance(window.fault, LoseDisk) else window.at_s
        at_s = max(0.0, aimed_s + rng.uniform(*_AFTER_CHANGE_S))
        if rng.random() < _AFTER_CHANGE_SHARE and at_s < last_s and others:
            yield one_window(rng, rng.choice(others), at_s, nodes, last_s)
