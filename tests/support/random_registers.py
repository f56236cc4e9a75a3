"""Random histories of registers: a true register with random delays, and what damages them."""

import random
from dataclasses import dataclass, field

from tests.support.histories import Row, op


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterShape:
    """What is drawn. Without `repeats` and `deletes` every value is written once."""

    operations: int = 8
    keys: int = 2
    processes: int = 4
    repeats: float = 0.0  # share of writes that write once more what was written before
    deletes: float = 0.0  # share of operations
    info: float = 0.18
    fail: float = 0.09


@dataclass(slots=True, kw_only=True)
class RandomRegisters:
    """Operations begin, take effect at some moment, and end; `ops` is linearizable."""

    rng: random.Random
    shape: RegisterShape
    ops: list[Row] = field(default_factory=list)
    _state: dict[str, int | None] = field(default_factory=dict)
    _running: list[Row] = field(default_factory=list)
    _applied: set[int] = field(default_factory=set)
    _clock: int = 0

    def history(self) -> list[Row]:
        rng, most = self.rng, self.shape.processes
        for number in range(self.shape.operations):
            while self._running and (len(self._running) >= most or rng.random() < 0.5):
                self._end()
            self._begin(number + 1)
            if rng.random() < 0.6:
                self._apply(rng.choice(self._running))
        while self._running:
            self._end()
        return self.ops

    def _begin(self, fresh: int) -> None:
        rng, key = self.rng, f"k{self.rng.randrange(self.shape.keys)}"
        f = rng.choice(["read", "write"])
        value = fresh if f == "write" else None
        if f == "write" and rng.random() < self.shape.repeats:
            written = [row["value"] for row in self.ops if row["f"] == "write"]
            value = int(str(rng.choice(written))) if written else fresh
        elif rng.random() < self.shape.deletes:
            f, value = "delete", None
        self.ops.append(op(f, value, self._clock, None, key=key, process=fresh, outcome="running"))
        self._running.append(self.ops[-1])
        self._clock += 1

    def _apply(self, row: Row) -> None:
        number, key = int(str(row["op_id"])), str(row["key"])
        if number in self._applied:
            return
        self._applied.add(number)
        if row["f"] == "read":
            row["value"] = self._state.get(key)
        else:
            self._state[key] = None if row["f"] == "delete" else int(str(row["value"]))

    def _end(self) -> None:
        rng, row = self.rng, self._running.pop(self.rng.randrange(len(self._running)))
        rest = 1 - self.shape.info - self.shape.fail
        outcome = rng.choices(["ok", "info", "fail"], [rest, self.shape.info, self.shape.fail])[0]
        if outcome == "ok" or (outcome == "info" and rng.random() < 0.5):
            self._apply(row)
        if int(str(row["op_id"])) in self._applied and outcome == "fail":
            outcome = "info"
        row |= {"outcome": outcome, "complete_index": self._clock}
        if outcome == "info" and rng.random() < 0.5:
            row["complete_index"] = None
        if row["f"] == "read" and outcome != "ok":
            row["value"] = None
        self._clock += 1


def damage(rng: random.Random, ops: list[Row]) -> None:
    """Let a read return another value, or a write or delete have another outcome."""
    row = rng.choice(ops)
    if row["f"] == "read" and row["outcome"] == "ok":
        values = [o["value"] for o in ops if o["f"] == "write" and o["key"] == row["key"]]
        row["value"] = rng.choice([*values, None, 99])
    elif row["complete_index"] is not None and row["f"] != "read":
        row["outcome"] = rng.choice(["ok", "fail", "info"])


def random_registers(rng: random.Random, shape: RegisterShape) -> list[Row]:
    """A linearizable history; two of three are damaged once."""
    ops = RandomRegisters(rng=rng, shape=shape).history()
    if rng.random() < 0.66:
        damage(rng, ops)
    return ops
