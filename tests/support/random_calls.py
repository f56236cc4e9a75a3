"""Random small histories of any model: made by an object with random delays, or damaged."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step

StepOf = tuple[Step, int, int, int]  # kind, key, value, expected: codes


@dataclass(slots=True, kw_only=True)
class Call:
    """One operation under way; `steps` get the values that reads return when it is applied."""

    process: int
    invoke: int
    steps: list[StepOf]
    complete: int = NEVER
    outcome: Outcome = Outcome.INFO


@dataclass(slots=True, kw_only=True)
class Shape:
    """What a history is drawn from."""

    model: Model
    calls: int = 10
    processes: int = 4
    keys: int = 1
    values: int = 3  # 0: every value is written once
    info: float = 0.1
    cas: float = 0.3
    deletes: float = 0.0  # share of writes that write nothing; of registers
    initial: int = NIL


@dataclass(slots=True, kw_only=True)
class Maker:
    """Draws a history: processes invoke, calls are applied somewhere, and complete or never do."""

    rng: random.Random
    shape: Shape
    names: list[str] = field(default_factory=list)
    state: list[str | None] = field(default_factory=list)
    fresh: int = 0

    def code(self, value: str | None) -> int:
        if value is None:
            return NIL
        if value not in self.names:
            self.names.append(value)
        return self.names.index(value)

    def drawn(self) -> int:
        if self.shape.values:
            return self.code(str(self.rng.randrange(self.shape.values)))
        self.fresh += 1
        return self.code(f"v{self.fresh}")

    def draw(self) -> list[StepOf]:
        count = self.rng.randint(1, 3) if self.shape.model is Model.MULTI_REGISTER else 1
        return [self.one_step() for _ in range(count)]

    def one_step(self) -> StepOf:
        key, chance = self.rng.randrange(self.shape.keys), self.rng.random()
        if chance < 0.4:
            return Step.READ, key, NIL, NIL
        if self.shape.model is Model.KV:
            return (Step.APPEND if chance < 0.8 else Step.WRITE), key, self.drawn(), NIL
        if self.shape.model is Model.CAS_REGISTER and chance < 0.4 + self.shape.cas:
            seen = self.code(self.state[key])
            expected = seen if self.rng.random() < 0.7 else self.guess()
            return Step.CAS, key, self.drawn(), expected
        deleted = self.shape.deletes and self.rng.random() < self.shape.deletes
        return Step.WRITE, key, NIL if deleted else self.drawn(), NIL

    def guess(self) -> int:
        return self.rng.randrange(len(self.names)) if self.names else NIL

    def apply(self, steps: list[StepOf]) -> None:
        """Do what the steps say; reads get their values, and a CAS may turn out to fail."""
        for place, (kind, key, value, expected) in enumerate(steps):
            now = self.state[key]
            if kind is Step.READ:
                steps[place] = (kind, key, self.code(now), NIL)
            elif kind is Step.CAS and self.code(now) != expected:
                steps[place] = (Step.CAS_FAILED, key, NIL, expected)
            elif kind is Step.APPEND:
                self.state[key] = (now or "") + self.names[value]
            else:
                self.state[key] = None if value == NIL else self.names[value]

    def history(self) -> Calls:
        first = "" if self.shape.model is Model.KV else None
        if self.shape.initial != NIL:
            first = "0"
        if first is not None:
            self.code(first)
        self.state = [first] * self.shape.keys
        initial = self.code(first)
        return as_calls(self.shape, self.calls(), self.names, initial)

    def calls(self) -> list[Call]:
        rng, made, idle, event = self.rng, list[Call](), list(range(self.shape.processes)), 0
        open_calls: list[tuple[Call, bool]] = []  # and whether it was applied
        process = self.shape.processes
        while open_calls or len(made) < self.shape.calls:
            choice = rng.random()
            if idle and len(made) < self.shape.calls and choice < 0.4:
                call = Call(
                    process=idle.pop(rng.randrange(len(idle))), invoke=event, steps=self.draw()
                )
                made.append(call)
                open_calls.append((call, False))
                event += 1
            elif open_calls:
                place = rng.randrange(len(open_calls))
                call, applied = open_calls.pop(place)
                if applied:
                    call.outcome, call.complete = Outcome.OK, event
                    idle.append(call.process)
                    event += 1
                elif rng.random() < self.shape.info:
                    # Nobody knows: applied or not, it never returns, and its process is replaced.
                    if rng.random() < 0.5:
                        self.apply(list(call.steps))
                    idle.append(process)
                    process += 1
                else:
                    self.apply(call.steps)
                    open_calls.append((call, True))
        return made


def as_calls(shape: Shape, made: Sequence[Call], names: Sequence[str], initial: int) -> Calls:
    steps = [step for call in made for step in call.steps]
    kind, key, value, expected = (
        np.array([step[column] for step in steps], np.int32) for column in range(4)
    )
    return Calls(
        model=shape.model,
        process=np.array([call.process for call in made], np.int32),
        outcome=np.array([call.outcome for call in made], np.int8),
        invoke=np.array([call.invoke for call in made], np.int64),
        complete=np.array([call.complete for call in made], np.int64),
        line=np.zeros(len(made), np.int32),
        step_from=np.cumsum([0, *(len(call.steps) for call in made)]).astype(np.int32),
        kind=kind.astype(np.int8),
        key=key,
        value=value,
        expected=expected,
        keys=[f"k{k}" for k in range(shape.keys)],
        values=list(names),
        initial=initial,
    )


def damaged(rng: random.Random, calls: Calls) -> Calls:
    """One read returns something else, a write is lost, or a failed compare-and-set succeeds."""
    value, outcome, kind = calls.value.copy(), calls.outcome.copy(), calls.kind.copy()
    step = rng.randrange(len(kind))
    if kind[step] == Step.READ and calls.values:
        value[step] = rng.randrange(len(calls.values))
    elif kind[step] == Step.CAS_FAILED and calls.values:
        kind[step], value[step] = Step.CAS, rng.randrange(len(calls.values))
    elif calls.model is not Model.MULTI_REGISTER:
        outcome[step] = Outcome.FAIL
    return replace(calls, value=value, outcome=outcome, kind=kind)


def random_calls(rng: random.Random, shape: Shape) -> Calls:
    """A history that is linearizable; half of the time then damaged."""
    calls = Maker(rng=rng, shape=shape).history()
    for _ in range(rng.choice((0, 0, 1, 2)) if len(calls.kind) else 0):
        calls = damaged(rng, calls)
    return calls


def random_shape(rng: random.Random, model: Model) -> Shape:
    return Shape(
        model=model,
        calls=rng.randint(2, 12),
        processes=rng.randint(1, 6),
        keys=rng.randint(1, 3) if model is Model.MULTI_REGISTER else rng.choice((1, 1, 2)),
        values=rng.choice((0, 1, 2, 3)),
        info=rng.choice((0.0, 0.1, 0.3)),
        cas=rng.choice((0.2, 0.5)),
        deletes=rng.choice((0.0, 0.3)),
        initial=rng.choice((NIL, 0)),
    )
