"""What a cluster must be able to do so that a fault can be injected into it."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from chaos.cluster.interface import (
    ClockShifting,
    Closable,
    Cluster,
    Cuttable,
    DiskTroubling,
    Killable,
    Pausable,
    PowerCuttable,
    Sickening,
    Slowable,
    Unsteady,
    Wipeable,
)
from chaos.nemesis.faults import (
    ClockJump,
    ClockRate,
    Fault,
    FlakyLinks,
    Kill,
    PartialPartition,
    Partition,
    Pause,
    PowerOff,
    ShutOut,
    SickDisk,
    SlowLinks,
    Wipe,
)


class Need(StrEnum):
    """A power that only some clusters have."""

    CUT = "cut links between nodes"
    KILL = "kill processes"
    PAUSE = "pause processes"
    POWER = "cut the power of disks"
    TROUBLE = "make disks slow or lying"
    SLOW = "slow down links between nodes"
    FLAKY = "reset connections between nodes"
    SICKEN = "make disks sick, and well again"
    CLOCK = "make clocks of nodes go wrong"
    WIPE = "give nodes new disks"
    SHUT_OUT = "keep clients from nodes"


_PROTOCOLS: dict[Need, type] = {
    Need.CUT: Cuttable,
    Need.KILL: Killable,
    Need.PAUSE: Pausable,
    Need.POWER: PowerCuttable,
    Need.TROUBLE: DiskTroubling,
    Need.SLOW: Slowable,
    Need.FLAKY: Unsteady,
    Need.SICKEN: Sickening,
    Need.CLOCK: ClockShifting,
    Need.WIPE: Wipeable,
    Need.SHUT_OUT: Closable,
}

_NEEDS: dict[type, Need] = {
    Partition: Need.CUT,
    PartialPartition: Need.CUT,
    Kill: Need.KILL,
    Pause: Need.PAUSE,
    PowerOff: Need.POWER,
    SlowLinks: Need.SLOW,
    FlakyLinks: Need.FLAKY,
    SickDisk: Need.SICKEN,
    ClockJump: Need.CLOCK,
    ClockRate: Need.CLOCK,
    ShutOut: Need.SHUT_OUT,
    Wipe: Need.WIPE,
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
    if isinstance(fault, Wipe):
        yield Need.KILL


def lacking(cluster: Cluster, needs: frozenset[Need]) -> tuple[Need, ...]:
    """The powers that this cluster does not have."""
    return tuple(need for need in sorted(needs) if not isinstance(cluster, _PROTOCOLS[need]))
