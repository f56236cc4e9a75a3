"""Commands of the set-up with their output in one log, the harness's own directories, and needs."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_BELOW = __name__.removesuffix("chaos.setup.shell")  # "kraft_chaos." in a wheel

# The directory of the harness's own files: per user, outside any run.


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


def module_name(name: str) -> str:
    """The name by which a module of ours is imported: `node.server` in a checkout, and below
    `kraft_chaos` where a wheel has put it there."""
    return _BELOW + name


def _made(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


# A need of the harness as a value, and the error of a set-up step.


OLDEST_JAVA = 17  # of Apache Kafka's brokers, and of Spark


Tell = Callable[[str], None]


class Found(StrEnum):
    FOUND = "found"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that the harness needs on the machine, and its state."""

    name: str
    found: Found
    seen: str  # what was looked at, and the result
    mend: str = ""  # the next command, if it is missing
    without: str = ""  # what still works without it
    optional: bool = False  # needed only on request

    @property
    def ok(self) -> bool:
        return self.found is Found.FOUND


class SetupError(Exception):
    """A need that could not be met: what failed, why, the next command, and what works without
    it."""

    def __init__(self, what: str, *, why: str, mend: str, without: str = "") -> None:
        lines = [what, f"  why: {why}", f"  try: {mend}"]
        if without:
            lines.append(f"  without it: {without}")
        super().__init__("\n".join(lines))
        self.what = what
        self.why = why
        self.mend = mend
        self.without = without


TAIL_LINES = 6


def log_file() -> Path:
    return cache_dir() / "setup.log"


def run(
    argv: Sequence[str],
    *,
    what: str,
    mend: str,
    without: str = "",
    timeout_s: float = 900,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a command to its end and return what it printed; SetupError when it fails."""
    began = time.strftime("%H:%M:%S")
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env={**os.environ, **(env or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(what, why=str(error), mend=mend, without=without) from error
    with log_file().open("a") as log:
        log.write(f"--- {began} {' '.join(argv)}\n{done.stdout}\n--- exit {done.returncode}\n")
    if done.returncode != 0:
        tail = "\n    ".join(done.stdout.strip().splitlines()[-TAIL_LINES:])
        why = f"`{argv[0]}` exited {done.returncode} (log: {log_file()})\n    {tail}"
        raise SetupError(what, why=why, mend=mend, without=without)
    return done.stdout


def found_program(name: str) -> str | None:
    """Like `which`, with the system directories that a user's PATH may lack."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    return shutil.which(name, path=path)


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
