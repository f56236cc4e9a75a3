"""Faults at random, by the names of their kinds: the table `[random]` of a scenario file, and what
`kraft-chaos chaos` asks for."""

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.errors import UsageError
from chaos.nemesis.fault import Fault, SwarmSpec
from chaos.nemesis.kinds import MENACES
from chaos.nemesis.kinds.cuts import PartialPartition
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.recorded import FAULTS, fault_told, victim_told
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import Victim

# The leader counts twice: most of what goes wrong goes wrong there.
OF_QUORUMS = ("leader", "leader", "follower", "random")
OF_PARTITIONS = (
    "partition-leader",
    "partition-leader",
    "in-sync-follower",
    "random-broker",
    "leader",
)
LEAST_EVERY_S = 0.5
LEAST_HOLD_S = 0.05
_MOST_HELD = 0.9  # of the interval, where faults do not overlap
_USUALLY_HELD = (0.2, 0.6)
_LAST_SHARE = 0.8  # of its interval, in which an overlapping fault begins: it has to last too
_MOST_NODES = 5  # from which on every kind can be drawn
# Whose victims follow from the kind: two nodes that do not hear each other, all links.
_OF_THEIR_OWN = (PartialPartition, SlowLinks)


def usual_hold(every_s: float) -> tuple[float, float]:
    """How long a fault lasts, in seconds, if nothing else is asked for."""
    least, most = (round(share * every_s, 3) for share in _USUALLY_HELD)
    return least, most


def _specs() -> Mapping[str, Sequence[SwarmSpec]]:
    found: dict[str, list[SwarmSpec]] = {}
    for spec in MENACES.values():
        found.setdefault(spec.make(random.Random(0), _MOST_NODES).kind, []).append(spec)
    return found


_SPECS = _specs()  # how a swarm draws the parameters of a kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFaults:
    """One fault begins in each interval of `every_s`, at a moment drawn from it, and lasts for a
    time between the bounds of `hold_s`. Kinds follow in a drawn order, each as often as the others;
    a victim is drawn from `victims`, where one that stands twice is twice as likely.

    `faults` are names, with parameters if they are not to be drawn: `pause`,
    `power-off:mode=torn`, `kill-leader`. With `overlap` a fault may begin while others last.
    """

    faults: tuple[str, ...]
    victims: tuple[str, ...]
    every_s: float
    hold_s: tuple[float, float]
    overlap: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError, which names what there is."""
        least_s, most_s = self.hold_s
        if not self.faults or not self.victims:
            raise ValueError(f"there are no {'victims' if self.faults else 'faults'}")
        if self.every_s < LEAST_EVERY_S:
            raise ValueError(f"faults come every {LEAST_EVERY_S:g} s at the most often")
        if not LEAST_HOLD_S <= least_s <= most_s:
            raise ValueError(f"a fault lasts {LEAST_HOLD_S:g} s at least; from less to more")
        if not self.overlap and most_s > _MOST_HELD * self.every_s:
            raise ValueError(
                f"a fault that lasts {most_s:g} s does not fit between two that begin "
                f"{self.every_s:g} s apart, unless faults overlap"
            )
        for victim in self.victims:
            victim_told(victim)
        _ = self.one_of_each

    @property
    def one_of_each(self) -> tuple[Fault, ...]:
        """All faults that may be drawn, one of each kind."""
        rng = random.Random("one of each")
        return tuple(
            fault for word in self.faults for fault in self._all_ways(word, rng, _MOST_NODES)
        )

    def schedule(self, rng: random.Random, nodes: int, duration_s: float) -> Schedule:
        """What a seed draws. Raises UsageError if no fault has the time to begin."""
        count = math.floor(duration_s / self.every_s + 1e-9)
        if not count:
            raise UsageError(
                f"no fault begins within {duration_s:g} s, if one begins every {self.every_s:g} s\n"
                "  try: a longer time, or a shorter interval"
            )
        windows = [
            self._window(rng, self._drawn(word, rng, nodes), number, duration_s)
            for number, word in zip(range(count), self._words(rng), strict=False)
        ]
        return Schedule(
            duration_s=duration_s,
            windows=tuple(sorted(windows, key=lambda window: window.at_s)),
            side_by_side=self.overlap,
            at_random=True,
        )

    def _words(self, rng: random.Random) -> Iterator[str]:
        """Each once, in a drawn order, and so on."""
        while True:
            yield from rng.sample(self.faults, len(self.faults))

    def _window(self, rng: random.Random, fault: Fault, number: int, duration_s: float) -> Window:
        hold_s, begin_s = rng.uniform(*self.hold_s), number * self.every_s
        if self.overlap:
            at_s = begin_s + rng.uniform(0.0, _LAST_SHARE * self.every_s)
        else:  # a little quiet before and after, whatever is rounded
            at_s = begin_s + rng.uniform(0.05, 0.95) * (self.every_s - hold_s)
        hold_s = min(hold_s, duration_s - at_s - 0.01)
        return Window(at_s=round(at_s, 3), hold_s=round(hold_s, 3), fault=fault)

    def _drawn(self, word: str, rng: random.Random, nodes: int) -> Fault:
        ways = self._all_ways(word, rng, nodes)
        if not ways:
            raise UsageError(f"{word}: a cluster of {nodes} is too small for it")
        return rng.choice(ways)

    def _all_ways(self, word: str, rng: random.Random, nodes: int) -> list[Fault]:
        """The fault of that name, in each way in which a swarm draws it."""
        victim = victim_told(rng.choice(self.victims))
        if word not in _SPECS:
            return [fault_told(word, None if word.partition(":")[0] in FAULTS else victim)]
        drawn = [spec.make(rng, nodes) for spec in _SPECS[word] if spec.least_nodes <= nodes]
        return [
            fault if isinstance(fault, _OF_THEIR_OWN) else _aimed(fault, victim) for fault in drawn
        ]

    def as_toml(self) -> str:
        """As a scenario file has it."""
        return "\n".join(
            [
                "[random]",
                f"faults = {json.dumps(self.faults)}",
                f"victims = {json.dumps(self.victims)}",
                f"every_s = {self.every_s!r}",
                f"hold_s = {json.dumps(self.hold_s)}",
                f"overlap = {json.dumps(self.overlap)}",
            ]
        )


def _aimed(fault: Fault, victim: Victim) -> Fault:
    return replace(fault, victim=victim)
