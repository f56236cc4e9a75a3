"""Schedules as JSON, written and read: the planned part of `schedule.json`. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chaos.cluster.interface import NodeId, Voted
from chaos.errors import like
from chaos.nemesis.fault import (
    Aspect,
    Fault,
    Words,
    named_alone,
    parameters_of,
    with_parameters,
)
from chaos.nemesis.kinds import BY_KIND, KINDS
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import (
    AllBrokers,
    AllFollowers,
    AllVoters,
    ControllerLeader,
    EligibleBroker,
    FollowerThatVoted,
    InSyncFollower,
    LeaderAnd,
    OneNode,
    PartitionLeader,
    RandomBroker,
    RandomFollower,
    RandomNode,
    SomeNodes,
    SpareBroker,
    Victim,
    VotersByOneDisk,
)


class NotAScheduleError(ValueError):
    """This is not a schedule of ours; the message says what is wrong with it."""


def windows_as_json(schedule: Schedule) -> dict[str, Any]:
    """The planned part of `schedule.json`."""
    return {
        "duration_s": schedule.duration_s,
        "side_by_side": schedule.side_by_side,
        **({"at_random": True} if schedule.at_random else {}),
        "windows": [
            {
                **fault_as_json(window.fault),
                "at_s": window.at_s,
                "hold_s": window.hold_s,
            }
            for window in schedule.windows
        ],
    }


def schedule_from(content: Mapping[str, Any]) -> Schedule:
    """A schedule from the output of `windows_as_json`; other fields are ignored. Raises
    NotAScheduleError."""
    try:
        windows = tuple(
            Window(
                at_s=float(row["at_s"]),
                hold_s=float(row["hold_s"]),
                fault=fault_from(row["kind"], row["victim"], row["parameters"]),
            )
            for row in content["windows"]
        )
        return Schedule(
            duration_s=float(content["duration_s"]),
            windows=windows,
            side_by_side=bool(content.get("side_by_side", False)),
            at_random=bool(content.get("at_random", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotAScheduleError(f"not a schedule: {type(error).__name__}: {error}") from error
    except AssertionError as error:
        raise NotAScheduleError("not a schedule: its windows are in no order") from error


_PLAIN_VICTIMS: tuple[Victim, ...] = (
    ControllerLeader(),
    RandomFollower(),
    *(FollowerThatVoted(voted) for voted in Voted),
    AllFollowers(),
    AllVoters(),
    VotersByOneDisk(),
    RandomNode(),
    PartitionLeader(),
    InSyncFollower(),
    EligibleBroker(),
    SpareBroker(),
    RandomBroker(),
    AllBrokers(),
)


VICTIM_WORDS = (*map(str, _PLAIN_VICTIMS), "partition-leader-of-TOPIC-N", "some-N", "leader-and-N")


def fault_as_json(fault: Fault) -> dict[str, Any]:
    """The input of `fault_from`."""
    return {
        "kind": fault.kind,
        "victim": str(fault.victim),
        "parameters": parameters_of(fault),
    }


def fault_from(kind: str, victim: str, parameters: Words) -> Fault:
    """A fault from its recorded words. Raises KeyError, ValueError."""
    return with_parameters(BY_KIND[kind], victim_from(victim), parameters)


def victim_from(text: str) -> Victim:
    """A victim from its recorded word. Raises ValueError."""
    for victim in _PLAIN_VICTIMS:
        if text == str(victim):
            return victim
    if some := re.fullmatch(r"some-(\d+)", text):
        return SomeNodes(int(some[1]))
    if others := re.fullmatch(r"leader-and-(\d+)", text):
        return LeaderAnd(int(others[1]))
    if of_partition := re.fullmatch(r"(partition-leader|in-sync-follower)-of-(.+)", text):
        leads = of_partition[1] == str(PartitionLeader())
        return PartitionLeader(of_partition[2]) if leads else InSyncFollower(of_partition[2])
    return OneNode(NodeId(int(text)))


# Faults that can be injected by hand, by name: `partition-leader`, `power-off-all`.


_VICTIMS: tuple[Victim, ...] = (ControllerLeader(), RandomFollower(), RandomNode(), AllVoters())


def _catalogue() -> Iterator[tuple[str, Fault]]:
    for kind in KINDS:
        for name, words in kind.by_hand.items():
            for victim in _VICTIMS:
                if (
                    kind.aspect is not Aspect.CUTS or victim != AllVoters()
                ):  # no node would be left on the other side
                    yield f"{name}-{victim}", with_parameters(kind, victim, words)


FAULTS = dict(sorted(_catalogue()))


def aimed_at(fault: Fault, node: NodeId) -> Fault:
    """The same fault with one given node as its victim."""
    return replace(fault, victim=OneNode(node))


def fault_told(word: str, victim: Victim | None) -> Fault:
    """A fault by its name with its parameters, as people give it: `kill-leader`,
    `power-off:mode=torn`. A victim that is given comes before the name's. Raises ValueError, which
    names what there is."""
    name, *words = word.split(":")
    parameters = {}
    for each in words:
        key, equals, value = each.partition("=")
        if not (key and equals and value):
            raise ValueError(f"{word}: {each!r} is not NAME=VALUE")
        parameters[key] = value
    return fault_named(name, victim, parameters)


def victim_told(word: str) -> Victim:
    """As `victim_from`; the ValueError names what there is."""
    try:
        return victim_from(word)
    except ValueError as error:
        raise ValueError(f"unknown victim {word!r}; {like(word, VICTIM_WORDS)}") from error


def fault_named(name: str, victim: Victim | None, parameters: Mapping[str, object]) -> Fault:
    """A fault by a name that has its victim (`kill-leader`), or by its kind, with a victim and
    parameters. Raises ValueError, which names what there is."""
    hand = {each: (kind, words) for kind in KINDS for each, words in kind.by_hand.items()}
    kind: type[Fault]
    words: Words
    if name in FAULTS:
        kind, words = type(FAULTS[name]), parameters_of(FAULTS[name])
        victim = victim or FAULTS[name].victim
    elif name in hand or name in BY_KIND:
        kind, words = hand.get(name) or (BY_KIND[name], {})
    else:
        raise ValueError(f"unknown fault {name!r}; {like(name, [*FAULTS, *hand, *BY_KIND])}")
    if victim is None:
        named = f", or {name}-leader" if f"{name}-leader" in FAULTS else ""
        raise ValueError(f"{name} needs a victim, such as leader{named}")
    chosen = {each: str(value) for each, value in parameters.items()}
    fault = named_alone(kind, name, victim, {**words, **chosen})
    if name in BY_KIND and fault.kind != name:
        raise ValueError(f"{name} with {chosen or 'no parameters'} would be {fault.kind}")
    return fault
