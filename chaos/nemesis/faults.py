"""Faults are values: what is done to whom. Who that is turns out when they fire."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from chaos.cluster.interface import (
    Cluster,
    Cuttable,
    DiskTrouble,
    DiskTroubling,
    Killable,
    NodeId,
    Pausable,
    PowerCutMode,
    PowerCuttable,
    Slowable,
)

# --- targets ---


@dataclass(frozen=True, slots=True)
class ControllerLeader:
    """The leader of the metadata quorum."""

    def __str__(self) -> str:
        return "leader"


@dataclass(frozen=True, slots=True)
class Follower:
    """One voter that does not lead."""

    def __str__(self) -> str:
        return "follower"


@dataclass(frozen=True, slots=True)
class AllVoters:
    def __str__(self) -> str:
        return "all"


@dataclass(frozen=True, slots=True)
class RandomNode:
    def __str__(self) -> str:
        return "random"


@dataclass(frozen=True, slots=True)
class OneNode:
    """A node by its id, for people who inject by hand."""

    node: NodeId

    def __str__(self) -> str:
        return str(self.node)


Target = ControllerLeader | Follower | AllVoters | RandomNode | OneNode

# --- faults ---


class Ways(StrEnum):
    """Which bytes a partition stops, seen from its target."""

    BOTH = "both"
    OUT = "out"  # others do not hear the target
    IN = "in"  # the target does not hear others


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The target is cut off from all other nodes; clients still reach everybody."""

    target: Target
    ways: Ways = Ways.BOTH

    @property
    def kind(self) -> str:
        return "partition" if self.ways is Ways.BOTH else "partition-one-way"

    @property
    def parameters(self) -> dict[str, str]:
        return {"ways": self.ways.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """SIGKILL: the process is gone, what it wrote to the page cache is not. Cure: start.

    With `latency_ms`, bytes between the nodes that are left take so long each way meanwhile.
    """

    target: Target
    latency_ms: int = 0

    @property
    def kind(self) -> str:
        return "kill"

    @property
    def parameters(self) -> dict[str, str]:
        return {"latency_ms": str(self.latency_ms)} if self.latency_ms else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """SIGTERM: the node ends in good order, a leader after it told its successors. Cure: start."""

    target: Target

    @property
    def kind(self) -> str:
        return "stop"

    @property
    def parameters(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Every thread stands still, connections stay open. Cure: resume."""

    target: Target

    @property
    def kind(self) -> str:
        return "pause"

    @property
    def parameters(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOff:
    """The power of all targets fails at one moment; what was not fsynced is lost. Cure: start.

    With `disks`, their syncs are slow or a lie for some seconds before.
    """

    target: Target
    mode: PowerCutMode = PowerCutMode.LOSE_ALL
    disks: DiskTrouble | None = None

    @property
    def kind(self) -> str:
        return "power-off"

    @property
    def parameters(self) -> dict[str, str]:
        mode = {"mode": self.mode.value}
        return {**mode, "disks": self.disks.value} if self.disks is not None else mode


Fault = Partition | Kill | Stop | Pause | PowerOff

# --- what a cluster must be able to do ---


class Need(StrEnum):
    """A power that only some clusters have."""

    CUT = "cut links between nodes"
    KILL = "kill processes"
    PAUSE = "pause processes"
    POWER = "cut the power of disks"
    TROUBLE = "make disks slow or lying"
    SLOW = "slow down links between nodes"


_PROTOCOLS: dict[Need, type] = {
    Need.CUT: Cuttable,
    Need.KILL: Killable,
    Need.PAUSE: Pausable,
    Need.POWER: PowerCuttable,
    Need.TROUBLE: DiskTroubling,
    Need.SLOW: Slowable,
}

_NEEDS: dict[type, Need] = {
    Partition: Need.CUT,
    Kill: Need.KILL,
    Pause: Need.PAUSE,
    PowerOff: Need.POWER,
}


def needs_of(faults: Iterable[Fault]) -> frozenset[Need]:
    """The powers that faults take; every cluster can stop a node in good order."""
    return frozenset(need for fault in faults for need in _needs_of(fault))


def _needs_of(fault: Fault) -> Iterator[Need]:
    if type(fault) in _NEEDS:
        yield _NEEDS[type(fault)]
    if isinstance(fault, PowerOff) and fault.disks is not None:
        yield Need.TROUBLE
    if isinstance(fault, Kill) and fault.latency_ms:
        yield Need.SLOW


def lacking(cluster: Cluster, needs: frozenset[Need]) -> tuple[Need, ...]:
    """The powers that this cluster does not have."""
    return tuple(need for need in sorted(needs) if not isinstance(cluster, _PROTOCOLS[need]))
