"""How kernels are compiled: cached on disk, without the interpreter's lock.

Numba counts references to every array that a kernel takes out of a tuple, atomically, each time: in
a search that was a third of all time. So the loops are compiled without the runtime that counts
(`_nrt`); they may use arrays and make none, and their callers keep the arrays alive.

The cache is the user's, so that every checkout and every environment with these sources finds what
one of them compiled. Its directories are named by the contents of all sources of the package and of
the kernel's own file, never by a path. Numba itself looks only at the file of a function, and would
go on using code that was compiled before the functions that it calls, or the classes that it takes,
were changed.

A directory that no process used for a month is removed when others are made.

Compiling all takes a minute or more. The first kernel that is compiled, not loaded, is logged as a
warning, which goes to stderr by default.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable
from hashlib import blake2s
from pathlib import Path
from types import FunctionType
from typing import ParamSpec, Self, TypeVar, cast

import numba
from numba.core import event as events

_HERE = Path(__file__).parent
_LOG = logging.getLogger(__name__)
_KEPT_S = 30 * 86_400.0  # unused


def _digest(*sources: bytes) -> str:
    return blake2s(b"".join(sources), digest_size=6).hexdigest()


def _cache_directory() -> Path | None:
    """None if nothing can be written, neither in the user's directory nor beside the sources."""
    digest = _digest(*(source.read_bytes() for source in sorted(_HERE.glob("*.py"))))
    # NUMBA_BOUNDSCHECK makes other code of the same sources, which numba does not distinguish.
    checked = "-bounds" if vars(numba.config).get("BOUNDSCHECK") else ""
    for place in (_user_cache, lambda: _HERE / "__pycache__"):
        try:
            directory = place() / f"kernels-{digest}{checked}"
            directory.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # a user without a home is a RuntimeError
            continue
        if os.access(directory, os.W_OK):
            os.utime(directory)  # in use
            return directory
    return None


def remove_unused(directory: Path) -> None:
    """Of the kernels beside those in `directory`, the ones that no process used for a month."""
    for other in directory.parent.glob("kernels-*"):
        try:
            unused_s = time.time() - other.stat().st_mtime
        except FileNotFoundError:  # another process does the same
            continue
        if other != directory and unused_s > _KEPT_S:
            shutil.rmtree(other, ignore_errors=True)


def _user_cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "kraft-chaos"


_CACHE = _cache_directory()


class KernelLocator:
    """Tells numba where it keeps a function: of the checkers' kernels, and of no others."""

    def __init__(self, function: FunctionType, file: Path) -> None:
        self._line = function.__code__.co_firstlineno
        self._contents = _digest(file.read_bytes())

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> Self | None:
        path = Path(file)
        return cls(function, path) if path.is_relative_to(_HERE.parent) else None

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        assert _CACHE is not None
        return str(_CACHE / self._contents)

    def get_source_stamp(self) -> str:
        return self._contents

    def get_disambiguator(self) -> str:
        return str(self._line)


# If nothing can be written, numba finds a place of its own.
if _CACHE is not None:
    _others = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator"
    # Its stubs know no settings.
    vars(numba.config)["CACHE_LOCATOR_CLASSES"] = f"{__name__}.{KernelLocator.__name__},{_others}"


class _FirstCompilation(events.Listener):
    """Says once per process why it takes so long."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: object) -> None:
        del event
        if not self._said:
            self._said = True
            _LOG.warning("compiling the checkers' kernels; the first time takes a minute or more")
            if _CACHE is not None:
                remove_unused(_CACHE)

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
