"""A simulated disk whose power lasts for so many steps."""

from dataclasses import dataclass, field
from random import Random

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import DiskStep


class PowerCut(Exception):
    """The power went while the disk was at work."""


def new_disk() -> SimDisk:
    return SimDisk(FileSystem())


@dataclass(slots=True)
class Powered:
    """`steps_left`: how many more steps the power lasts; None for ever."""

    steps_left: int | None = None
    steps: int = 0
    filesystem: FileSystem = field(init=False)
    disk: SimDisk = field(init=False)

    def __post_init__(self) -> None:
        self.filesystem = FileSystem(before=self._step)
        self.disk = SimDisk(self.filesystem)

    def power_off(self, mode: PowerCutMode, rng: Random) -> None:
        """Forget, and come back with the power on."""
        self.steps_left = None
        self.filesystem.power_cut(mode, rng)

    def _step(self, _: DiskStep) -> None:
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise PowerCut
            self.steps_left -= 1
        self.steps += 1
