"""Whether the simulated file system may leave all that a real one left: both run the same programs.

The real one is the project's own: a loop-device ext4, formatted, mounted and cut as a node's disk
in containers is, by the functions of the disk agent. It runs the programs once (`observe`); then
any model can be asked whether it may leave what was seen (`first_surprise`).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from chaos.cluster.docker import agent_program as agent
from chaos.cluster.docker.agent_processes import RefusedError
from chaos.cluster.docker.loop_disks import MOUNT_OPTIONS
from chaos.cluster.docker.power_cuts import FLAGS
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import Descriptor, FileSystem
from tests.sim.programs import Observation, Operation, PowerCut, Program, Round, State, perform
from tests.sim.remains import may_have_left

PREFIX = "kraft-chaos-fidelity-"
MEBIBYTES = 64
OPERATIONS = (2, 12)  # of one program between two cuts
# That leave one state or two, so that the model can be expected to be in the same one.
SINGLE = (PowerCutMode.LOSE_ALL, PowerCutMode.LOSE_DATA)


@dataclass(slots=True)
class RealFileSystem:
    """`Calls` of the file system that is mounted on `root`."""

    root: Path
    held: list[Descriptor] = field(default_factory=list)

    def open(self, path: str, *, create: bool = False) -> Descriptor:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self.held.append(Descriptor(os.open(self.root / path, flags, 0o644)))
        return self.held[-1]

    def close(self, descriptor: Descriptor) -> None:
        self.held.remove(descriptor)
        os.close(descriptor)

    def close_all(self) -> None:
        while self.held:
            os.close(self.held.pop())

    def size(self, descriptor: Descriptor) -> int:
        return os.fstat(descriptor).st_size

    def write(self, descriptor: Descriptor, position: int, data: bytes) -> None:
        assert os.pwrite(descriptor, data, position) == len(data)

    def truncate(self, descriptor: Descriptor, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: Descriptor) -> None:
        os.fsync(descriptor)

    def fdatasync(self, descriptor: Descriptor) -> None:
        os.fdatasync(descriptor)

    def fsync_directory(self, path: str) -> None:
        descriptor = os.open(self.root / path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(descriptor)
        os.close(descriptor)

    def mkdir(self, path: str) -> None:
        (self.root / path).mkdir()

    def rename(self, old: str, new: str) -> None:
        (self.root / old).rename(self.root / new)

    def unlink(self, path: str) -> None:
        (self.root / path).unlink()

    def state(self, home: str) -> State:
        found = sorted((self.root / home).rglob("*"))
        below = {str(at.relative_to(self.root)): at for at in found}
        return {path: None if at.is_dir() else at.read_bytes() for path, at in below.items()}


@dataclass(frozen=True, slots=True)
class RealDisk:
    """A loop device and its file system, which is mounted except during a cut."""

    device: str
    files: RealFileSystem

    def mount(self) -> None:
        root = str(self.files.root)
        agent.command("mount", "-t", "ext4", "-o", MOUNT_OPTIONS, self.device, root)

    def unmount(self) -> None:
        agent.command("umount", str(self.files.root))
        agent.wait_gone(self.device)

    def cut(self, cut: PowerCut, home: str) -> None:
        """All calls have returned, so no fsync is in flight: nobody needs to be stopped."""
        root = str(self.files.root)
        if cut.mode is PowerCutMode.TORN:
            agent.tear(os.getpid(), f"{root}/{home}", cut.seed)
        agent.shutdown(os.getpid(), root, FLAGS[cut.mode])
        self.files.close_all()
        self.unmount()
        self.mount()


@contextmanager
def real_disk(scratch: Path) -> Iterator[RealDisk]:
    """Made, mounted and removed again. Raises OSError or RefusedError where that cannot be."""
    if os.geteuid() != 0:
        raise PermissionError("only root may mount a loop device")
    _reap()
    name = f"{PREFIX}{os.getpid()}"
    files = RealFileSystem(scratch / "root")
    files.root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent, "DISKS", scratch)
        try:
            disk = RealDisk(agent.make_disk(name, MEBIBYTES, 0, 0), files)
            disk.mount()
            yield disk
        finally:
            files.close_all()
            with suppress(RefusedError):  # not mounted: it never was, or a cut failed
                agent.command("umount", str(files.root))
            agent.detach(name)


def _reap() -> None:
    """Remove what a killed test left: its mount and its loop device."""
    for device, name in sorted(agent.loops(PREFIX).items()):
        pid = Path(name).stem.removeprefix(PREFIX)
        if not Path(f"/proc/{pid}").exists():
            with suppress(RefusedError):  # not mounted
                agent.command("umount", device)
            agent.command("losetup", "-d", device)


def observe(disk: RealDisk, seed: int) -> Observation:
    """Run one to three programs side by side, through one or two power cuts."""
    rng = Random(f"fidelity:{seed}")
    home = f"p{seed}"
    disk.files.mkdir(home)
    programs = [
        Program(f"{home}/{index}", Random(f"fidelity:{seed}:{index}"))
        for index in range(rng.choice((1, 1, 2, 3)))
    ]
    for program in programs:
        disk.files.mkdir(program.home)
    disk.files.fsync_directory(home)  # commits the journal, so that it is empty
    seen = Observation(root=home, homes=tuple(program.home for program in programs))
    last = rng.choice((0, 1, 1))
    for number in range(last + 1):
        if number:
            # Reading changed access times, and the inodes were read: neither is in the program.
            disk.unmount()
            disk.mount()
        modes = list(PowerCutMode) if number == last else SINGLE
        seen = seen.then(_observe_round(disk, home, programs, rng, modes))
    return seen


def _observe_round(
    disk: RealDisk,
    home: str,
    programs: list[Program],
    rng: Random,
    modes: Sequence[PowerCutMode],
) -> Round:
    operations: list[Operation] = []
    turns = [program for program in programs for _ in range(rng.randint(*OPERATIONS))]
    rng.shuffle(turns)
    for program in turns:
        operations.append(program.draw())
        perform(disk.files, operations[-1])
    cut = PowerCut(rng.choice(modes), f"tear:{home}")
    disk.cut(cut, home)
    left = disk.files.state(home)
    for program in programs:
        program.see(left)
    return Round(operations=tuple(operations), cut=cut, left=left)


def first_surprise(observation: Observation, make: Callable[[], FileSystem]) -> str | None:
    """What was observed that this model may not leave; None where it may leave all of it.

    Where the model, by its own choices, left something else, it cannot go on with the next round.
    """
    filesystem = _prepared(observation, make)
    above = dict.fromkeys((observation.root,))
    for each in observation.rounds:
        for operation in each.operations:
            perform(filesystem, operation)
        reason = may_have_left(filesystem, each.cut.mode, {**above, **each.left})
        if reason is not None:
            story = "\n".join(f"  {operation}" for operation in (*each.operations, each.cut))
            return f"{reason}\n{story}"
        filesystem.power_cut(each.cut.mode, Random(each.cut.seed))
        if filesystem.files() != each.files():
            return None
    return None


def lost_something(observation: Observation) -> bool:
    """Whether the files after the first cut are other than they were before."""
    filesystem = _prepared(observation, FileSystem)
    for operation in observation.rounds[0].operations:
        perform(filesystem, operation)
    return filesystem.files() != observation.rounds[0].files()


def _prepared(observation: Observation, make: Callable[[], FileSystem]) -> FileSystem:
    filesystem = make()
    for home in (observation.root, *observation.homes):
        filesystem.mkdir(home)
    filesystem.fsync_directory(observation.root)
    return filesystem
