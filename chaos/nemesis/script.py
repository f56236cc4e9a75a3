"""When faults fire: a schedule of windows, or a script of steps that wait for conditions. Pure.

A schedule has times that are drawn from a seed. A script says what must be true before the next
fault fires: for example, that the ISR has shrunk to one broker before that broker loses its power.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.nemesis.awaited import Condition
from chaos.nemesis.fault import Fault

# Schedules: windows drawn from a seed, with quiet between them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One fault that begins at `at_s` and lasts `hold_s`; both in seconds since the start of the
    fault phase."""

    at_s: float
    hold_s: float
    fault: Fault

    @property
    def end_s(self) -> float:
        return self.at_s + self.hold_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Windows in order of time; the fault phase ends after `duration_s`, and each window before.

    With `side_by_side` they may overlap: each begins when it is due, whatever other faults are in
    progress, and a window that finds no node left to hit is passed over. Otherwise one follows
    another, and none is passed over unless they were drawn `at_random`.
    """

    duration_s: float
    windows: tuple[Window, ...] = ()
    side_by_side: bool = False
    at_random: bool = False

    @property
    def passes_over(self) -> bool:
        """Whether a window that finds no node to hit is no failure. Kinds of faults that did not
        bite are then made up for."""
        return self.side_by_side or self.at_random

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
    """Give each fault a slot of the same length, and hold it for about `held_share` of its slot.

    The moment within the slot is drawn, so that windows meet elections, flushes and idle times
    differently from seed to seed; part of the slot stays quiet before and after the window.
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
    """Go on when the condition holds; the run has failed if it does not hold in time."""

    condition: Condition
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Let load and faults go on for this long."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAll:
    """All processes are started for the first time, on links that may already be cut. For a script
    that starts the cluster itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilLed:
    """Go on when a controller reports a leader of the quorum; `anew`: in a later epoch than the
    last reported one."""

    anew: bool = False
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilNoVoter:
    """Go on when the leader reports that the victim of the fault with this name votes with no disk:
    the old entry of a lost disk is gone, and the new one is not there yet. With other settings of
    the cluster, the step does not wait."""

    name: str
    where: tuple[str, str]  # a setting and its value
    within_s: float = 30.0


ScriptStep = Begin | End | Until | Rest | StartAll | UntilLed | UntilNoVoter


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Steps, one after the other. Each fault that begins also ends, and each of them must bite."""

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
        """The same script without steps that wait for another setting."""
        steps = (
            step
            for step in self.steps
            if not isinstance(step, UntilNoVoter) or settings.get(step.where[0]) == step.where[1]
        )
        return Script(steps=tuple(steps))

    def with_faults(self, change: Callable[[Fault], Fault]) -> "Script":
        """The same script with other faults in place of its own."""
        steps = (
            replace(step, fault=change(step.fault)) if isinstance(step, Begin) else step
            for step in self.steps
        )
        return Script(steps=tuple(steps))

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(step.fault for step in self.steps if isinstance(step, Begin))


def in_words(step: ScriptStep) -> str:
    """A step as `schedule.json` has it."""
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
