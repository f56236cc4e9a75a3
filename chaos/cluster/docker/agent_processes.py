"""The disk agent's part for processes: stops them, and reads the states of threads. In its
image."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

QUIET_WITHIN_S = 5.0

HELD: set[int] = set()  # processes with a stopped tracer


class RefusedError(Exception):
    """An operation did not have its effect; the text goes to the harness."""


def until(done: Callable[[], bool], within_s: float, otherwise: str) -> None:
    deadline = time.monotonic() + within_s
    while not done():
        if time.monotonic() > deadline:
            raise RefusedError(otherwise)
        time.sleep(0.001)  # between two looks


def quiesce(pids: Sequence[int]) -> int:
    """Stop every process of these containers; returns how many threads now stand still.

    An fsync in flight during the shutdown may return 0 although nothing reached the disk, so no
    thread may be able to acknowledge it: none is left running (R) or sleeping (S). One in D stops
    before it can.
    """
    spaces = {pid_space(pid) for pid in pids}
    deadline = time.monotonic() + QUIET_WITHIN_S
    while True:
        members = members_of(spaces)
        for pid in members:
            signal_to(pid, signal.SIGSTOP)
        states = [(state, pid) for pid in members for state in thread_states(pid)]
        if states and not any(state in _moving(pid) for state, pid in states):
            if members_of(spaces) == members:
                return len(states)
        elif time.monotonic() > deadline:
            raise RefusedError(f"processes do not stop: thread states {states}")
        time.sleep(0.0005)  # between two looks at /proc


def _moving(pid: int) -> str:
    """The states in which a thread may still act. A sleeper with a held tracer may not: it stops at
    the next system call that it makes or returns from."""
    return "R" if pid in HELD else "RS"


def resume(pid: int) -> None:
    for member in members_of({pid_space(pid)}):
        signal_to(member, signal.SIGCONT)


def states(pid: int) -> str:
    """The state letters of all threads of a container; empty when it is gone."""
    try:
        space = pid_space(pid)
    except FileNotFoundError:
        return ""
    return "".join(state for member in members_of({space}) for state in thread_states(member))


def pid_space(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())


def members_of(spaces: set[str]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if pid_space(int(entry.name)) in spaces:
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # gone in the meantime, or a kernel thread
    return sorted(found)


def thread_states(pid: int) -> Iterator[str]:
    return (state for _, state in states_of_threads(pid))


def states_of_threads(pid: int) -> Iterator[tuple[int, str]]:
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            state = stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in "ZX":
            yield int(stat.parent.name), state


def signal_to(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended in the meantime
        os.kill(pid, number)
