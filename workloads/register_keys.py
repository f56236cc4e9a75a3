"""Which registers are in use, and the next operations on them, drawn by the options' weights."""

import random
from dataclasses import dataclass, field

from workloads.register_options import RegisterOptions
from workloads.register_requests import (
    HIGHEST,
    LOWEST,
    Operation,
    Wrong,
    delete,
    read,
    write,
)

_BLANKS = 10_000  # more than two pages of a disk, or six packets


@dataclass(slots=True)
class _Key:
    """`written` and `refused` are the last values; they are never drawn again."""

    name: str
    operations: int = 0
    written: int = LOWEST - 1
    refused: int = HIGHEST

    def next_value(self) -> int:
        self.written += 1
        assert self.written <= HIGHEST
        return self.written

    def next_illegal(self) -> int:
        self.refused += 1
        return self.refused


@dataclass(slots=True)
class RegisterKeys:
    """A key that had its share of operations is replaced by a fresh one."""

    options: RegisterOptions
    all: list[str] = field(default_factory=list)
    _live: list[_Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._live = [self._open() for _ in range(self.options.live_keys)]

    def pick(self, rng: random.Random) -> Operation:
        """A read of any register."""
        return read(self._pick(rng, 1)[0].name)

    def request(self, rng: random.Random) -> tuple[Operation, ...]:
        """The next request of a process: for one register as a rule, now and then for several."""
        options = self.options
        several = rng.random() < options.several_share
        keys = self._pick(rng, rng.randint(2, options.most_in_request) if several else 1)
        if rng.random() < options.read_share:
            return tuple(read(key.name) for key in keys)
        return tuple(self._alteration(rng, key, alone=len(keys) == 1) for key in keys)

    def _alteration(self, rng: random.Random, key: _Key, *, alone: bool) -> Operation:
        chance = rng.random()
        if chance < self.options.delete_share:
            return delete(key.name)
        wrong_share = self.options.wrong_share
        if chance >= self.options.delete_share + wrong_share:
            wide = chance < self.options.delete_share + wrong_share + self.options.wide_share
            return write(key.name, key.next_value(), blanks=_BLANKS if wide else 0)
        wrong = rng.choice([each for each in Wrong if alone or each is not Wrong.VALIDATE_ONLY])
        if wrong is Wrong.NULL:
            return delete(key.name, wrong)
        illegal = wrong is Wrong.OUT_OF_RANGE
        return write(key.name, key.next_illegal() if illegal else key.next_value(), wrong)

    def _pick(self, rng: random.Random, count: int) -> list[_Key]:
        slots = range(len(self._live))
        taken = [rng.choice(slots)] if count == 1 else rng.sample(slots, min(count, len(slots)))
        for slot in taken:
            if self._live[slot].operations >= self.options.operations_per_key:
                self._live[slot] = self._open()
            self._live[slot].operations += 1
        return [self._live[slot] for slot in taken]

    def _open(self) -> _Key:
        name = f"r-{len(self.all)}"
        self.all.append(name)
        return _Key(name=name)
