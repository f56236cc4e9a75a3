"""A scenario step by step, where what comes next waits for what was brought about. Pure.

A schedule says when faults fire. A script says what must be so before the next one does: that the
ISR has shrunk to one broker, say, before the power of that broker fails.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.nemesis.awaited import Condition
from chaos.nemesis.fault import Fault

# When faults fire: windows drawn from a seed, with quiet between them. Pure.


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A fault begins, and lasts until the `End` of the same name."""

    name: str
    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """Go on when this is so; the run has failed where it is not within the time."""

    condition: Condition
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Let load and faults go on for so long."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAll:
    """All processes are started for the first time, on links that may be cut already. Of a script
    that a cluster comes up by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilLed:
    """Go on when a controller tells that one of them leads the quorum; `anew`: in a later epoch
    than the one that was told before."""

    anew: bool = False
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilNoVoter:
    """Go on when the leader tells that what the fault of this name hit votes by no disk: the old
    entry of a disk that was lost is gone, and the new one is not there. Where the cluster is not
    set so, the step does not wait."""

    name: str
    where: tuple[str, str]  # a setting and its value
    within_s: float = 30.0


ScriptStep = Begin | End | Until | Rest | StartAll | UntilLed | UntilNoVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Steps, one after the other. Each fault that begins ends, and each of them must bite."""

    steps: tuple[ScriptStep, ...]

    def __post_init__(self) -> None:
        opened: list[str] = []
        begun: set[str] = set()
        for step in self.steps:
            if isinstance(step, Begin):
                assert step.name not in opened, step
                opened.append(step.name)
                begun.add(step.name)
            elif isinstance(step, End):
                opened.remove(step.name)
            elif isinstance(step, UntilNoVoter):
                assert step.name in begun, step
        assert not opened, f"{opened} never end"

    def with_settings(self, settings: Mapping[str, str]) -> "Script":
        """The same without what is waited for elsewhere."""
        steps = (
            step
            for step in self.steps
            if not isinstance(step, UntilNoVoter) or settings.get(step.where[0]) == step.where[1]
        )
        return Script(steps=tuple(steps))

    def with_faults(self, change: Callable[[Fault], Fault]) -> "Script":
        """The same with other faults in their places."""
        steps = (
            replace(step, fault=change(step.fault)) if isinstance(step, Begin) else step
            for step in self.steps
        )
        return Script(steps=tuple(steps))

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(step.fault for step in self.steps if isinstance(step, Begin))


def in_words(step: ScriptStep) -> str:
    """A step as `schedule.json` tells it."""
    match step:
        case Begin(name=name, fault=fault):
            return f"{name} begins: {fault.kind} of {fault.victim}"
        case End(name=name):
            return f"{name} ends"
        case Until(condition=condition, within_s=within_s):
            return f"until {condition}, within {within_s:g} s"
        case Rest(seconds=seconds):
            return f"for {seconds:g} s"
        case StartAll():
            return "all processes are started"
        case UntilLed(anew=anew, within_s=within_s):
            how = "led in a later epoch" if anew else "led"
            return f"until the quorum is {how}, within {within_s:g} s"
        case UntilNoVoter(name=name, within_s=within_s):
            return f"until what {name} hit is no voter, within {within_s:g} s"
