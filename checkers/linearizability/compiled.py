"""How kernels are compiled: cached on disk, without the interpreter's lock.

Numba counts references to every array that a kernel takes out of a tuple, atomically, each time:
in a search that was a third of all time. So the loops are compiled without the runtime that
counts (`_nrt`); they may use arrays and make none, and what calls them keeps the arrays alive.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

_njit: Callable[..., Callable[..., object]] = numba.njit  # its stubs do not know `_nrt`


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast("Callable[P, R]", _njit(cache=True, nogil=True)(function))


def loop(function: Callable[P, R]) -> Callable[P, R]:
    """For what uses arrays and makes none."""
    return cast("Callable[P, R]", _njit(cache=True, nogil=True, _nrt=False)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """For the small parts of such a loop."""
    options = {"cache": True, "nogil": True, "_nrt": False, "forceinline": True}
    return cast("Callable[P, R]", _njit(**options)(function))
