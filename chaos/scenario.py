"""A scenario as a value: faults, load and settings; and a trial of it."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from chaos.cluster.interface import (
    Addition,
    Advertised,
    AlteredMinIsr,
    Designated,
    ElrLevel,
    MovedReplica,
    NodeId,
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
from chaos.nemesis.kinds.power import PowerOff, StopThenPowerOff
from chaos.nemesis.kinds.removals import AddBroker, KillRemoved, RestartRemoved
from chaos.nemesis.kinds.upkeep import (
    ElectLeaders,
    MoveReplicas,
    Readdress,
    SetElrLevel,
    SetMinIsr,
)
from chaos.nemesis.script import Schedule, Script
from chaos.nemesis.victims import FollowerThatVoted, OneNode
from checkers.run.expectation import Expectation
from checkers.verdict import counted
from workloads.append import AppendOptions
from workloads.clients.log_driver import LogClients
from workloads.connection import Driver
from workloads.workload import Load, RegisterOptions, Servers
from workloads.workload_kinds import kind_of

# A trial: everything about a run except its runtime, as one value.


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial from a seed, or from a recorded run."""

    nodes: int
    schedule: Schedule
    load: Load
    conditions: Conditions
    settings: Mapping[str, str]  # defaults of the trial


SIM = "sim"  # the runtime of virtual time
# After the last heal. A fetch time-out is 2 s, an election time-out at most as long: a recovery
# that takes longer has failed repeatedly.
WHOLE_S = 30.0


def _quiet(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del rng, nodes
    return Schedule(duration_s=duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOutcome:
    """The expected outcome of a side."""

    expected: Expectation
    promise: str  # the expected observation, in one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One configuration of a scenario, to be compared with others."""

    name: str  # elr=off
    settings: Mapping[str, str]
    expected: Expectation
    promise: str  # the expected observation, in one sentence
    own: ExpectedOutcome | None = None  # for our own node, if other than for Apache Kafka
    on_kafka: Mapping[str, str] = field(default_factory=dict)  # settings that only Apache Kafka has
    mutation: str = ""  # planted in every node, for our own node only
    topic_client: str = "raw"  # as `run --topic-client`
    chores: tuple[str, ...] | None = None  # of the clients; None: those of the scenario
    release: str = ""  # of Apache Kafka, where sides differ by it; else the requested one

    def on(self, target: str) -> "Side":
        """The expected outcome on this target."""
        if is_kafka(target):
            return replace(self, settings={**self.settings, **self.on_kafka})
        if self.own is None or target != NODE:
            return self
        return replace(self, expected=self.own.expected, promise=self.own.promise)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnKafka:
    """Defaults of a scenario where all nodes are Apache Kafka's."""

    settings: Mapping[str, str] = field(default_factory=dict)
    duration_s: float | None = None  # None: as on other targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """The clusters that fit a scenario: numbers of voters and brokers, and values of settings.
    Others are refused before anything starts."""

    voters: range = range(1, 8)
    brokers: range = range(6)
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        noun = "broker" if self.brokers == range(1, 2) else "brokers"
        brokers = f", {in_words(self.brokers)} {noun}" if self.brokers[0] else ""
        chosen = "".join(f", {name}={' or '.join(of)}" for name, of in self.settings.items())
        return f"{in_words(self.voters)} voters{brokers}{chosen}"

    def why_not(self, roles: Sequence[Roles], settings: Mapping[str, str]) -> str:
        """What of such a cluster does not fit the scenario; "" if all does. The settings include
        the defaults."""
        counts = (
            ("voter", self.voters, sum(each.is_controller for each in roles)),
            ("broker", self.brokers, sum(each.is_broker for each in roles)),
        )
        for what, taken, found in counts:
            if found not in taken:
                return f"it needs {in_words(taken)} {what}s, and there {_is(found, what)}"
        for name, values in self.settings.items():
            if name in settings and settings[name] not in values:
                return f"it needs {name}={' or '.join(values)}, and that is {settings[name]}"
        return ""


def in_words(counts: range) -> str:
    """`3`, or `1 to 7`."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _is(found: int, what: str) -> str:
    return f"{'is' if found == 1 else 'are'} {counted(found, what)}"


# Controllers only, which all know each other: nothing waits for brokers to start.
CONTROLLERS_ALONE = {"brokers": "0", "bootstrap": "3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens, and why it is worth watching.

    One with a `script` is run step by step and lasts as long as the steps. Otherwise `draw` makes
    the schedule of a run from its own random numbers, the number of nodes and the length of the
    fault phase in seconds; the same arguments always give the same schedule. The steps of
    `coming_up` start the cluster for the first time, with faults before it serves clients.
    """

    name: str
    summary: str  # one line
    description: str
    faults: tuple[Fault, ...]  # all faults that it may inject
    draw: Callable[[random.Random, int, float], Schedule] = _quiet
    coming_up: Script | None = None
    script: Script | None = None
    default_duration_s: float = 30.0
    whole_s: float = WHOLE_S  # the limit of recovery after the last heal, in seconds
    conditions: Conditions = field(default_factory=Conditions)
    load: Load = field(default_factory=RegisterOptions)  # without the user's overrides
    # Campaigns use fewer clients, except for scenarios that would then show nothing.
    needs_its_load: bool = False
    # For scenarios in which the seed decides more than the schedule: nodes, load, time-outs,
    # network and disks too. Its arguments are the seed, the length of the fault phase in seconds,
    # the number of nodes (None: the seed decides), and the requested settings.
    trial: Callable[[int, float | None, int | None, Mapping[str, str]], Trial] | None = None
    # Clients that replace the load's own, in scenarios about clients.
    clients: Callable[[Driver, AppendOptions], LogClients] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)  # defaults
    on_kafka: OnKafka = field(default_factory=OnKafka)
    sides: tuple[Side, ...] = ()
    takes: Takes = field(default_factory=Takes)
    # Trace events that some node has to write, or other things that must happen
    # (`RunInfo.to_show`); if not, nothing was shown and the run is void.
    to_show: tuple[str, ...] = ()
    # The checks that it needs: one of them with nothing to judge is void.
    exists_for: tuple[str, ...] = ()
    # Checks that apply to its runs, and by its plan never have anything to judge: campaigns do not
    # expect it.
    without_subject: tuple[str, ...] = ()
    of_both: bool = False  # supports a mixed quorum of our nodes and Apache Kafka's controllers

    @property
    def is_of_brokers(self) -> bool:
        """Whether its clients use brokers, which not every target has."""
        return kind_of(self.load).servers is Servers.BROKERS

    def side_with(self, target: str, settings: Mapping[str, str]) -> Side | None:
        """The side with these settings, on that target, if there is one."""
        sides = (side.on(target) for side in self.sides)
        made = [
            side for side in sides if side.settings and side.settings.items() <= settings.items()
        ]
        return made[0] if len(made) == 1 else None

    @property
    def needs(self) -> frozenset[Ability]:
        """The powers that the scenario needs."""
        return needs_of(self.faults)

    def script_with(self, settings: Mapping[str, str]) -> Script | None:
        """The script, with its faults and waits as the settings have them."""
        return _script_as_set(self.script, settings)

    def coming_up_with(self, settings: Mapping[str, str]) -> Script | None:
        """The steps of start-up, with their faults as the settings have them."""
        return _script_as_set(self.coming_up, settings)

    def schedule(
        self, *, seed: int, nodes: int, duration_s: float, settings: Mapping[str, str] | None = None
    ) -> Schedule:
        """The schedule of a run, with its faults as the settings have them; without windows if
        there is a script."""
        drawn = self.draw(random.Random(f"{seed}:schedule"), nodes, duration_s)
        windows = (replace(it, fault=_as_set(it.fault, settings or {})) for it in drawn.windows)
        return replace(drawn, windows=tuple(windows))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSetting:
    """A parameter of faults, or their victim, chosen by `--set`. It applies to all faults of a kind
    in a scenario, those that a script begins or those that the seed times; a swarm draws it
    itself."""

    fault: type[Fault]
    parameter: str
    values: type[StrEnum]
    made: Callable[[Any], object] = lambda value: value  # the parameter for such a value
    scripted: bool
    unfit: str  # why it does not fit a scenario

    def fits(self, scenario: Scenario) -> bool:
        if scenario.trial is not None or (scenario.script is not None) is not self.scripted:
            return False
        return any(isinstance(fault, self.fault) for fault in scenario.faults)

    def applied(self, fault: Fault, value: str) -> Fault:
        """The same fault with that parameter, if it has it."""
        if not isinstance(fault, self.fault):
            return fault
        return replace(fault, **{self.parameter: self.made(self.values(value))})


# Settings of faults: what disks forget at power cuts, what becomes of the page cache of stopped
# nodes and of moved replicas, the advertised addresses of controllers, the vote of a victim,
# whether it was to remove itself, whether a broker was to vote, what becomes of ELRs and of
# min.insync.replicas, and which leader an operator names. All other settings are of the target.
CUT, STOPPED_DISK, MOVED_REPLICA = "cut", "stopped_disk", "moved_replica"
ADVERTISED = "advertised"
VOTED = "voted"
REMOVAL = "removal"
ADDITION = "addition"
ELR_LEVEL = "elr_level"
ALTERED_MIN_ISR = "altered_min_isr"
DESIGNATED = "designated"
SCENARIO_SETTINGS: Mapping[str, ScenarioSetting] = {
    CUT: ScenarioSetting(
        fault=PowerOff,
        parameter="mode",
        values=PowerCutMode,
        scripted=False,
        unfit="has no power cuts with a choice of kind",
    ),
    STOPPED_DISK: ScenarioSetting(
        fault=StopThenPowerOff,
        parameter="disk",
        values=StoppedDisk,
        scripted=True,
        unfit="cuts no power of a node that it stopped before",
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
        unfit="restarts no controller that was removed from the voters",
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
    ALTERED_MIN_ISR: ScenarioSetting(
        fault=SetMinIsr,
        parameter="min_isr",
        values=AlteredMinIsr,
        scripted=True,
        unfit="alters no min.insync.replicas",
    ),
    DESIGNATED: ScenarioSetting(
        fault=ElectLeaders,
        parameter="victim",
        values=Designated,
        made=lambda value: OneNode(NodeId(int(value))),
        scripted=True,
        unfit="has no leader named by an operator",
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
