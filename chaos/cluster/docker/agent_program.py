"""The disk agent: one container does all that needs privilege on the engine's machine.

Its image has only the modules `agent_*.py` (without `agent.py`) of the harness, so they import each
other and the standard library only. It reads one JSON request a line from stdin and answers with
one JSON line each on stdout: `{"id", "op", ...}` gives `{"id", "result"}` or `{"id", "error"}`.
`docs/reference/faults.md` and `power_cuts.py` say what is done in which order, and why.

It reaches a node's file system through /proc/PID/root, so it holds no mount of its own: a second
live mount of the same device would hand a restarted node the dead super block. If the power is to
fail after a process has ended, it holds the directory until then, and lets go before a start.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from chaos.cluster.docker.agent_processes import (
    TRACERS,
    RefusedError,
    end_trouble,
    hold_trouble,
    holders,
    quiesce,
    resume,
    states,
    trouble,
    troubled,
    until,
)

DISKS = Path("/disks")
CANARY = ".kraft-chaos-canary"
BLOCK = 4096
SYNCED = b"synced before the run\n".ljust(64, b".") * (BLOCK // 64)
FS_IOC_SHUTDOWN = 0x8004587D
CLONE_NEWNET = 0x40000000
SIOCADDRT, SIOCDELRT = 0x890B, 0x890C
RTF_UP, RTF_HOST, RTF_REJECT = 0x1, 0x4, 0x200
SYNC_FILE_RANGE_ALL = 7  # wait before, write, wait after
TORN_SHARE = 0.7  # of the pages, which survive
TORN_TAIL = 1 << 20  # bytes at the end of a file that a torn cut writes out
GONE_WITHIN_S = 10.0

T = TypeVar("T")
LIBC = ctypes.CDLL(None, use_errno=True)


def command(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RefusedError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()


# Disks


def make_disk(name: str, mebibytes: int, uid: int, gid: int) -> str:
    """A sparse file with an ext4 that holds the canary; returns the loop device before it."""
    image = DISKS / f"{name}.img"
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    _format(image, uid, gid)
    return command("losetup", "-f", "--show", str(image))


def wipe(device: str, uid: int, gid: int) -> None:
    """A new, empty file system; the old one must be unmounted."""
    wait_gone(device)
    _format(Path(device), uid, gid)


def _format(where: Path, uid: int, gid: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / CANARY).write_bytes(SYNCED)
        options = f"nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner={uid}:{gid}"
        # 4 KiB blocks by hand: mkfs picks 1 KiB for small disks.
        quiet = ("mkfs.ext4", "-q", "-F", "-m0", "-b", str(BLOCK))
        command(*quiet, "-E", options, "-d", scratch, str(where))


def loops(prefix: str) -> dict[str, str]:
    """Loop devices by the name of their backing file; numbers are reused at once, names are not."""
    found = {}
    for backing in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        try:
            name = Path(backing.read_text().strip().removesuffix(" (deleted)")).name
        except OSError:
            continue  # detached in the meantime
        if name.startswith(prefix):
            found[f"/dev/{backing.parts[3]}"] = name
    return found


def detach(prefix: str) -> list[str]:
    """Detach every loop device with a backing file that starts so, and remove the files."""
    devices = sorted(loops(prefix))
    for device in devices:
        wait_gone(device)
        command("losetup", "-d", device)
    for image in DISKS.glob(f"{prefix}*.img"):
        image.unlink()
    return devices


def wait_gone(device: str) -> None:
    """Wait until the kernel has let go of the file system: an earlier start finds the dead one."""
    name = Path(device).name
    try:
        until(lambda: not Path(f"/sys/fs/ext4/{name}").exists(), GONE_WITHIN_S, f"{name} is in use")
    except RefusedError as error:
        told = holders(Path(f"/sys/class/block/{name}/dev").read_text().strip())
        raise RefusedError(f"{error}{f' by {told}' if told else ''}") from None


# Power


def canary_overwrite(pid: int, path: str, token: str) -> bool:
    """Overwrite the synced block in place, unsynced; True when the new bytes can be read and differ
    from the old ones: if a block is overwritten by itself, its loss cannot be seen."""
    new = token.encode().ljust(BLOCK, b"!")
    with _canary(pid, path).open("r+b", buffering=0) as file:
        before = file.read()
        os.pwrite(file.fileno(), new, 0)
    return before != new and _canary(pid, path).read_bytes() == new


def canary_read(pid: int, path: str) -> str:
    """The content of the block: "old", or the token that it was overwritten with. The old content
    is put back."""
    with _canary(pid, path).open("r+b", buffering=0) as file:
        content = file.read()
        if content == SYNCED:
            return "old"
        os.pwrite(file.fileno(), SYNCED, 0)
        os.fsync(file.fileno())
    return content.rstrip(b"!").decode(errors="replace")[:80]


def _canary(pid: int, path: str) -> Path:
    return Path(f"/proc/{pid}/root{path}/{CANARY}")


def shutdown(pid: int, path: str, flag: int) -> None:
    """FS_IOC_SHUTDOWN: 0 freezes first and loses nothing, 1 writes the journal, 2 nothing."""
    directory = os.open(f"/proc/{pid}/root{path}", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("I", flag))
    finally:
        os.close(directory)


def hold(pid: int, path: str) -> dict[str, object]:
    """Keep a node's file system mounted when its process ends: the unmount would write everything
    out. Returns a path to it that is valid until `let_go`."""
    descriptor = os.open(f"/proc/{pid}/root{path}", os.O_RDONLY | os.O_DIRECTORY)
    return {"pid": os.getpid(), "path": f"/proc/self/fd/{descriptor}"}


def sync(pid: int, path: str) -> None:
    """Write out all of a file system, as `sync -f` does."""
    directory = os.open(f"/proc/{pid}/root{path}", os.O_RDONLY | os.O_DIRECTORY)
    try:
        if LIBC.syncfs(directory) != 0:
            raise OSError(ctypes.get_errno(), "syncfs")
    finally:
        os.close(directory)


def let_go(pid: int, path: str) -> None:
    """Let go of the path that `hold` returned."""
    assert pid == os.getpid(), "held by another agent"
    os.close(int(Path(path).name))


def tear(pid: int, path: str, seed: str) -> int:
    """Write random pages of the files' tails to the disk, ahead of a cut with flag 1."""
    rng = random.Random(seed)
    found = sorted(Path(f"/proc/{pid}/root{path}").rglob("*"))
    files = [file for file in found if file.is_file() and not file.is_symlink()]
    return sum(_write_pages(file, rng) for file in files if file.name != CANARY)


def _write_pages(file: Path, rng: random.Random) -> int:
    written = 0
    descriptor = os.open(file, os.O_RDWR)
    try:
        size = os.fstat(descriptor).st_size
        for offset in range(max(0, size - TORN_TAIL) // BLOCK * BLOCK, size, BLOCK):
            if rng.random() < TORN_SHARE:
                place = (ctypes.c_int64(offset), ctypes.c_int64(BLOCK))
                LIBC.sync_file_range(descriptor, *place, SYNC_FILE_RANGE_ALL)
                written += 1
    finally:
        os.close(descriptor)
    return written


# Networks


def in_network_of(pid: int, act: Callable[[], T]) -> T:
    """Run in a thread that has entered the network namespace of a process, and ends afterwards."""

    def entered() -> T:
        descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        try:
            if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(descriptor)
        return act()

    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(entered).result()


def unreachable(pid: int, address: str, on: bool) -> None:
    """Add or delete `unreachable ADDRESS/32` in a namespace; repeating it changes nothing."""

    def change() -> None:
        already = contextlib.suppress(FileExistsError, ProcessLookupError)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle, already:
            fcntl.ioctl(handle, SIOCADDRT if on else SIOCDELRT, _reject_route(address))

    in_network_of(pid, change)


def _reject_route(address: str) -> bytes:
    """struct rtentry for a host route that answers `unreachable`."""

    def inet(host: str) -> bytes:
        return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(host))

    flags = RTF_UP | RTF_HOST | RTF_REJECT
    places = (inet(address), inet("0.0.0.0"), inet("255.255.255.255"))
    return struct.pack("@L16s16s16sHhLPhPLLH0L", 0, *places, flags, 0, 0, 0, 0, 0, 0, 0, 0)


def knock(pid: int, host: str, port: int, data: str, wait_s: float) -> int:
    """Send marked bytes from inside a namespace; returns how many came back, or -1 if the
    connection was closed."""

    def talk() -> int:
        try:
            with socket.create_connection((host, port), timeout=wait_s) as connection:
                connection.sendall(bytes.fromhex(data))
                connection.settimeout(wait_s)
                return len(connection.recv(4096)) or -1
        except TimeoutError:
            return 0
        except OSError:
            return -1

    try:
        return in_network_of(pid, talk)
    except FileNotFoundError:
        return -1  # another fault has ended the process


def knock_ms(pid: int, host: str, port: int, data: str, wait_s: float) -> float:
    """The time until marked bytes are answered, in milliseconds; `wait_s` if no answer comes."""
    began = time.monotonic()
    answered = knock(pid, host, port, data, wait_s)
    return (time.monotonic() - began) * 1000 if answered > 0 else wait_s * 1000


# State of the cluster for a process that attaches later

MEMORY = DISKS / "memory.json"


def remember(key: str, value: str) -> None:
    """Keep a word for as long as the cluster lives; an empty one removes it."""
    with MEMORY.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        words = {**json.loads(file.read() or "{}"), key: value}
        file.truncate(0)
        json.dump({key: word for key, word in words.items() if word}, file)


def recall(prefix: str) -> dict[str, str]:
    if not MEMORY.exists():
        return {}
    with MEMORY.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        words = json.loads(file.read() or "{}")
    return {key: word for key, word in words.items() if key.startswith(prefix)}


# Whether the agent works on this machine


def self_test() -> str:
    """Lose unsynced bytes of a scratch disk on purpose; returns "" or what did not work."""
    name = f"self-test-{os.urandom(8).hex()}"  # agents have the same process numbers
    place = Path(tempfile.mkdtemp())
    try:
        device = make_disk(name, 16, 0, 0)
        return _cut_scratch_disk(device, place)
    except (OSError, RefusedError) as error:
        return str(error)
    finally:
        subprocess.run(["umount", str(place)], capture_output=True, check=False)
        detach(name)
        shutil.rmtree(place, ignore_errors=True)


def _cut_scratch_disk(device: str, place: Path) -> str:
    command("mount", "-t", "ext4", device, str(place))
    pid, path = os.getpid(), str(place)
    canary_overwrite(pid, path, "self-test")
    shutdown(pid, path, 2)
    command("umount", path)
    wait_gone(device)
    command("mount", "-t", "ext4", device, path)
    seen = canary_read(pid, path)
    return "" if seen == "old" else f"the shutdown ioctl lost nothing: the canary reads {seen!r}"


# Requests


def each(act: Callable[..., T], arguments: Sequence[dict[str, object]]) -> list[T]:
    """Perform the operation for several nodes at once; answers in their order."""
    with ThreadPoolExecutor(max_workers=max(1, len(arguments))) as pool:
        return [done.result() for done in [pool.submit(act, **kw) for kw in arguments]]


OPERATIONS: dict[str, Callable[..., object]] = {
    act.__name__: act
    for act in (
        make_disk, wipe, loops, detach, wait_gone, quiesce, resume, states, canary_overwrite,
        canary_read, shutdown, hold, sync, let_go, tear, unreachable, knock, knock_ms, remember,
        recall, self_test, trouble, troubled, hold_trouble, end_trouble,
    )
}  # fmt: skip


def answer(line: str) -> dict[str, object]:
    """Perform one request: `each` holds one set of arguments, or several at once."""
    request = json.loads(line)
    try:
        return {"id": request["id"], "result": each(OPERATIONS[request["op"]], request["each"])}
    except Exception as error:  # noqa: BLE001 - any failure is reported to the harness
        return {"id": request["id"], "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Serve until stdin ends. A stopped tracer that outlived the agent would keep its node
    alive."""
    try:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(line)) + "\n")
            sys.stdout.flush()
    finally:
        end_trouble(list(TRACERS))


if __name__ == "__main__":
    main()
