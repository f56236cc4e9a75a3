"""Copies of a running replica, so that it can go on in more than one way.

What is frozen, and what no part of a replica is, is shared: nobody changes it. `pickle` makes them,
which is many times as fast as a walk through all objects in Python.
"""

import io
import pickle
from collections import deque
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

# Where the classes stand of what changes while a replica runs.
_CHANGING = ("node.", "chaos.model_check.memory_log", "chaos.model_check.replica")
# Whether values of a type are written down, and made anew in each copy. Tuples may hold what
# changes, and methods are of what does; the others of these are as soon made as looked up.
_MADE_ANEW: dict[type, bool] = dict.fromkeys(
    (list, deque, set, dict, tuple, MethodType, str, int, bool, type(None)), True
)


class Original(Generic[T]):
    """What copies are made of, as it was when this was made of it."""

    def __init__(self, whole: T) -> None:
        self._shared: list[Any] = []
        written = io.BytesIO()
        _Writer(written, self._shared).dump(whole)
        self._written = written.getvalue()

    def copy(self) -> T:
        """With all in it that may change made anew; what stands twice in it, once."""
        reader = pickle.Unpickler(io.BytesIO(self._written))
        reader.persistent_load = self._shared.__getitem__  # type: ignore[method-assign]
        return cast("T", reader.load())


class _Writer(pickle.Pickler):
    """Puts what is shared into a list, and its place there instead of it."""

    def __init__(self, written: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(written, pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        self._places: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        kind = type(value)
        if kind not in _MADE_ANEW:
            _MADE_ANEW[kind] = _is_changing(kind)
            assert _MADE_ANEW[kind] or not _changing_parts(value), f"copies would share {kind}"
        if _MADE_ANEW[kind]:
            return None
        assert kind is not FunctionType or not _enclosed(value), f"copies would share {value}"
        place = self._places.setdefault(id(value), len(self._shared))
        if place == len(self._shared):
            self._shared.append(value)
        return place


def _is_changing(kind: type) -> bool:
    if is_dataclass(kind):
        made: Any = kind
        # What is frozen is hashed by its fields (`node.lazy_dataclass`).
        return not made.__dataclass_params__.eq or kind.__hash__ is None
    return kind.__module__.startswith(_CHANGING)


def _enclosed(function: FunctionType) -> list[Any]:
    """What a function has of where it was made, and what changes."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [it for it in cells if _MADE_ANEW.get(type(it), _is_changing(type(it)))]


def _changing_parts(value: Any) -> list[Any]:
    """What a frozen value has in its fields that is not frozen."""
    if not is_dataclass(value):
        return []
    parts = [getattr(value, each.name) for each in fields(value)]
    return [it for it in parts if not isinstance(it, Enum | tuple) and _is_changing(type(it))]
