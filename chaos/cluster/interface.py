"""A cluster as scenarios, nemesis and workloads see it; they cannot tell which runtime it is.

Everything is async: in containers the calls wait for an engine, in the simulator for virtual time.
What only some clusters can do to their nodes is a Protocol in `powers.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NewType, Protocol, runtime_checkable

from chaos.cluster.cluster_errors import FailedPart

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
    """What a disk loses. All are states that a real disk may leave."""

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
    UNREACHABLE = "unreachable"  # a name of an address that no node has


class Voted(StrEnum):
    """A follower's vote in the epoch in which it follows."""

    ITSELF = "itself"  # it stood, and another one was elected
    LEADER = "leader"


class ElrLevel(StrEnum):
    """What eligible.leader.replicas.version becomes, or stays."""

    NONE = "0"  # there are no eligible leader replicas any more
    ON = "1"


class ElectionType(StrEnum):
    """What an operator asks for where partitions have no leader (KIP-966, part two)."""

    BALANCED = "longest-log-balanced"  # the longest log, once all are there that may have all
    AGGRESSIVE = "longest-log-aggressive"  # the longest log of those that are there
    DESIGNATION = "designation"  # the broker that is asked


class Designated(StrEnum):
    """The broker that an operator names for a leader."""

    BEST = "2"  # it has all that was acknowledged
    WORST = "3"


class AlteredMinIsr(StrEnum):
    """What min.insync.replicas of clients' topics becomes, of which there are 3 replicas."""

    RAISED = "3"
    SAME = "2"  # as it is in scenarios that alter it
    LOWERED = "1"
    UNTOUCHED = "untouched"


class MoveEnd(StrEnum):
    """How an operator ends a reassignment."""

    DONE = "done"  # it goes on until it is done
    CANCELLED = "cancelled"


class Removal(StrEnum):
    """Whether a leader that is killed was asked before to remove itself from the voters."""

    ASKED = "asked"
    UNASKED = "unasked"


class Addition(StrEnum):
    """Whether an operator asks for a broker to be made a voter."""

    ASKED = "asked"
    UNASKED = "unasked"


class DiskSickness(StrEnum):
    """What is wrong with a disk until it is mended."""

    SLOW = "slow"  # each sync takes tens of milliseconds
    ERROR = "error"  # a write or a sync fails, once (EIO)
    FULL = "full"  # no room (ENOSPC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvidence:
    """Whether a fault took effect, and the proof. Without it, the run is void.

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
    """A process ended, or could not start, and the harness had done nothing to end it; or it had
    told it to stop, and the process failed instead; or it had to halt what never ends."""

    node: NodeId
    mono_ns: int  # of the machine's monotonic clock
    exit_code: int
    words: str  # the end of its log
    told_to_stop: bool = False
    halted: str = ""  # what it did, for the harness to end it


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
        """The three steps that follow, with nothing to do between them."""

    async def prepare(self) -> None:
        """Make the links, and format the disks: what can be hurt before any process runs."""

    async def start_all(self) -> None:
        """Start every process for the first time; returns at once, before they answer."""

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
    """A dead run, with removed leftovers, and the place of its nodes' saved logs."""

    run_id: str
    saved: Path
    trouble: str = ""  # why something of it is still there


class Keeper(StrEnum):
    """What keeps a cluster on this machine."""

    USER = "user"  # `up`, and runs with --keep
    RUN = "run"  # of a process that lives
    DEAD = "dead"  # run: the next one removes what it left


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingCluster:
    """A cluster of this user that is on the machine, whole or in parts."""

    name: str
    keeper: Keeper
    directory: str = ""  # of its run


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
        """The dead runs, the leftovers of which `create` removed, or tried to."""

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
    """A cluster with invariants that are judged inside its nodes, after every step."""

    @property
    def broken_invariant(self) -> BrokenInvariant | None:
        """The first."""

    @property
    def looked_at(self) -> Mapping[str, int]:
        """By the name of each invariant, how often it had something to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowAnswer:
    """A part of the harness' own took long to answer: it was short of time, as nodes may have been.

    Times are those of the machine's monotonic clock.
    """

    part: str
    asked_ns: int
    answered_ns: int


@runtime_checkable
class Guarded(Protocol):
    """A cluster that watches over what the harness has put beside its nodes, or over its own
    process where nodes take their steps in it."""

    async def until_machinery_fails(self) -> None:
        """Until cancelled. Raises MachineryError once a part of the harness' own does not work,
        and StepError once a simulated node does not end a step, or takes too much memory."""

    async def failed_part(self) -> FailedPart | None:
        """What of the harness' own does not work now, or was found not to."""

    @property
    def slow_answers(self) -> Sequence[SlowAnswer]:
        """Of the parts that it watches, in the order of their ends."""
