"""The disk agent's part for processes: stops them, and reads the states of threads. In its
image.

The disk agent's tracers: syncs of running, unmodified processes that go wrong. In its image.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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


RECORDS = Path("/disks")
TRACED = "t"  # the state of a thread that is stopped by its tracer
SYNCS = ("74", "75") if os.uname().machine == "x86_64" else ("82", "83")  # fsync, fdatasync
WAITS_WITHIN_S = 15.0  # a sync of a real disk that is shared takes seconds
STRACE = "strace"  # answers from the kernel: the processes are unmodified
TRACERS: "dict[int, subprocess.Popen[bytes]]" = {}


def trouble(pid: int, inject: str) -> None:
    """From now on each fsync of these processes goes as strace's `inject` says, until they end."""
    members = members_of({pid_space(pid)})
    argv = [STRACE, "-f", "-qq", "-o", str(_record_of(pid)), "-e", "trace=fsync,fdatasync"]
    argv += ["-e", f"inject=fsync,fdatasync:{inject}"]
    argv += [word for member in members for word in ("-p", str(member))]
    tracer = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )

    def attached() -> bool:
        if tracer.poll() is not None:
            said = tracer.stderr.read().decode() if tracer.stderr else ""
            raise RefusedError(f"{STRACE} ended at once: {said.strip()}")
        return all(_traced(member) for member in members)

    until(attached, QUIET_WITHIN_S, f"{STRACE} did not attach to {members}")
    TRACERS[pid] = tracer


def hold_trouble(pids: Sequence[int], waiting: Sequence[int] = ()) -> None:
    """Let no waiting sync go on: with its tracer stopped it stays in place. At least one of the
    `waiting` syncs must be held before the kernel began it, however long the last one takes."""
    for pid, tracer in _tracers(pids).items():
        if pid in waiting:
            until(partial(_held_in_time, pid, tracer), WAITS_WITHIN_S, f"no sync of {pid} waits")
        else:
            _hold(tracer)
    HELD.update(member for pid in pids if pid in TRACERS for member in members_of({pid_space(pid)}))


def _held_in_time(pid: int, tracer: "subprocess.Popen[bytes]") -> bool:
    """Whether a sync waited before its tracer stood still, and still waits after that."""
    if not _sync_waits(pid):
        return False
    _hold(tracer)
    if _sync_waits(pid):
        return True
    tracer.send_signal(signal.SIGCONT)
    return False


def _hold(tracer: "subprocess.Popen[bytes]") -> None:
    tracer.send_signal(signal.SIGSTOP)
    until(partial(_stands_still, tracer.pid), QUIET_WITHIN_S, f"{STRACE} runs on")


def _sync_waits(pid: int) -> bool:
    """Whether the thread is stopped by its tracer at the entry of a sync."""
    return any(
        state == TRACED and _system_call(member, thread) in SYNCS
        for member in members_of({pid_space(pid)})
        for thread, state in states_of_threads(member)
    )


def _system_call(pid: int, thread: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{thread}/syscall").read_text().split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it ended in the meantime


def _stands_still(pid: int) -> bool:
    return set(thread_states(pid)) == {"T"}


def end_trouble(pids: Sequence[int]) -> None:
    """End the tracers: only then can the threads that they traced be seen to have ended."""
    for tracer in _tracers(pids).values():
        tracer.kill()
        tracer.wait()
    for pid in pids:
        TRACERS.pop(pid, None)
    HELD.clear()


def _tracers(pids: Sequence[int]) -> "dict[int, subprocess.Popen[bytes]]":
    return {pid: TRACERS[pid] for pid in pids if pid in TRACERS}


def troubled(pid: int) -> int:
    """How many of their syncs went wrong."""
    record = _record_of(pid)
    lines = record.read_text(errors="replace").splitlines() if record.exists() else []
    return sum("(INJECTED)" in line or "(DELAYED)" in line for line in lines)


def _record_of(pid: int) -> Path:
    return RECORDS / f"syncs-of-{pid}"


def _traced(pid: int) -> bool:
    tasks = list(Path(f"/proc/{pid}/task").glob("*/status"))
    return bool(tasks) and not any("TracerPid:\t0\n" in task.read_text() for task in tasks)


# Who holds a disk.


_MOST_HOLDERS = 3


def holders(device: str, proc: Path = Path("/proc")) -> str:
    """The processes, in words, that have a block device (`7:3`, as the kernel numbers it) mounted:
    first those that use something below the mount; else one of each name space that has it. "" if
    there are none."""
    users: list[str] = []
    spaces: dict[str, str] = {}
    for process in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            points = _mounted(process / "mountinfo", device)
            if not points:
                continue
            name = f"process {process.name} ({(process / 'comm').read_text().strip()})"
            space = str((process / "ns" / "mnt").readlink())
            told = f"{name}, which has it mounted at {points[0]}"
            spaces.setdefault(space, told)
            if used := _uses(process, points):
                users.append(f"{name}, which uses {used}")
        except OSError:
            continue  # it has ended, or is none of ours to look into
    found = users or list(spaces.values())
    more = len(found) - _MOST_HOLDERS
    return ", ".join(found[:_MOST_HOLDERS]) + (f" and {more} more" if more > 0 else "")


def _mounted(mounts: Path, device: str) -> list[str]:
    lines = (line.split(" ") for line in mounts.read_text().splitlines())
    return [fields[4] for fields in lines if fields[2] == device]


def _uses(process: Path, points: Sequence[str]) -> str:
    """The first path below a mount that a process stands in or has opened."""
    for link in (process / "cwd", process / "root", *sorted((process / "fd").glob("*"))):
        path = str(link.readlink())
        if any(path == point or path.startswith(f"{point}/") for point in points if point != "/"):
            return path
    return ""
