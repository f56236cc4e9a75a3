"""Victims of faults, in few words: a node by its number, or by what it is when the fault begins."""

from typing import TypeAlias

from chaos.cluster.interface import Link, NodeId
from chaos.nemesis.victims import (
    ControllerLeader,
    InSyncFollower,
    OneNode,
    PartitionLeader,
    RandomBroker,
    RandomFollower,
    Victim,
)

VictimOrNode: TypeAlias = int | Victim


def victim_of(aim: VictimOrNode) -> Victim:
    return OneNode(NodeId(aim)) if isinstance(aim, int) else aim


def controller_leader() -> Victim:
    """The leader of the metadata quorum: the active controller."""
    return ControllerLeader()


def controller_follower() -> Victim:
    """A voter that is not the leader."""
    return RandomFollower()


def leader(topic: str, partition: int = 0) -> Victim:
    """The broker that leads a partition."""
    return PartitionLeader(f"{topic}-{partition}")


def isr_member(topic: str, partition: int = 0) -> Victim:
    """A running broker that is in the ISR of a partition and does not lead it."""
    return InSyncFollower(f"{topic}-{partition}")


def any_broker() -> Victim:
    """A running broker."""
    return RandomBroker()


def link(source: int, destination: int) -> Link:
    """The directed path of bytes from one node to another."""
    return Link(NodeId(source), NodeId(destination))
