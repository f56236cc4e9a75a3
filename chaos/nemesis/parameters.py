"""The parameters of every kind of fault, written and read; the victims of a swarm's faults.

A fault's parameters are its fields except `victim`: numbers, or members of an enum. A parameter
with its default is left out, unless its field is `always`.
"""

import random
from dataclasses import MISSING, Field, field, fields
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from chaos.nemesis.fault import Fault, Words
from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    RandomFollower,
    RandomNode,
    SomeNodes,
    Victim,
)

# Draws the victims of a swarm's faults from a seed.


def one(rng: random.Random, nodes: int) -> Victim:
    """One node: the leader as often as all others together."""
    if nodes == 1:
        return RandomNode()
    return rng.choice((ControllerLeader(), ControllerLeader(), RandomFollower(), RandomNode()))


def some(rng: random.Random, nodes: int) -> Victim:
    """Usually one node, now and then several, and sometimes all."""
    dice = rng.random()
    if dice < 0.6:
        return one(rng, nodes)
    return SomeNodes(rng.randint(1, nodes)) if dice < 0.85 else AllVoters()


def one_side(rng: random.Random, nodes: int) -> Victim:
    """The nodes on one side of a partition."""
    return one(rng, nodes) if rng.random() < 0.6 else SomeNodes(rng.randint(1, nodes // 2))


_ALWAYS = "always told"

Choice = TypeVar("Choice", bound=StrEnum)


def always(default: Choice) -> Choice:
    """A field with this default that is recorded even if it has the default."""
    told: Choice = field(default=default, metadata={_ALWAYS: True})
    return told


def parameters_of(fault: Fault) -> dict[str, str]:
    """The parameters by name, as they are recorded."""
    return {
        each.name: _text(getattr(fault, each.name))
        for each in _parameters(type(fault))
        if each.metadata.get(_ALWAYS) or getattr(fault, each.name) != each.default
    }


def with_parameters(kind: type[Fault], victim: Victim, words: Words) -> Fault:
    """A fault with the parameters read from words. Raises ValueError for unknown ones."""
    known = {each.name: each for each in _parameters(kind)}
    needed = {name for name, each in known.items() if each.default is MISSING}
    if unknown := words.keys() - known:
        raise ValueError(f"{kind.kinds[0]} has no parameter {', '.join(sorted(unknown))}")
    if missing := needed - words.keys():
        raise ValueError(f"{kind.kinds[0]} needs its {', '.join(sorted(missing))}")
    hints = _hints(kind)
    values = {name: _value(hints[name], text) for name, text in words.items()}
    return _make(kind, victim=victim, **values)


@cache
def _hints(kind: type[Fault]) -> dict[str, Any]:
    return get_type_hints(kind)


def _make(kind: type[Any], **values: object) -> Fault:
    made: Fault = kind(**values)
    return made


def _parameters(kind: type[Fault]) -> list[Field[Any]]:
    return [each for each in fields(kind) if each.name != "victim"]


def ways_of(kind: type[Fault]) -> str:
    """The parameters of a kind with the values of each, as they are given: `:mode=torn|lose-all`,
    `:share=NUMBER`."""
    hints = _hints(kind)
    told = []
    for each in _parameters(kind):
        read = _read_by(hints[each.name])
        values = "|".join(read) if issubclass(read, StrEnum) else "NUMBER"
        told.append(f":{each.name}={values}")
    return "".join(told)


def named_alone(kind: type[Fault], name: str, victim: Victim, words: Words) -> Fault:
    """As `with_parameters`, where the name of the kind decides a parameter that is not given:
    `disk-full`, `partition-one-way`. Raises ValueError."""
    hints = _hints(kind)
    for each in _parameters(kind) if len(kind.kinds) > 1 else ():
        read = _read_by(hints[each.name])
        for value in read if issubclass(read, StrEnum) and each.name not in words else ():
            found = with_parameters(kind, victim, {**words, each.name: value})
            if found.kind == name:
                return found
    return with_parameters(kind, victim, words)


def _read_by(hint: Any) -> type[Any]:
    """The class of a parameter that may be left out."""
    (read,) = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    found: type[Any] = read
    return found


def _text(value: float | StrEnum) -> str:
    """The shortest text that gives the same number."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def _value(hint: Any, text: str) -> object:
    """Raises ValueError."""
    read = _read_by(hint)
    if issubclass(read, StrEnum) and text not in list(read):
        raise ValueError(f"{text!r} is not one of {', '.join(read)}")
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no number") from error
