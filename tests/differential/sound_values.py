"""What a sound request is drawn from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.differential.model import Known, Model
from tests.fuzz.drawing import Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """For `broker`, in version `since` or a later one."""

    broker: int
    values: Mapping[str, Draw]
    since: int = 0


SoundOf = Callable[[Random, Model, Known], Sound | None]


def one_by_one(values: tuple[Any, ...]) -> Draw:
    """Each once, in order: of an array whose elements have to differ."""
    left = iter(values)
    return lambda _rng: next(left)
