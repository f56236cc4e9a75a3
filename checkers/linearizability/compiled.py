"""How kernels are compiled: cached on disk, without the interpreter's lock.

Numba counts references to every array that a kernel takes out of a tuple, atomically, each time: in
a search that was a third of all time. So the loops are compiled without the runtime that counts
(`_nrt`); they may use arrays and make none, and their callers keep the arrays alive.

The cache is in a directory that is named by all sources of the package: numba itself looks only at
the file of a function, and would go on using code that was compiled before the functions that it
calls, or the classes that it takes, were changed.

Compiling all takes a minute or more. The first kernel that is compiled, not loaded, is logged as a
warning, which goes to stderr by default.
"""

import logging
import os
from collections.abc import Callable
from hashlib import blake2s
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numba
from numba.core import event as events

_HERE = Path(__file__).parent
_LOG = logging.getLogger(__name__)


def _cache_directory() -> Path:
    sources = sorted(_HERE.glob("*.py"))
    digest = blake2s(b"".join(source.read_bytes() for source in sources), digest_size=6)
    # NUMBA_BOUNDSCHECK makes other code of the same sources, which numba does not distinguish.
    checked = "-bounds" if vars(numba.config).get("BOUNDSCHECK") else ""
    return _HERE / "__pycache__" / f"kernels-{digest.hexdigest()}{checked}"


# If nothing can be written beside the sources, numba finds a place of its own.
if os.access(_HERE, os.W_OK):
    vars(numba.config)["CACHE_DIR"] = str(_cache_directory())  # its stubs do not know it


class _FirstCompilation(events.Listener):
    """Says once per process why it takes so long."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: object) -> None:
        del event
        if not self._said:
            self._said = True
            _LOG.warning("compiling the checkers' kernels; the first time takes a minute or more")

    def on_end(self, event: object) -> None:
        del event


_register: Callable[[str, events.Listener], None] = events.register  # it has no types
_register("numba:compile", _FirstCompilation())

P = ParamSpec("P")
R = TypeVar("R")

_njit: Callable[..., Callable[..., object]] = numba.njit  # its stubs do not know `_nrt`


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast("Callable[P, R]", _njit(cache=True, nogil=True)(function))


def loop(function: Callable[P, R]) -> Callable[P, R]:
    """For functions that use arrays and make none."""
    return cast("Callable[P, R]", _njit(cache=True, nogil=True, _nrt=False)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """For the small parts of a loop: they would count references at every call."""
    options = {"cache": True, "nogil": True, "_nrt": False, "forceinline": True}
    return cast("Callable[P, R]", _njit(**options)(function))
