"""What a cluster must be able to do for a fault to be injected into it."""

from enum import StrEnum

from chaos.cluster.interface import Cluster
from chaos.cluster.powers import (
    ClockShifting,
    Closable,
    ConfigAltering,
    Cuttable,
    DiskTroubling,
    FeatureSetting,
    Killable,
    LeaderElecting,
    Pausable,
    PowerCuttable,
    Readdressing,
    Reassigning,
    ReplicaMoving,
    Sickening,
    Slowable,
    StoppedPowerCuttable,
    Switchable,
    Syncable,
    Unsteady,
    VoteReading,
    Wipeable,
)


class Ability(StrEnum):
    """An ability that only some clusters have; every cluster can stop a node in good order."""

    CUT = "cut links between nodes"
    KILL = "kill processes"
    PAUSE = "pause processes"
    POWER = "cut the power of disks"
    STOPPED_POWER = "cut the power of disks after their nodes were stopped"
    TROUBLE = "make disks slow or lying"
    SLOW = "slow down links between nodes"
    FLAKY = "reset connections between nodes"
    SICKEN = "make disks sick, and well again"
    CLOCK = "make clocks of nodes go wrong"
    WIPE = "give nodes new disks"
    SHUT_OUT = "keep clients from nodes"
    SYNC = "sync disks"
    MOVE_REPLICAS = "move replicas between log directories"
    FEATURES = "set levels of features"
    ELECT = "have leaders elected"
    ALTER = "alter configurations"
    REASSIGN = "reassign partitions"
    READDRESS = "start controllers with another advertised host"
    SWITCH = "let a node be the other of two programs"
    VOTES = "tell how controllers voted"


PROTOCOLS: dict[Ability, type] = {
    Ability.CUT: Cuttable,
    Ability.KILL: Killable,
    Ability.PAUSE: Pausable,
    Ability.POWER: PowerCuttable,
    Ability.STOPPED_POWER: StoppedPowerCuttable,
    Ability.TROUBLE: DiskTroubling,
    Ability.SLOW: Slowable,
    Ability.FLAKY: Unsteady,
    Ability.SICKEN: Sickening,
    Ability.CLOCK: ClockShifting,
    Ability.WIPE: Wipeable,
    Ability.SHUT_OUT: Closable,
    Ability.SYNC: Syncable,
    Ability.MOVE_REPLICAS: ReplicaMoving,
    Ability.FEATURES: FeatureSetting,
    Ability.ELECT: LeaderElecting,
    Ability.ALTER: ConfigAltering,
    Ability.REASSIGN: Reassigning,
    Ability.READDRESS: Readdressing,
    Ability.SWITCH: Switchable,
    Ability.VOTES: VoteReading,
}


def lacking(cluster: Cluster, needs: frozenset[Ability]) -> tuple[Ability, ...]:
    """The abilities that this cluster lacks."""
    return tuple(need for need in sorted(needs) if not isinstance(cluster, PROTOCOLS[need]))
