"""Every kind of fault, one class each; a module holds those that do alike.

`KINDS` is the registry: a new kind is a class as `chaos.nemesis.fault.Fault` asks for, and a line
here. The order is that in which a swarm draws: a kind that is added at the end, or between, changes
what the seeds mean.
"""

from collections.abc import Mapping

from chaos.nemesis.fault import Fault, SwarmSpec
from chaos.nemesis.kinds import (
    additions,
    clocks,
    cuts,
    disks,
    links,
    power,
    processes,
    removals,
    switches,
    upkeep,
    voters,
)

KINDS: tuple[type[Fault], ...] = (
    processes.Kill,
    processes.Terminate,
    processes.Pause,
    power.PowerOff,
    cuts.NetworkPartition,
    cuts.PartialPartition,
    links.FlakyLinks,
    links.SlowLinks,
    disks.SickDisk,
    clocks.ClockJump,
    clocks.ClockRate,
    disks.Wipe,
    links.ShutOut,
    power.StopThenPowerOff,
    upkeep.SyncDisks,
    upkeep.MoveReplicas,
    voters.LoseDisk,
    voters.RemoveVoter,
    upkeep.Readdress,
    switches.SwitchProgram,
    switches.SwitchVoter,
    voters.RemoveLeadingDirectory,
    removals.RestartRemoved,
    removals.RemoveForGood,
    removals.KillRemoved,
    upkeep.SetElrLevel,
    additions.AddBroker,
)

BY_KIND: Mapping[str, type[Fault]] = {name: kind for kind in KINDS for name in kind.kinds}
MENACES: Mapping[str, SwarmSpec] = {
    name: menace for kind in KINDS for name, menace in kind.menaces.items()
}
