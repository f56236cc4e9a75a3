"""Long histories of one compare-and-set register, linearizable by construction or damaged once."""

import random
from dataclasses import dataclass, field

import numpy as np

from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is drawn: `values` 0 means that each is written once."""

    operations: int
    processes: int
    values: int = 0
    info: float = 0.0
    cas: bool = False
    damaged: bool = False  # one read, late, returns something else


@dataclass(slots=True)
class _Made:
    """Columns as they grow; `state` is what the register holds, `fresh` the next unique value."""

    kind: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    expected: list[int] = field(default_factory=list)
    process: list[int] = field(default_factory=list)
    invoke: list[int] = field(default_factory=list)
    complete: list[int] = field(default_factory=list)
    state: int = NIL
    fresh: int = 0

    def draw(self, rng: random.Random, load: Load) -> None:
        chance, value, expected, kind = rng.random(), NIL, NIL, Step.READ
        if chance > 0.4:
            kind = Step.WRITE
            value = rng.randrange(load.values) if load.values else self.fresh
            self.fresh += 1
            if load.cas and chance < 0.75:
                guess = load.values and rng.random() < 0.5
                kind, expected = Step.CAS, rng.randrange(load.values) if guess else self.state
        self.kind.append(kind)
        self.value.append(value)
        self.expected.append(expected)
        self.complete.append(NEVER)

    def apply(self, call: int, known: bool) -> None:
        """Let a call take effect; nobody will hear of it unless `known`."""
        if self.kind[call] == Step.READ:
            self.value[call] = self.state
        elif self.kind[call] == Step.WRITE or self.expected[call] == self.state:
            self.state = self.value[call]
        elif known:
            self.kind[call], self.value[call] = Step.CAS_FAILED, NIL


def long_calls(load: Load, seed: int) -> Calls:
    rng, made = random.Random(seed), _Made()
    idle, begun, applied = list(range(load.processes)), list[int](), list[int]()
    event, next_process = 0, load.processes
    while len(made.kind) < load.operations or begun or applied:
        if idle and len(made.kind) < load.operations and rng.random() < 0.6:
            begun.append(len(made.kind))
            made.draw(rng, load)
            made.process.append(idle.pop(rng.randrange(len(idle))))
            made.invoke.append(event)
            event += 1
        elif begun and (not applied or rng.random() < 0.5):
            call = begun.pop(rng.randrange(len(begun)))
            lost = rng.random() < load.info
            if not lost or rng.random() < 0.5:
                made.apply(call, not lost)
            if lost:
                idle.append(next_process)
                next_process += 1
            else:
                applied.append(call)
        elif applied:
            call = applied.pop(rng.randrange(len(applied)))
            made.complete[call] = event
            idle.append(made.process[call])
            event += 1
    return _as_calls(made, load)


def _as_calls(made: _Made, load: Load) -> Calls:
    kind, value = np.array(made.kind, np.int8), np.array(made.value, np.int32)
    complete = np.array(made.complete, np.int64)
    if load.damaged:
        reads = np.flatnonzero((kind == Step.READ) & (complete != NEVER))
        late = reads[int(len(reads) * 0.9)]
        value[late] = (value[late] + 1) % load.values if load.values else value[reads[0]]
    calls = len(kind)
    return Calls(
        model=Model.CAS_REGISTER,
        process=np.array(made.process, np.int32),
        outcome=np.where(complete == NEVER, Outcome.INFO, Outcome.OK).astype(np.int8),
        invoke=np.array(made.invoke, np.int64),
        complete=complete,
        line=np.zeros(calls, np.int32),
        step_from=np.arange(calls + 1, dtype=np.int32),
        kind=kind,
        key=np.zeros(calls, np.int32),
        value=value,
        expected=np.array(made.expected, np.int32),
        keys=["x"],
        values=[str(code) for code in range(made.fresh + load.values)],
    )
