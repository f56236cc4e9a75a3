"""Faults are values: what is done to whom. Who that is turns out when they fire."""

from dataclasses import dataclass
from enum import StrEnum

from chaos.cluster.interface import DiskSickness, DiskTrouble, PowerCutMode
from chaos.nemesis.harm import Harm
from chaos.nemesis.targets import AllVoters, Target


class Ways(StrEnum):
    """Which bytes a partition stops, seen from its target."""

    BOTH = "both"
    OUT = "out"  # others do not hear the target
    IN = "in"  # the target does not hear others


class Peers(StrEnum):
    """From whom a partition keeps its target."""

    ALL = "all"
    BROKERS = "brokers"
    CONTROLLERS = "controllers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The target is cut off from all other nodes, or from some; clients still reach everybody.

    With `stagger_ms` its nodes come back one by one, so long apart: who led first, and then those
    who still believe in it.
    """

    target: Target
    ways: Ways = Ways.BOTH
    stagger_ms: int = 0
    peers: Peers = Peers.ALL

    @property
    def kind(self) -> str:
        return "partition" if self.ways is Ways.BOTH else "partition-one-way"

    @property
    def parameters(self) -> dict[str, str]:
        words = {"ways": self.ways.value}
        if self.stagger_ms:
            words["stagger_ms"] = str(self.stagger_ms)
        if self.peers is not Peers.ALL:
            words["peers"] = self.peers.value
        return words

    @property
    def harm(self) -> Harm:
        return Harm(cuts=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutOut:
    """No client reaches the target; the nodes reach each other."""

    target: Target

    @property
    def kind(self) -> str:
        return "shut-out-clients"

    @property
    def parameters(self) -> dict[str, str]:
        return {}

    @property
    def harm(self) -> Harm:
        return Harm()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPartition:
    """The nodes that are hit do not hear each other; everybody else hears all of them."""

    target: Target

    @property
    def kind(self) -> str:
        return "partition-partial"

    @property
    def parameters(self) -> dict[str, str]:
        return {}

    @property
    def harm(self) -> Harm:
        return Harm(cuts=True)


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

    @property
    def harm(self) -> Harm:
        return Harm(ends_process=True, unclean=True, halts=True, degrades=bool(self.latency_ms))


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

    @property
    def harm(self) -> Harm:
        return Harm(ends_process=True, halts=True)


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

    @property
    def harm(self) -> Harm:
        return Harm(halts=True)


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

    @property
    def harm(self) -> Harm:
        return Harm(
            ends_process=True,
            unclean=True,
            may_lose=True,
            damages_bytes=self.disks is DiskTrouble.LYING,
            halts=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wipe:
    """The process is killed and its disk lost: it gets a new one, formatted. Cure: start."""

    target: Target

    @property
    def kind(self) -> str:
        return "wipe"

    @property
    def parameters(self) -> dict[str, str]:
        return {}

    @property
    def harm(self) -> Harm:
        return Harm(ends_process=True, unclean=True, may_lose=True, wipes=True, halts=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLinks:
    """Every byte between nodes takes so much longer, each way."""

    latency_ms: int
    target: Target = AllVoters()

    @property
    def kind(self) -> str:
        return "slow-links"

    @property
    def parameters(self) -> dict[str, str]:
        return {"latency_ms": str(self.latency_ms)}

    @property
    def harm(self) -> Harm:
        return Harm(degrades=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyLinks:
    """Connections between the target and others break, at this share of the writes on them."""

    target: Target
    share: float

    @property
    def kind(self) -> str:
        return "flaky-links"

    @property
    def parameters(self) -> dict[str, str]:
        return {"share": f"{self.share:g}"}

    @property
    def harm(self) -> Harm:
        return Harm(degrades=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SickDisk:
    """The disks of the target are sick. Cure: mend them, and start who died of it."""

    target: Target
    sickness: DiskSickness

    @property
    def kind(self) -> str:
        return f"disk-{self.sickness}"

    @property
    def parameters(self) -> dict[str, str]:
        return {}

    @property
    def harm(self) -> Harm:
        return Harm(
            ends_process=self.sickness is not DiskSickness.SLOW,
            unclean=self.sickness is not DiskSickness.SLOW,
            may_lose=self.sickness is DiskSickness.ERROR,
            degrades=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump:
    """The time of day of the target is wrong by so much."""

    target: Target
    offset_ms: int

    @property
    def kind(self) -> str:
        return "clock-jump"

    @property
    def parameters(self) -> dict[str, str]:
        return {"offset_ms": str(self.offset_ms)}

    @property
    def harm(self) -> Harm:
        return Harm(shifts_clock=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockRate:
    """The clocks of the target go too fast or too slow."""

    target: Target
    rate: float

    @property
    def kind(self) -> str:
        return "clock-rate"

    @property
    def parameters(self) -> dict[str, str]:
        return {"rate": f"{self.rate:g}"}

    @property
    def harm(self) -> Harm:
        return Harm(shifts_clock=True, degrades=True)


Fault = (
    Partition
    | PartialPartition
    | Kill
    | Stop
    | Pause
    | PowerOff
    | Wipe
    | ShutOut
    | SlowLinks
    | FlakyLinks
    | SickDisk
    | ClockJump
    | ClockRate
)


class Aspect(StrEnum):
    """What of its victims a fault holds while it lasts: two that hold the same cannot overlap."""

    MACHINE = "machine"  # the process and its disk
    CLOCK = "clock"
    CUTS = "cuts"  # single links
    FLAKINESS = "flakiness"  # single links
    LATENCY = "latency"  # all links at once
    ENTRANCE = "entrance"  # the way in for clients


def aspect_of(fault: Fault) -> Aspect:
    match fault:
        case Partition() | PartialPartition():
            return Aspect.CUTS
        case FlakyLinks():
            return Aspect.FLAKINESS
        case SlowLinks():
            return Aspect.LATENCY
        case ClockJump() | ClockRate():
            return Aspect.CLOCK
        case ShutOut():
            return Aspect.ENTRANCE
        case _:
            return Aspect.MACHINE
