"""The disk agent's tracers: syncs of running, unmodified processes that go wrong. In its image."""

import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from chaos.cluster.docker.agent_processes import (
    HELD,
    QUIET_WITHIN_S,
    RefusedError,
    members_of,
    pid_space,
    thread_states,
    until,
)

RECORDS = Path("/disks")
STRACE = "strace"  # answers in the kernel's place: the processes are as they are
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


def hold_trouble(pids: Sequence[int]) -> None:
    """Let no sync that waits go on: with its tracer stopped it stays where it is."""
    for tracer in _tracers(pids):
        tracer.send_signal(signal.SIGSTOP)
        until(partial(_stands_still, tracer.pid), QUIET_WITHIN_S, f"{STRACE} runs on")
    HELD.update(member for pid in pids if pid in TRACERS for member in members_of({pid_space(pid)}))


def _stands_still(pid: int) -> bool:
    return set(thread_states(pid)) == {"T"}


def end_trouble(pids: Sequence[int]) -> None:
    """A tracer must be gone before those whom it traced can be seen to have ended."""
    for tracer in _tracers(pids):
        tracer.kill()
        tracer.wait()
    for pid in pids:
        TRACERS.pop(pid, None)
    HELD.clear()


def _tracers(pids: Sequence[int]) -> "list[subprocess.Popen[bytes]]":
    return [TRACERS[pid] for pid in pids if pid in TRACERS]


def troubled(pid: int) -> int:
    """How many of their syncs went so."""
    record = _record_of(pid)
    lines = record.read_text(errors="replace").splitlines() if record.exists() else []
    return sum("(INJECTED)" in line or "(DELAYED)" in line for line in lines)


def _record_of(pid: int) -> Path:
    return RECORDS / f"syncs-of-{pid}"


def _traced(pid: int) -> bool:
    tasks = list(Path(f"/proc/{pid}/task").glob("*/status"))
    return bool(tasks) and not any("TracerPid:\t0\n" in task.read_text() for task in tasks)
