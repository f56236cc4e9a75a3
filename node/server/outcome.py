"""How the process ends, and its last message.

A failed disk is not asked twice: after a failed fsync the kernel may have dropped the pages and
answer the next one with success. A broken invariant may have broken more. Either way nothing else
is touched, and the process ends at once, without notice to any peer.
"""

import errno
import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from node.config import NodeConfig
from node.effects import Stop

FAILED = 1
WRONG_USAGE = 254

# A node that was asked to stop ends after this time at the latest. A controller that cannot
# transfer its leadership gives up by itself before; a broker waits for its controlled shutdown as
# long as Kafka's does (`node.broker.lifecycle`), and flushes all of its logs.
_CONTROLLER_STOPS_WITHIN_S, _BROKER_STOPS_WITHIN_S = 5.0, 600.0


def last_stop(config: NodeConfig) -> tuple[float, Stop]:
    """The seconds after which a node that was asked to stop ends anyway; and how."""
    if config.role is not None:
        within_s, what = _BROKER_STOPS_WITHIN_S, "not let go, or logs not flushed,"
    else:
        within_s, what = _CONTROLLER_STOPS_WITHIN_S, "leadership not handed over"
    return within_s, Stop(code=0, reason=f"{what} in {within_s:g} s")


class Refusal(Exception):
    """An operator's error: what, where, and the next command; and the exit code."""

    def __init__(self, *, what: str, where: str, next_step: str, code: int = FAILED) -> None:
        super().__init__(f"error: {what}\n  {where}\n  try: {next_step}")
        self.code = code


def describe_failure(error: BaseException) -> str:
    """One line: what failed, on which file, and what to do."""
    match error:
        case BrokenPipeError():
            return "stdout is closed, so the trace lines are lost; start it with stdout to a file"
        case OSError(errno=errno.EMFILE | errno.ENFILE):
            return (
                f"no file descriptor is left ({error.strerror}) for {error.filename or 'a file'}; "
                "raise the limit of open files (ulimit -n), then start the node again"
            )
        case OSError():
            place = error.filename or "the log directory"
            return (
                f"the disk failed: {error.strerror or error} (errno {error.errno}) on {place}; "
                "look at the disk, then start the node again: it recovers from what is durable"
            )
        case AssertionError():
            return f"an invariant is broken: {_words_of(error)}; keep the log directory"
        case _:
            told = f"{type(error).__name__}: {_words_of(error)}"
            return f"{told}; keep the log directory and report it"


def _words_of(error: BaseException) -> str:
    """An error's message; if it has none, the line that raised it."""
    raised = traceback.extract_tb(error.__traceback__)[-1:]
    places = (f"{at.line or at.name} ({Path(at.filename).name}, line {at.lineno})" for at in raised)
    return str(error) or next(places, "nothing is known of it")


def die(node: str, error: BaseException) -> NoReturn:
    """Print why and exit, now. Never returns, never cleans up."""
    if not isinstance(error, OSError):
        sys.excepthook(type(error), error, error.__traceback__)
    sys.stderr.write(f"kraft-node {node}: {describe_failure(error)}\n")
    sys.stderr.flush()
    os._exit(FAILED)
