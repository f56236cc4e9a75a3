"""A cycle of operations as a sentence, and the part that each of them plays in it."""

from collections.abc import Iterator

from checkers.log.arrays import NONE, LogArrays
from checkers.log.circles import Cycle, DependencyStep
from checkers.log.dependencies import Dependency

_ROWS = 20
_SAID = 6  # steps in the sentence
_KEYS = 3


def sentence(log: LogArrays, cycle: Cycle) -> str:
    """`T2 polled 1/0 at t-0, which T1 sent; T1 ...`, where T1 is the first row of the witness."""
    names = _names(cycle)
    said = [_step(log, step, names) for step in cycle.steps[:_SAID]]
    left = len(cycle.steps) - len(said)
    return "; ".join(said) + (f"; and so on, through {left:,} more" if left else "")


def keys_of(log: LogArrays, cycle: Cycle) -> str:
    """The logs that it goes through, as many as a person reads."""
    keys = dict.fromkeys(log.keys[step.key] for step in cycle.steps if step.key != NONE)
    return ", ".join([*list(keys)[:_KEYS], *(["..."] if len(keys) > _KEYS else [])])


def parts(log: LogArrays, cycle: Cycle) -> tuple[tuple[int, str], ...]:
    """Rows of operations, each with what it did in the cycle; as many as a person reads."""
    names = _names(cycle)
    rows = []
    for before, step in zip((cycle.steps[-1], *cycle.steps), cycle.steps, strict=False):
        acts = "; ".join(dict.fromkeys([*_arrived(log, before), *_left(log, step)]))
        rows.append((step.before, f"{names[step.before]}: {acts}".removesuffix(": ")))
    return tuple(rows[:_ROWS])


def _names(cycle: Cycle) -> dict[int, str]:
    return {step.before: f"T{number}" for number, step in enumerate(cycle.steps, 1)}


def _step(log: LogArrays, step: DependencyStep, names: dict[int, str]) -> str:
    before, after = names[step.before], names[step.after]
    if step.kind is Dependency.RT:
        return f"{after} began when {before} had ended"
    key, one, other = log.keys[step.key], log.name(step.one), log.name(step.other)
    match step.kind:
        case Dependency.WR:
            return f"{after} polled {one} at {key}, which {before} sent"
        case Dependency.WW:
            return f"{after} sent {other} to {key} behind {one}, which {before} sent"
        case Dependency.RW:
            return f"{before} polled {key} up to {one}, and {after} sent {other} behind it"


def _arrived(log: LogArrays, step: DependencyStep) -> Iterator[str]:
    """The action of an operation that depends on another."""
    match step.kind:
        case Dependency.WR:
            yield f"polled {log.name(step.other)} at {log.keys[step.key]}"
        case Dependency.WW | Dependency.RW:
            yield _sent(log, step.other)


def _left(log: LogArrays, step: DependencyStep) -> Iterator[str]:
    """The action of an operation that another depends on."""
    match step.kind:
        case Dependency.WR | Dependency.WW:
            yield _sent(log, step.one)
        case Dependency.RW:
            yield f"polled {log.keys[step.key]} up to {log.name(step.one)}"


def _sent(log: LogArrays, code: int) -> str:
    offset = int(log.sent.offset[code])
    where = f" (offset {offset})" if offset >= 0 else ""
    return f"sent {log.name(code)} to {log.keys[log.sent.key[code]]}{where}"
