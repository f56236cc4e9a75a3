"""Commands of the set-up, with their output in one log that errors name."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaos.setup.needs import SetupError
from chaos.setup.places import cache_dir

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
