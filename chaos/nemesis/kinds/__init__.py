"""Every kind of fault, one class each; a module holds related kinds.

    removals.py  brokers that an operator asks to be made voters
    clocks.py     wrong clocks
    cuts.py       partitions of the network
    disks.py      sick disks, and lost disks
    links.py      slow and flaky links; clients that are shut out
    power.py      power failures
    processes.py  killed, stopped and paused processes
    removals.py   voters that are removed for good
    switches.py   nodes that go on as the other program
    upkeep.py     what operators do to healthy nodes
    voters.py     voters that are lost, and voters that are removed and added

`KINDS` is the registry: a new kind is a class with the interface of `chaos.nemesis.fault.Fault`,
and an entry here. A swarm draws in this order: a kind that is added changes what the seeds mean.
"""

from collections.abc import Mapping

from chaos.nemesis.fault import Fault, SwarmSpec
from chaos.nemesis.kinds import (
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
    upkeep.ElectLeaders,
    upkeep.SetMinIsr,
    upkeep.ReassignPartitions,
    removals.AddBroker,
)

BY_KIND: dict[str, type[Fault]] = {name: kind for kind in KINDS for name in kind.kinds}
# An operator changes the voters in these, and is needed until the cure: they begin in runs only.
BY_AN_OPERATOR: tuple[type[Fault], ...] = (
    voters.LoseDisk,
    voters.RemoveVoter,
    voters.RemoveLeadingDirectory,
    switches.SwitchVoter,
    removals.RestartRemoved,
    removals.RemoveForGood,
    removals.KillRemoved,
    removals.AddBroker,
)
MENACES: Mapping[str, SwarmSpec] = {
    name: spec for kind in KINDS for name, spec in kind.swarm_specs.items()
}


def add(kind: type[Fault]) -> None:
    """Let a kind that is not ours be named in scenarios and recorded schedules from now on; no
    swarm draws it. Raises ValueError for a name that is taken."""
    for name in kind.kinds:
        if BY_KIND.get(name, kind) is not kind:
            raise ValueError(f"there is a kind {name!r} already")
    BY_KIND.update(dict.fromkeys(kind.kinds, kind))
