"""A scenario step by step, where what comes next waits for what was brought about. Pure.

A schedule says when faults fire. A script says what must be so before the next one does: that the
ISR has shrunk to one broker, say, before the power of that broker fails.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from chaos.nemesis.awaited import Condition
from chaos.nemesis.fault import Fault


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
