"""A cluster as scenarios, nemesis and workloads see it; they cannot tell which runtime it is.

Everything is async: in containers the calls wait for an engine, in the simulator for virtual time.
What only some clusters can do is a Protocol of its own, asked for with isinstance; a scenario that
needs a power that the cluster lacks is refused with the reason, never run as something weaker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NewType, Protocol, runtime_checkable

NodeId = NewType("NodeId", int)


class Roles(StrEnum):
    """What a node is, as Kafka's `process.roles` has it."""

    BROKER = "broker"
    CONTROLLER = "controller"
    BOTH = "broker,controller"

    @property
    def is_broker(self) -> bool:
        return self is not Roles.CONTROLLER

    @property
    def is_controller(self) -> bool:
        return self is not Roles.BROKER


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """The directed path of bytes from one node to another: `cut` means none of them arrives."""

    source: NodeId
    destination: NodeId

    def __str__(self) -> str:
        return f"{self.source}->{self.destination}"


class PowerCutMode(StrEnum):
    """What a disk forgets. All are states that a real disk may leave."""

    LOSE_ALL = "lose-all"  # only what was fsynced survives
    LOSE_DATA = "lose-data"  # the journal is written: sizes survive, contents are NULs
    TORN = "torn"  # random pages survive


class DiskTrouble(StrEnum):
    """How syncs go wrong while the power is still on."""

    SLOW = "slow"  # each takes tens of milliseconds
    STALLED = "stalled"  # each takes a second
    LYING = "lying"  # each is acknowledged, and none is done


class StoppedDisk(StrEnum):
    """What becomes of a page cache between the end of its node and the end of the power."""

    UNSYNCED = "unsynced"  # nothing: what was not fsynced is gone
    SYNCED = "synced"  # all of it is written out


class MovedReplica(StrEnum):
    """What becomes of a replica that was moved between log directories, when the move is done."""

    UNSYNCED = "unsynced"  # what the broker does by itself
    SYNCED = "synced"  # its disk is written out at once


class Advertised(StrEnum):
    """The host under which a controller tells others to reach it, when it was started again."""

    REACHABLE = "reachable"  # another name of its own
    UNREACHABLE = "unreachable"  # a name of an address that nobody has


class Voted(StrEnum):
    """Whom a follower voted for in the epoch in which it follows."""

    ITSELF = "itself"  # it stood, and another one was elected
    LEADER = "leader"


class ElrLevel(StrEnum):
    """What eligible.leader.replicas.version becomes, of a cluster that has it."""

    NONE = "0"  # there are no eligible leader replicas any more
    SAME = "1"


class Removal(StrEnum):
    """Whether a leader that is killed was asked before to remove itself from the voters."""

    ASKED = "asked"
    UNASKED = "unasked"


class DiskSickness(StrEnum):
    """What is wrong with a disk until it is mended."""

    SLOW = "slow"  # each sync takes tens of milliseconds
    ERROR = "error"  # a write or a sync fails, once (EIO)
    FULL = "full"  # no room (ENOSPC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvidence:
    """Whether a fault bit, and how one knows. Without it, the run is void.

    `facts` holds what was measured (swallowed bytes per link, canary found, exit code ...).
    """

    bit: bool
    what: str
    facts: Mapping[str, int | str | bool] = field(default_factory=dict)


class NodeStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    OFF = "off"  # killed, powered off or stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaskedEnd:
    """A process ended, or could not start, and the harness had done nothing to end it."""

    node: NodeId
    mono_ns: int  # of the machine's monotonic clock
    exit_code: int
    words: str  # the end of its log


class Cluster(Protocol):
    """Nodes that can be started, reached and looked at. Ids are 1..n."""

    @property
    def nodes(self) -> Sequence[NodeId]: ...

    @property
    def bootstrap(self) -> Mapping[NodeId, Address]:
        """Where clients enter, through the proxy. The same for the whole life of the cluster."""

    @property
    def entries(self) -> Mapping[NodeId, Address]:
        """The shortest way through the same proxy, for clients that do not go where nodes tell
        them to; the same as `bootstrap` where there is no shorter one."""

    @property
    def version(self) -> str:
        """What runs: name and version of the target, for the run's record."""

    @property
    def traces(self) -> bool:
        """Whether its nodes print what they do as trace lines (`checkers.history.traces`)."""

    @property
    def judged_by_logs(self) -> bool:
        """Whether nodes of two programs hear each other, so that their errors are judged."""

    @property
    def starts(self) -> Mapping[NodeId, int]:
        """How many processes of each node were started and answered, since `create`."""

    async def unasked_ends(self) -> Sequence[UnaskedEnd]:
        """Of all processes since `create`, in the order in which they ended; also of nodes that
        were started again since."""

    async def create(self) -> None:
        """The three steps that follow, for who has nothing to do between them."""

    async def prepare(self) -> None:
        """Make the links, and format the disks: what can be hurt before any process runs."""

    async def start_all(self) -> None:
        """Start every process for the first time; returns at once, whoever answers."""

    async def until_ready(self) -> None:
        """Returns when every process answers, and every broker knows every other one."""

    async def status(self, node: NodeId) -> NodeStatus: ...

    async def start(self, node: NodeId) -> None:
        """Start a node that is off, with the disk it has; returns when the process answers."""

    async def stop(self, node: NodeId) -> bool:
        """Stop in good order (SIGTERM); kill what does not end within a bounded time.

        Whether it ended in good order, or was off before.
        """

    async def collect(self, into: Path) -> None:
        """Copy every node's logs (`logs/node-N.log`) and log directory (`disks/node-N/...`)."""

    async def destroy(self) -> None:
        """Remove every trace of the cluster from the machine. Idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """A dead run whose leavings were removed, and where its nodes' logs were saved."""

    run_id: str
    saved: Path
    trouble: str = ""  # why something of it is still there


@runtime_checkable
class Described(Protocol):
    """Knows what its nodes are and how they were configured. Elsewhere all are controllers."""

    @property
    def roles(self) -> Mapping[NodeId, Roles]: ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Of the target, by the names of `--set`."""

    @property
    def images(self) -> Mapping[str, str]:
        """The images that its containers were made of, by what they do, with their ids."""

    @property
    def promises(self) -> Sequence[str]:
        """What the target promises its clients: `RunInfo.promises`."""


@runtime_checkable
class Hosted(Protocol):
    """On a machine that it shares with other runs, and that may lack what power cuts take."""

    @property
    def no_power(self) -> str:
        """Why the power of its disks cannot be cut; "" where it can."""

    @property
    def reaped(self) -> Sequence[Reaped]:
        """The dead runs whose leavings `create` removed, or tried to."""

    def let_go(self) -> None:
        """Close what this process holds of a cluster that stays up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenInvariant:
    """What a look inside the nodes has shown to be wrong, and in which step."""

    invariant: str
    what: str  # with the step and the time
    node: NodeId
    t_ns: int  # since the run's start


@runtime_checkable
class Watched(Protocol):
    """A cluster whose nodes are looked at from inside, after every step."""

    @property
    def broken_invariant(self) -> BrokenInvariant | None:
        """The first."""


@runtime_checkable
class Stepping(Protocol):
    """A cluster whose nodes take their steps in this very process, and could hold it up."""

    async def until_a_step_fails(self) -> None:
        """Raises StepError once a step did not end, or took too much memory."""


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

        A link on which nobody sent anything is probed before it is healed: the evidence then
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
        """Make it well, and say what came of it; who died of it stays off."""


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
class VoteTelling(Protocol):
    async def vote(self, node: NodeId) -> NodeId | None:
        """Whom a controller voted for in its newest epoch, by its disk; None: nobody."""


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
