"""What a simulated process lives in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chaos.cluster.sim.drive import Drive
from chaos.cluster.sim.invariant_keeper import Post
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import Network
from chaos.cluster.sim.overheard import Ear
from chaos.cluster.sim.sim_clock import NodeClock
from chaos.cluster.sim.watchdog import Watchdog

Between = Callable[[], None]  # before an effect or an operation of the disk; may raise


class StruckError(Exception):
    """A fault ended this process amid its work; it unwinds what it was doing."""


class EndUnasked(Protocol):
    def __call__(self, exit_code: int, *, told_to_stop: bool, halted: str) -> None:
        """It ended by itself, or failed as it was told to stop; or the harness `halted` it, and
        why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """They outlive the process."""

    loop: VirtualLoop
    network: Network
    clock: NodeClock
    drive: Drive
    between: Between
    post: Post
    ear: Ear
    watchdog: Watchdog
    life: int  # which one of the node's
    err: Callable[[str], None]  # stderr
    close_files: Callable[[], None]  # as the kernel does when a process ends
    end_unasked: EndUnasked
