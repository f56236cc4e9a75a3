"""Judges what a run has recorded so far, again and again, and tells the first violation.

Each look takes a copy of the events, and judges it in a process of its own, as `kraft-chaos check`
judges a run that was killed: without logs, disks and final reads, so what needs them is unknown yet
and accuses no node. Clients and recorder go on meanwhile, and the process gives way to them.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Protocol

from chaos.run.judging import judge_directory
from chaos.run.own_app import DIRECTORY, HISTORY
from chaos.setup.shell import module_name
from checkers.history.store import EVENTS
from checkers.verdict import Verdict

EVERY_S = 3.0  # from the end of a look to the next
_INFO = "run.json"
_CRASHED = ("judge", Verdict.ERROR)
_GIVES_WAY = ("nice", "-n", "15")


class LookError(Exception):
    """What was recorded so far could not be judged; the message has the last words."""


class Flushing(Protocol):
    def flush(self) -> None:
        """Let the files have all that was recorded."""


async def first_violation(directory: Path, recorder: Flushing, every_s: float = EVERY_S) -> str:
    """`CHECK: message` of the first violation, once there is one. Raises LookError."""
    while True:
        await asyncio.sleep(every_s)
        with tempfile.TemporaryDirectory(prefix="kraft-chaos-look-") as name:
            recorder.flush()  # both files, and then both are copied: no answer is without its call
            for path in (directory / _INFO, *directory.glob(EVENTS)):
                shutil.copy(path, name)
            if (told := directory / DIRECTORY / HISTORY).exists():
                (Path(name) / DIRECTORY).mkdir()
                shutil.copy(told, Path(name) / DIRECTORY)
            if found := await _look(Path(name)):
                return found


async def _look(copy: Path) -> str:
    words = (*_GIVES_WAY, sys.executable, "-m", module_name("chaos.run.first_violation"), str(copy))
    pipe = asyncio.subprocess.PIPE
    # Its own session: Ctrl-C is for the run, which ends this.
    looking = await asyncio.create_subprocess_exec(
        *words, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        told, complained = await looking.communicate()
    finally:
        if looking.returncode is None:  # the run ended, or was interrupted, meanwhile
            looking.kill()
            await looking.wait()
    if looking.returncode:
        last = complained.decode(errors="replace").strip().splitlines()[-1:]
        raise LookError(f"what was recorded so far could not be judged: {' '.join(last)}")
    return str(json.loads(told))


def violation_in(directory: Path) -> str:
    """`CHECK: message` of a run that was recorded so far; "" if nothing is wrong in it yet."""
    rows = judge_directory(directory, page=False).results
    if crashed := [row.message for row in rows if (row.check, row.verdict) == _CRASHED]:
        raise LookError(crashed[0])
    wrong = [row for row in rows if row.verdict is Verdict.INVALID]
    return f"{wrong[0].check}: {wrong[0].message}" if wrong else ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(violation_in(Path(sys.argv[1]))))
