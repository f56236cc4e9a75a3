"""What only some clusters can do to their nodes, links, disks and clocks: each a Protocol.

Asked for with isinstance; a scenario that needs a power that the cluster lacks is refused with the
reason, never run as something weaker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from chaos.cluster.interface import (
    Advertised,
    AlteredMinIsr,
    DiskSickness,
    DiskTrouble,
    ElectionType,
    FaultEvidence,
    Link,
    NodeId,
    PowerCutMode,
)


@runtime_checkable
class Killable(Protocol):
    async def kill(self, node: NodeId) -> FaultEvidence:
        """SIGKILL: the process is gone, the page cache survives."""


@runtime_checkable
class Pausable(Protocol):
    async def pause(self, node: NodeId) -> FaultEvidence: ...

    async def resume(self, node: NodeId) -> None: ...


@runtime_checkable
class Cuttable(Protocol):
    async def cut(self, links: Sequence[Link]) -> None:
        """Let no byte pass along these links. Cutting a cut link changes nothing."""

    async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        """Let bytes pass again, and say for each link what was swallowed while it was cut.

        A link on which nothing was sent is probed before it is healed: the evidence then
        tells of the marked probe. It includes that the opposite direction, unless it was cut as
        well, swallowed nothing.
        """


@runtime_checkable
class Closable(Protocol):
    async def close_entrances(self, nodes: Sequence[NodeId]) -> None:
        """Let no byte pass between clients and these nodes, either way."""

    async def open_entrances(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, FaultEvidence]:
        """Let them pass again, and say what was swallowed meanwhile."""


@runtime_checkable
class Slowable(Protocol):
    async def slow_links(self, latency_ms: int) -> None:
        """Let every byte between nodes take so long, in each direction."""

    async def quicken_links(self) -> FaultEvidence:
        """Undo that, and say how long a probe's answer took between nodes that run."""


@runtime_checkable
class Unsteady(Protocol):
    async def make_flaky(self, links: Sequence[Link], share: float) -> None:
        """Let this share of the writes along these links reset their connection."""

    async def steady(self, links: Sequence[Link]) -> FaultEvidence:
        """Undo that, and say how many connections were reset."""


@runtime_checkable
class Sickening(Protocol):
    async def sicken_disk(self, node: NodeId, sickness: DiskSickness) -> None:
        """Let the disk of a node be sick from now on. Nodes die of most of it."""

    async def mend_disk(self, node: NodeId) -> FaultEvidence:
        """Make it well, and say what came of it; a node that died of it stays off."""


@runtime_checkable
class ClockShifting(Protocol):
    async def jump_clock(self, node: NodeId, offset_ms: int) -> FaultEvidence:
        """Set the time of day of a node so much off true time; 0 sets it right."""

    async def run_clock(self, node: NodeId, rate: float) -> FaultEvidence:
        """Let the clocks of a node go so many times as fast as true time; 1 is right."""


@runtime_checkable
class PowerCuttable(Protocol):
    async def power_off(
        self, nodes: Sequence[NodeId], mode: PowerCutMode = PowerCutMode.LOSE_ALL
    ) -> Mapping[NodeId, FaultEvidence]:
        """Cut the power of several nodes at one moment; what was not fsynced is gone.

        The evidence is complete only once the node is on again (the canary is looked at after the
        remount): `start` must be called before the run is judged, and `power_evidence` read then.
        """

    async def power_evidence(self, node: NodeId) -> FaultEvidence:
        """The canary of the last power cut of this node, read after it was started again."""


@runtime_checkable
class StoppedPowerCuttable(Protocol):
    async def stop_then_power_off(
        self, nodes: Sequence[NodeId], *, synced: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        """Stop nodes in good order, and cut the power of their disks before what is in the page
        cache is written out; with `synced`, write it out first.

        The evidence is complete as that of `power_off` is. Raises ClusterError, with no power cut,
        for a node that did not end in good order: what such a one loses is another matter.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCopies:
    """Where copies of disks go, a directory `node-N` for each node."""

    said: Path  # what files said while the power was on, out of the page cache
    held: Path  # what the disk holds after it was cut


@runtime_checkable
class DiskCopying(PowerCuttable, Protocol):
    async def copy_disks(self, nodes: Sequence[NodeId], into: Path) -> None:
        """What files say now, of nodes that run, are paused or are off."""

    async def power_off_copying(
        self, nodes: Sequence[NodeId], mode: PowerCutMode, copies: DiskCopies, *, stopped: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        """Stop nodes cold, copy what their files say, cut the power, copy what the disks hold.

        `stopped`: the nodes are stopped in good order instead, before the first copy. The evidence
        is complete as that of `power_off` is. Raises as `stop_then_power_off` does.
        """


@runtime_checkable
class Syncable(Protocol):
    async def sync_disk(self, node: NodeId) -> FaultEvidence:
        """Have the kernel write out all of the disk of a node that runs."""


@runtime_checkable
class ReplicaMoving(Protocol):
    async def move_replicas(self, node: NodeId) -> FaultEvidence:
        """Move every replica of clients' topics on a broker to another log directory of it; returns
        when the broker says that all are there. Raises ClusterError where it does not come to that.
        """


@runtime_checkable
class FeatureSetting(Protocol):
    async def set_elr_level(self, node: NodeId, level: int) -> FaultEvidence:
        """Ask a broker to finalize this level of eligible.leader.replicas.version; returns when it
        has answered."""


@runtime_checkable
class LeaderElecting(Protocol):
    async def elect_leaders(self, node: NodeId, election: ElectionType) -> FaultEvidence:
        """Ask a broker, once, for leaders of partitions that have none; returns when it has
        answered. A designated leader is that broker."""


@runtime_checkable
class ConfigAltering(Protocol):
    async def set_min_isr(self, node: NodeId, value: AlteredMinIsr) -> FaultEvidence:
        """Ask a broker, once, for this min.insync.replicas of all topics of clients; returns when
        it has answered."""


@runtime_checkable
class Reassigning(Protocol):
    async def reassign_partitions(self, node: NodeId) -> FaultEvidence:
        """Ask a broker, once, to give it a replica of each partition of clients' topics, in place
        of the first one; returns when it has answered."""

    async def cancel_reassignments(self, node: NodeId) -> FaultEvidence:
        """Ask a broker, once, to cancel all reassignments of such partitions; returns when it has
        answered."""


@runtime_checkable
class Readdressing(Protocol):
    async def readdress(self, node: NodeId, advertised: Advertised) -> FaultEvidence:
        """Stop a controller in good order and start it with another advertised host; returns when
        the quorum has committed that it is to be reached there, or has not for a bounded time."""

    async def address_as_before(self, node: NodeId) -> None:
        """Stop a controller and start it with the host that it had; returns when it answers."""


@runtime_checkable
class Switchable(Protocol):
    """A cluster in which each node is one of two programs that read each other's disks."""

    async def program(self, node: NodeId) -> str:
        """What runs in a node, in words; "" where it is off."""

    async def switch_program(self, node: NodeId) -> None:
        """Let a node that is off be the other program from its next start on."""


@runtime_checkable
class VoteReading(Protocol):
    async def vote(self, node: NodeId) -> NodeId | None:
        """A controller's vote in its newest epoch, by its disk; None: it has not voted."""


@runtime_checkable
class DiskTroubling(PowerCuttable, Protocol):
    async def trouble_disks(self, nodes: Sequence[NodeId], trouble: DiskTrouble) -> None:
        """Let the syncs of running, unmodified nodes go wrong until their power is cut.

        The evidence of that cut says how many did, and has not bitten if none did.
        """


@runtime_checkable
class Wipeable(Protocol):
    async def wipe(self, node: NodeId) -> FaultEvidence:
        """Give a node that is off a new, empty, formatted disk (new directory id)."""


@runtime_checkable
class Enterable(Protocol):
    def container(self, node: NodeId) -> str:
        """The name of a node's container, for the engine's own tools."""


@runtime_checkable
class Capturing(Protocol):
    def require_capture(self) -> None:
        """Raises SetupError without the means."""

    async def capture(self) -> None:
        """Record all packets of the links from now on."""

    async def captured(self, into: Path) -> None:
        """Write what was recorded so far, a file for each link (`1-2.pcap`: what node 1 asked of
        node 2, and the answers)."""


@runtime_checkable
class LogReading(Protocol):
    async def log(self, node: NodeId) -> str:
        """What all processes of a node have printed so far, whether one runs or not."""
