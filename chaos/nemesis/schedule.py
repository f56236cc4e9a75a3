"""When faults fire: windows drawn from a seed, with quiet between them. Pure."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.nemesis.fault import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One fault from `at_s` on, for `hold_s`; both in seconds since hurting began."""

    at_s: float
    hold_s: float
    fault: Fault

    @property
    def end_s(self) -> float:
        return self.at_s + self.hold_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Windows in order of time; hurting ends after `duration_s`, and each of them before.

    With `side_by_side` they may overlap: each begins when it is due, whatever else goes on, and
    one that finds no node left to hit is passed over. Otherwise one follows another, and none is
    ever passed over.
    """

    duration_s: float
    windows: tuple[Window, ...] = ()
    side_by_side: bool = False

    def __post_init__(self) -> None:
        starts = [window.at_s for window in self.windows]
        ends = [window.end_s for window in self.windows]
        assert starts == sorted(starts), self
        assert max(ends, default=0.0) <= self.duration_s, self
        if not self.side_by_side:
            assert all(end <= start for end, start in zip(ends, starts[1:], strict=False)), self


def spread(
    faults: Sequence[Fault],
    *,
    duration_s: float,
    rng: random.Random,
    held_share: float,
) -> Schedule:
    """Give each fault a slot of the same length, held for about `held_share` of its slot.

    The moment within the slot is drawn, so that windows meet elections, flushes and idle times
    differently from seed to seed; on either side of it some of the slot stays quiet.
    """
    if not faults:
        return Schedule(duration_s=duration_s)
    slot = duration_s / len(faults)
    windows = []
    for number, fault in enumerate(faults):
        hold = slot * min(0.75, held_share * rng.uniform(0.85, 1.15))
        free = slot - hold
        at = number * slot + free * rng.uniform(0.3, 0.7)
        windows.append(Window(at_s=round(at, 3), hold_s=round(hold, 3), fault=fault))
    return Schedule(duration_s=duration_s, windows=tuple(windows))
