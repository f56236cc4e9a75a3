"""Schedules as JSON, and back: what `schedule.json` says was planned. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from chaos.cluster.interface import DiskSickness, DiskTrouble, NodeId, PowerCutMode
from chaos.nemesis.faults import (
    ClockJump,
    ClockRate,
    Fault,
    FlakyLinks,
    Kill,
    PartialPartition,
    Partition,
    Pause,
    Peers,
    PowerOff,
    ShutOut,
    SickDisk,
    SlowLinks,
    Stop,
    Ways,
    Wipe,
)
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.targets import (
    AllBrokers,
    AllVoters,
    ControllerLeader,
    Follower,
    LeaderAnd,
    OneNode,
    PartitionLeader,
    RandomBroker,
    RandomNode,
    SomeNodes,
    Target,
)

Parameters = Mapping[str, str]


class NotAScheduleError(ValueError):
    """What was read is none of ours; the message says what is wrong with it."""


def windows_as_json(schedule: Schedule) -> dict[str, Any]:
    """The part of `schedule.json` that says what was planned."""
    return {
        "duration_s": schedule.duration_s,
        "side_by_side": schedule.side_by_side,
        "windows": [
            {
                "kind": window.fault.kind,
                "target": str(window.fault.target),
                "parameters": window.fault.parameters,
                "at_s": window.at_s,
                "hold_s": window.hold_s,
            }
            for window in schedule.windows
        ],
    }


def schedule_from(content: Mapping[str, Any]) -> Schedule:
    """What `windows_as_json` gave, whatever else is in it. Raises NotAScheduleError."""
    try:
        windows = tuple(
            Window(
                at_s=float(row["at_s"]),
                hold_s=float(row["hold_s"]),
                fault=fault_from(row["kind"], row["target"], row["parameters"]),
            )
            for row in content["windows"]
        )
        return Schedule(
            duration_s=float(content["duration_s"]),
            windows=windows,
            side_by_side=bool(content.get("side_by_side", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotAScheduleError(f"not a schedule: {type(error).__name__}: {error}") from error
    except AssertionError as error:
        raise NotAScheduleError("not a schedule: its windows are in no order") from error


_PLAIN_TARGETS: tuple[Target, ...] = (
    ControllerLeader(),
    Follower(),
    AllVoters(),
    RandomNode(),
    PartitionLeader(),
    RandomBroker(),
    AllBrokers(),
)


def fault_from(kind: str, target: str, parameters: Parameters) -> Fault:
    """A fault from its words. Raises KeyError, ValueError."""
    return _KINDS[kind](target_from(target), parameters)


def target_from(text: str) -> Target:
    """A target from its word. Raises ValueError."""
    for target in _PLAIN_TARGETS:
        if text == str(target):
            return target
    if some := re.fullmatch(r"some-(\d+)", text):
        return SomeNodes(int(some[1]))
    if others := re.fullmatch(r"leader-and-(\d+)", text):
        return LeaderAnd(int(others[1]))
    return OneNode(NodeId(int(text)))


def _power_off(target: Target, words: Parameters) -> Fault:
    disks = DiskTrouble(words["disks"]) if "disks" in words else None
    return PowerOff(target=target, mode=PowerCutMode(words["mode"]), disks=disks)


def _partition(target: Target, words: Parameters) -> Fault:
    stagger_ms = int(words.get("stagger_ms", 0))
    peers = Peers(words.get("peers", Peers.ALL))
    return Partition(target=target, ways=Ways(words["ways"]), stagger_ms=stagger_ms, peers=peers)


def _sick(sickness: DiskSickness) -> Callable[[Target, Parameters], Fault]:
    return lambda target, _: SickDisk(target=target, sickness=sickness)


_KINDS: dict[str, Callable[[Target, Parameters], Fault]] = {
    "partition": _partition,
    "partition-one-way": _partition,
    "partition-partial": lambda target, _: PartialPartition(target=target),
    "kill": lambda target, words: Kill(target=target, latency_ms=int(words.get("latency_ms", 0))),
    "stop": lambda target, _: Stop(target=target),
    "pause": lambda target, _: Pause(target=target),
    "power-off": _power_off,
    "wipe": lambda target, _: Wipe(target=target),
    "shut-out-clients": lambda target, _: ShutOut(target=target),
    "slow-links": lambda target, words: SlowLinks(
        target=target, latency_ms=int(words["latency_ms"])
    ),
    "flaky-links": lambda target, words: FlakyLinks(target=target, share=float(words["share"])),
    **{f"disk-{sickness}": _sick(sickness) for sickness in DiskSickness},
    "clock-jump": lambda target, words: ClockJump(target=target, offset_ms=int(words["offset_ms"])),
    "clock-rate": lambda target, words: ClockRate(target=target, rate=float(words["rate"])),
}
