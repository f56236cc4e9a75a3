"""Faults by name, for people who inject by hand: `partition-leader`, `power-off-all`."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.faults import Fault, Kill, Partition, Pause, PowerOff, Stop, Ways
from chaos.nemesis.targets import AllVoters, ControllerLeader, Follower, OneNode, RandomNode, Target

_TARGETS: tuple[Target, ...] = (ControllerLeader(), Follower(), RandomNode(), AllVoters())


def _catalogue() -> dict[str, Fault]:
    faults: dict[str, Fault] = {}
    for target in _TARGETS:
        if target != AllVoters():  # cut off from whom?
            faults[f"partition-{target}"] = Partition(target=target)
            faults[f"partition-in-{target}"] = Partition(target=target, ways=Ways.IN)
            faults[f"partition-out-{target}"] = Partition(target=target, ways=Ways.OUT)
        faults[f"kill-{target}"] = Kill(target=target)
        faults[f"stop-{target}"] = Stop(target=target)
        faults[f"pause-{target}"] = Pause(target=target)
        faults[f"power-off-{target}"] = PowerOff(target=target)
    return dict(sorted(faults.items()))


FAULTS = _catalogue()


def aimed_at(fault: Fault, node: NodeId) -> Fault:
    """The same fault of one certain node."""
    return replace(fault, target=OneNode(node))
