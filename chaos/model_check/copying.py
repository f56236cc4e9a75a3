"""Copies of a running replica, so that it can go on in more than one way.

Frozen values, and what is no part of a replica, are shared, as they never change. `pickle` makes
the copies, which is many times as fast as a walk through all objects in Python.
"""

import io
import pickle
from collections import deque
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

# The modules of classes with objects that change while a replica runs.
_CHANGING = ("node.", "chaos.model_check.memory_log", "chaos.model_check.replica")
# Whether values of a type are pickled, and made again in each copy. Tuples may hold changing
# values, and methods belong to such; the others of these are as fast to make as to look up.
_MADE_ANEW: dict[type, bool] = dict.fromkeys(
    (list, deque, set, dict, tuple, MethodType, str, int, bool, type(None)), True
)


class Original(Generic[T]):
    """A snapshot of a value, from which copies are made."""

    def __init__(self, whole: T) -> None:
        self._shared: list[Any] = []
        written = io.BytesIO()
        _Writer(written, self._shared).dump(whole)
        self._written = written.getvalue()

    def copy(self) -> T:
        """A copy with new objects for all that may change; an object that occurs twice is copied
        once."""
        reader = pickle.Unpickler(io.BytesIO(self._written))
        reader.persistent_load = self._shared.__getitem__  # type: ignore[method-assign]
        return cast("T", reader.load())


class _Writer(pickle.Pickler):
    """Puts shared values into a list, and pickles their index instead."""

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
    """The changing values in a function's closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [it for it in cells if _MADE_ANEW.get(type(it), _is_changing(type(it)))]


def _changing_parts(value: Any) -> list[Any]:
    """The fields of a frozen value that are not frozen."""
    if not is_dataclass(value):
        return []
    parts = [getattr(value, each.name) for each in fields(value)]
    return [it for it in parts if not isinstance(it, Enum | tuple) and _is_changing(type(it))]
