"""A scenario: what a cluster is put through, as a value."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from chaos.cluster.interface import (
    Addition,
    Advertised,
    ElrLevel,
    MovedReplica,
    PowerCutMode,
    Removal,
    Roles,
    StoppedDisk,
    Voted,
)
from chaos.cluster.targets.named import NODE, is_kafka
from chaos.conditions import Conditions
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Fault, needs_of
from chaos.nemesis.kinds.additions import AddBroker
from chaos.nemesis.kinds.power import PowerOff, StopThenPowerOff
from chaos.nemesis.kinds.removals import KillRemoved, RestartRemoved
from chaos.nemesis.kinds.upkeep import MoveReplicas, Readdress, SetElrLevel
from chaos.nemesis.schedule import Schedule
from chaos.nemesis.script import Script
from chaos.nemesis.victims import FollowerThatVoted
from chaos.trial import Trial
from checkers.counted import counted
from checkers.run.expectation import Expectation
from workloads.append_options import AppendOptions
from workloads.connection import Driver
from workloads.log_driver import LogClients
from workloads.register_options import RegisterOptions
from workloads.workload import Load, Servers
from workloads.workload_kinds import kind_of

SIM = "sim"  # the runtime of virtual time
# After the last cure. A fetch time-out is 2 s, an election's at most as long: what has not come
# about by then has failed again and again.
WHOLE_S = 30.0


def _quiet(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del rng, nodes
    return Schedule(duration_s=duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOutcome:
    """What a side comes to."""

    expected: Expectation
    promise: str  # what should be seen, in one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One configuration in which a scenario is run, to be compared with others."""

    name: str  # elr=off
    settings: Mapping[str, str]
    expected: Expectation
    promise: str  # what should be seen, in one sentence
    own: ExpectedOutcome | None = None  # of our own node, where it is not Apache Kafka's
    on_kafka: Mapping[str, str] = field(default_factory=dict)  # settings that our own has not
    mutation: str = ""  # planted in every node: a side of our own node alone
    topic_client: str = "raw"  # as `run --topic-client`
    chores: tuple[str, ...] | None = None  # of the clients; None: those of the scenario
    release: str = ""  # of Apache Kafka, where sides differ by it; else that which was asked for

    def on(self, target: str) -> "Side":
        """What it is of this target."""
        if is_kafka(target):
            return replace(self, settings={**self.settings, **self.on_kafka})
        if self.own is None or target != NODE:
            return self
        return replace(self, expected=self.own.expected, promise=self.own.promise)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnKafka:
    """What a scenario needs, unless told otherwise, where all nodes are Apache Kafka's."""

    settings: Mapping[str, str] = field(default_factory=dict)
    duration_s: float | None = None  # None: as anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """The clusters of which a scenario tells something: how many voters and brokers, and the values
    of settings. Others are refused before anything starts."""

    voters: range = range(1, 8)
    brokers: range = range(6)
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        noun = "broker" if self.brokers == range(1, 2) else "brokers"
        brokers = f", {in_words(self.brokers)} {noun}" if self.brokers[0] else ""
        chosen = "".join(f", {name}={' or '.join(of)}" for name, of in self.settings.items())
        return f"{in_words(self.voters)} voters{brokers}{chosen}"

    def why_not(self, roles: Sequence[Roles], settings: Mapping[str, str]) -> str:
        """What such a cluster has that the scenario does not take; "" where it takes all. The
        settings are all that there are, defaults included."""
        counts = (
            ("voter", self.voters, sum(each.is_controller for each in roles)),
            ("broker", self.brokers, sum(each.is_broker for each in roles)),
        )
        for what, taken, found in counts:
            if found not in taken:
                return f"it takes {in_words(taken)} {what}s, and there {_is(found, what)}"
        for name, values in self.settings.items():
            if name in settings and settings[name] not in values:
                return f"it takes {name}={' or '.join(values)}, and that is {settings[name]}"
        return ""


def in_words(counts: range) -> str:
    """`3`, or `1 to 7`."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _is(found: int, what: str) -> str:
    return f"{'is' if found == 1 else 'are'} {counted(found, what)}"


# A quorum alone, in which every controller knows the others: nothing waits for brokers to start.
CONTROLLERS_ALONE = {"brokers": "0", "bootstrap": "3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens, and why it is worth watching.

    One with a `script` is run step by step and takes as long as the steps do. Otherwise `draw`
    gives the schedule of one run from its own random numbers, the number of nodes and the seconds
    of hurting; the same arguments always give the same schedule. With `coming_up`, these steps
    start the cluster for the first time, and hurt it before it serves and there are clients.
    """

    name: str
    summary: str  # one line
    description: str
    faults: tuple[Fault, ...]  # every fault that it may use
    draw: Callable[[random.Random, int, float], Schedule] = _quiet
    coming_up: Script | None = None
    script: Script | None = None
    default_duration_s: float = 30.0
    whole_s: float = WHOLE_S  # how long all may take to be whole after the last cure
    conditions: Conditions = field(default_factory=Conditions)
    load: Load = field(default_factory=RegisterOptions)  # but for what the user asks for instead
    # Campaigns run with fewer clients, except for scenarios that would not show their point then.
    needs_its_load: bool = False
    # For scenarios whose seed decides more than the schedule: nodes, load, time-outs, network and
    # disks too. Its arguments are the seed, the length of the fault phase in seconds and the number
    # of nodes (None: the seed decides), and the settings that were asked for.
    trial: Callable[[int, float | None, int | None, Mapping[str, str]], Trial] | None = None
    # Clients that replace the load's own, where clients are what the scenario is about.
    clients: Callable[[Driver, AppendOptions], LogClients] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)  # unless told others
    on_kafka: OnKafka = field(default_factory=OnKafka)
    sides: tuple[Side, ...] = ()
    takes: Takes = field(default_factory=Takes)
    # Trace events that some node has to tell of, or what else has to come about
    # (`RunInfo.to_show`); if not, nothing was shown and the run is void.
    to_show: tuple[str, ...] = ()
    # The checks without which it shows nothing: one of them that finds nothing to judge is void.
    exists_for: tuple[str, ...] = ()
    # Checks that apply to its runs, and by its plan have nothing to judge in any of them: campaigns
    # do not miss their work.
    without_subject: tuple[str, ...] = ()
    of_both: bool = False  # takes a quorum of our nodes and Apache Kafka's controllers

    @property
    def is_of_brokers(self) -> bool:
        """Whether its clients talk to brokers, which not every target has."""
        return kind_of(self.load).servers is Servers.BROKERS

    def side_with(self, target: str, settings: Mapping[str, str]) -> Side | None:
        """The side that these settings make, as it is on that target, if they make one."""
        sides = (side.on(target) for side in self.sides)
        made = [
            side for side in sides if side.settings and side.settings.items() <= settings.items()
        ]
        return made[0] if len(made) == 1 else None

    @property
    def needs(self) -> frozenset[Ability]:
        """The powers without which the scenario cannot be run."""
        return needs_of(self.faults)

    def script_with(self, settings: Mapping[str, str]) -> Script | None:
        """The script, with its faults, and what it waits for, as the settings say."""
        return _script_as_set(self.script, settings)

    def coming_up_with(self, settings: Mapping[str, str]) -> Script | None:
        """The steps by which the cluster comes up, with their faults as the settings say."""
        return _script_as_set(self.coming_up, settings)

    def schedule(
        self, *, seed: int, nodes: int, duration_s: float, settings: Mapping[str, str] | None = None
    ) -> Schedule:
        """The schedule of a run, with its faults as the settings say; without windows, where a
        script says what happens."""
        drawn = self.draw(random.Random(f"{seed}:schedule"), nodes, duration_s)
        windows = (replace(it, fault=_as_set(it.fault, settings or {})) for it in drawn.windows)
        return replace(drawn, windows=tuple(windows))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSetting:
    """A parameter of faults, or their victim, that is asked for by `--set`. All faults of a kind in
    a scenario have it, of those that a script begins or of those that the seed times; a swarm draws
    it itself."""

    fault: type[Fault]
    parameter: str
    values: type[StrEnum]
    made: Callable[[Any], object] = lambda value: value  # what the parameter is of such a value
    scripted: bool
    unfit: str  # what is true of a scenario that it does not fit

    def fits(self, scenario: Scenario) -> bool:
        if scenario.trial is not None or (scenario.script is not None) is not self.scripted:
            return False
        return any(isinstance(fault, self.fault) for fault in scenario.faults)

    def applied(self, fault: Fault, value: str) -> Fault:
        """The same fault with that parameter, if it has it."""
        if not isinstance(fault, self.fault):
            return fault
        return replace(fault, **{self.parameter: self.made(self.values(value))})


# What disks forget at power cuts, what becomes of the page cache of stopped nodes and of moved
# replicas, where controllers say that they are, whom a victim voted for, whether it was to remove
# itself, whether a broker was to vote, and what becomes of ELRs. All other settings are of the
# target.
CUT, STOPPED_DISK, MOVED_REPLICA = "cut", "stopped_disk", "moved_replica"
ADVERTISED = "advertised"
VOTED = "voted"
REMOVAL = "removal"
ADDITION = "addition"
ELR_LEVEL = "elr_level"
SCENARIO_SETTINGS: Mapping[str, ScenarioSetting] = {
    CUT: ScenarioSetting(
        fault=PowerOff,
        parameter="mode",
        values=PowerCutMode,
        scripted=False,
        unfit="has no power cuts whose kind can be said",
    ),
    STOPPED_DISK: ScenarioSetting(
        fault=StopThenPowerOff,
        parameter="disk",
        values=StoppedDisk,
        scripted=True,
        unfit="cuts the power of no node that it stopped before",
    ),
    MOVED_REPLICA: ScenarioSetting(
        fault=MoveReplicas,
        parameter="replica",
        values=MovedReplica,
        scripted=True,
        unfit="moves no replica between log directories",
    ),
    ADVERTISED: ScenarioSetting(
        fault=Readdress,
        parameter="advertised",
        values=Advertised,
        scripted=True,
        unfit="starts no controller with another advertised host",
    ),
    VOTED: ScenarioSetting(
        fault=RestartRemoved,
        parameter="victim",
        values=Voted,
        made=FollowerThatVoted,
        scripted=True,
        unfit="starts no controller again that was removed from the voters",
    ),
    REMOVAL: ScenarioSetting(
        fault=KillRemoved,
        parameter="removal",
        values=Removal,
        scripted=True,
        unfit="kills no leader that was asked to remove itself",
    ),
    ADDITION: ScenarioSetting(
        fault=AddBroker,
        parameter="addition",
        values=Addition,
        scripted=True,
        unfit="asks for no broker to be made a voter",
    ),
    ELR_LEVEL: ScenarioSetting(
        fault=SetElrLevel,
        parameter="level",
        values=ElrLevel,
        scripted=True,
        unfit="changes no level of eligible leader replicas",
    ),
}


def _script_as_set(script: Script | None, settings: Mapping[str, str]) -> Script | None:
    if script is None:
        return None
    return script.with_settings(settings).with_faults(lambda fault: _as_set(fault, settings))


def _as_set(fault: Fault, settings: Mapping[str, str]) -> Fault:
    for name in SCENARIO_SETTINGS.keys() & settings.keys():
        fault = SCENARIO_SETTINGS[name].applied(fault, settings[name])
    return fault
