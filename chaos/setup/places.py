"""Where the harness keeps its own files: per user, outside any run."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """Wheels, built binaries, logs of set-up steps; may be deleted at any time."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return _made(Path(root) / "kraft-chaos")


def runtime_dir() -> Path:
    """Lock files of active runs; a reboot may empty it, for then no run is active."""
    root = os.environ.get("XDG_RUNTIME_DIR")
    if root and os.access(root, os.W_OK):
        return _made(Path(root) / "kraft-chaos")
    return _made(cache_dir() / "run")


def repository() -> Path:
    """The directory that holds `compose/` and the packages."""
    return Path(__file__).resolve().parents[2]


def _made(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
