"""Both sides are asked request by request, and each answer is compared before the next one."""

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from tests.differential.comparison import Difference, differences, normal, refuses
from tests.differential.kinds import KINDS
from tests.differential.model import SILENCE, Model
from tests.differential.requests import Asked, draw
from tests.differential.settled import Settled, settled
from tests.differential.side import PAUSE_S, Side

# For so long a read may be answered by what one of the two has not heard of yet.
CATCHES_UP_S = 5.0
_TOLD_EVERY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An answer that differs in a way that nobody has settled."""

    asked: Asked
    answers: tuple[Any, Any]
    found: tuple[Difference, ...]

    def told(self, seed: int) -> str:
        asked = self.asked
        again = f"python -m tests.differential --requests {asked.number + 1} --seed {seed}"
        kafka, node = self.answers
        return "\n".join(
            (
                f"request {asked.number}: {asked.kind.name} ({asked.drawn.name}) to broker "
                f"{asked.broker}: {asked.request}",
                *(f"  {each}" for each in self.found),
                f"  Apache Kafka: {kafka}",
                f"  our node:     {node}",
                f"  try: {again}",
            )
        )


@dataclass
class Tally:
    """`asked` and `done` by kind; what is done is refused by neither of the two."""

    asked: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    settled: Counter[Settled] = field(default_factory=Counter)
    unknown: list[Unknown] = field(default_factory=list)

    @property
    def never_done(self) -> list[str]:
        """Kinds of which refusals alone were compared, if that."""
        return sorted(kind.name for kind in KINDS if not self.done[kind.name])

    def __str__(self) -> str:
        refused = self.never_done
        return (
            f"{self.asked.total():,} requests of {len(self.asked)} kinds, {self.done.total():,} of"
            f" them done by both sides; {self.settled.total():,} fields differ as is settled,"
            f" {len(self.unknown)} answers otherwise; never done: {', '.join(refused) or 'none'}"
        )


class Asking:
    def __init__(self, seed: int, kafka: Side, node: Side) -> None:
        self._seed = seed
        self._sides = (kafka, node)
        self._model = Model()
        self.tally = Tally()

    async def ask(self, count: int, most_unknown: int) -> Tally:
        """Until so many answers differ."""
        for number in range(count):
            if number and number % _TOLD_EVERY == 0:
                print(f"{number:,} of {count:,} requests", file=sys.stderr)
            await self._one(number)
            if len(self.tally.unknown) >= most_unknown:
                break
        return self.tally

    async def _one(self, number: int) -> None:
        asked = [draw(self._seed, number, self._model, side.known) for side in self._sides]
        kind = asked[0].kind
        deadline_s = time.monotonic() + (CATCHES_UP_S if kind.reads else 0.0)
        while True:
            answers = await asyncio.gather(
                *(side.ask(each) for side, each in zip(self._sides, asked, strict=True))
            )
            found, known = self._compare(asked[0], answers)
            if not found or time.monotonic() >= deadline_s:
                break
            await asyncio.sleep(PAUSE_S)
        self.tally.asked[kind.name] += 1
        self.tally.done[kind.name] += all(map(_is_done, answers))
        self.tally.settled.update(known)
        if found:
            both = (answers[0], answers[1])
            self.tally.unknown.append(Unknown(asked=asked[0], answers=both, found=tuple(found)))
        for side, each, answer in zip(self._sides, asked, answers, strict=True):
            if is_dataclass(answer):
                await side.settle(each, answer)
        self._learn(asked[0], answers)

    def _learn(self, asked: Asked, answers: list[Any]) -> None:
        """Of answers; where there is none, all that may be known is that nobody said no."""
        known = [side.known for side in self._sides]
        if all(is_dataclass(each) or each == SILENCE for each in answers):
            self._model.learn(asked.request, asked.kind.api, known, answers)
        self._model.see_topics(known)

    def _compare(self, asked: Asked, answers: list[Any]) -> tuple[list[Difference], list[Settled]]:
        kafka, node = (
            normal(answer, side.known.names) if is_dataclass(answer) else answer
            for side, answer in zip(self._sides, answers, strict=True)
        )
        unknown, known = [], []
        for each in differences(kafka, node):
            by = settled(asked, each)
            if by is None:
                unknown.append(each)
            else:
                known.append(by)
        return unknown, known


def _is_done(answer: Any) -> bool:
    """With acks=0 nobody says so."""
    return answer == SILENCE if not is_dataclass(answer) else not refuses(answer)
