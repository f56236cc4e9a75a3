"""How kernels are compiled: cached on disk, without the interpreter's lock."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """For the parts of a kernel: else each call counts references of every array it takes."""
    made = numba.njit(cache=True, nogil=True, forceinline=True)(function)
    return cast("Callable[P, R]", made)
