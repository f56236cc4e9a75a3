"""Differences that are known, and by which words one of the two is right."""

from dataclasses import dataclass
from typing import Any

from tests.differential.comparison import Difference
from tests.differential.requests import Asked

ANY = object()  # whatever it answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """`kind` begins with the API's name. `right` is "kafka", "node", or "both"; `words` are those
    that say so, and where they stand."""

    kind: str
    path: str
    kafka: Any
    node: Any
    right: str
    words: str

    def covers(self, asked: Asked, found: Difference) -> bool:
        return (
            asked.kind.name.startswith(self.kind)
            and found.path == self.path
            and (self.kafka is ANY or self.kafka == found.kafka)
            and (self.node is ANY or self.node == found.node)
        )


SETTLED: tuple[Settled, ...] = ()


def settled(asked: Asked, found: Difference) -> Settled | None:
    return next((each for each in SETTLED if each.covers(asked, found)), None)
