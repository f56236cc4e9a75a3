"""Copies of a running replica, so that it can go on in more than one way.

What is frozen, and what no part of a replica is, is shared: nobody changes it.
"""

from collections import deque
from dataclasses import is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")

# Where the classes stand of what changes while a replica runs.
_CHANGING = ("node.", "chaos.model_check.memory_log", "chaos.model_check.replica")
_BUILT_IN = (list, deque, set)


def copied(whole: T) -> T:
    """`whole`, with all in it that may change copied; what stands twice in it is copied once."""
    copy: T = _copied(whole, {})
    return copy


def _copied(value: Any, done: dict[int, Any]) -> Any:
    kind = type(value)
    if kind not in _KINDS:
        _KINDS[kind] = _is_changing(kind)
    if not _KINDS[kind]:
        return value
    if id(value) in done:
        return done[id(value)]
    if kind is dict:
        copy = done[id(value)] = value.copy()
        for key, each in value.items():
            if _KINDS.get(type(each), True):
                copy[key] = _copied(each, done)
    elif kind in _BUILT_IN:
        copy = done[id(value)] = kind(_copied(each, done) for each in value)
    else:
        copy = done[id(value)] = object.__new__(kind)
        for name, each in _attributes(value, copy):
            if _KINDS.get(type(each), True):
                object.__setattr__(copy, name, _copied(each, done))
    return copy


_KINDS: dict[type, bool] = dict.fromkeys((*_BUILT_IN, dict), True)  # does it change?


def _is_changing(kind: type) -> bool:
    if is_dataclass(kind):
        return not kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return kind.__module__.startswith(_CHANGING)


def _attributes(value: Any, copy: Any) -> list[tuple[str, Any]]:
    """All of them; `copy` has the same now."""
    if hasattr(value, "__dict__"):
        vars(copy).update(vars(value))
        return list(vars(value).items())
    attributes = [(name, getattr(value, name)) for name in value.__slots__]
    for name, each in attributes:
        object.__setattr__(copy, name, each)
    return attributes
