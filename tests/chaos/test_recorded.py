"""Schedules survive the way to JSON and back."""

import json
from collections.abc import Callable
from typing import get_args

import pytest

from chaos.cluster.interface import DiskSickness, DiskTrouble, NodeId, PowerCutMode, Voted
from chaos.nemesis.fault import Fault, parameters_of
from chaos.nemesis.kinds.clocks import ClockRate
from chaos.nemesis.kinds.cuts import NetworkPartition, PartialPartition
from chaos.nemesis.kinds.disks import SickDisk
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.recorded import (
    NotAScheduleError,
    fault_from,
    schedule_from,
    victim_from,
    windows_as_json,
)
from chaos.nemesis.script import Schedule
from chaos.nemesis.victims import (
    ControllerLeader,
    FollowerThatVoted,
    LeaderAnd,
    OneNode,
    SomeNodes,
    Victim,
)
from chaos.scenario import Trial
from chaos.scenarios import CONTROLLER_SCENARIOS, swarm, swarm_brokers


def back(schedule: Schedule) -> Schedule:
    return schedule_from(json.loads(json.dumps(windows_as_json(schedule))))


@pytest.mark.parametrize("name", CONTROLLER_SCENARIOS)
def test_the_schedule_of_a_story_comes_back(name: str) -> None:
    plan = CONTROLLER_SCENARIOS[name].schedule(seed=3, nodes=3, duration_s=30.0)
    assert back(plan) == plan


@pytest.mark.parametrize("trial", [swarm.trial, swarm_brokers.trial])
def test_the_schedules_of_swarms_come_back(trial: Callable[[int], Trial]) -> None:
    for seed in range(50):
        schedule = trial(seed).schedule
        assert back(schedule) == schedule


WITH_WORDS: dict[type, Victim] = {
    FollowerThatVoted: FollowerThatVoted(Voted.ITSELF),
    SomeNodes: SomeNodes(3),
    LeaderAnd: LeaderAnd(2),
    OneNode: OneNode(NodeId(7)),
}


@pytest.mark.parametrize("kind", get_args(Victim), ids=lambda kind: kind.__name__)
def test_every_victim_comes_back_from_its_word(kind: type) -> None:
    victim = WITH_WORDS[kind] if kind in WITH_WORDS else kind()
    assert victim_from(str(victim)) == victim


@pytest.mark.parametrize(
    "fault",
    [
        Kill(victim=OneNode(NodeId(4)), latency_ms=700),
        PowerOff(victim=SomeNodes(3), mode=PowerCutMode.TORN, disks=DiskTrouble.SLOW),
        SickDisk(victim=ControllerLeader(), sickness=DiskSickness.FULL),
        ClockRate(victim=ControllerLeader(), rate=0.8),
        SlowLinks(latency_ms=20),
        PartialPartition(victim=LeaderAnd(1)),
        NetworkPartition(victim=LeaderAnd(2), stagger_ms=700),
    ],
)
def test_a_fault_comes_back_from_its_words(fault: Fault) -> None:
    assert fault_from(fault.kind, str(fault.victim), parameters_of(fault)) == fault


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"windows": [{"kind": "tickle"}]}, "at_s"),
        ({"windows": None}, "TypeError"),
        ({"duration_s": "long"}, "long"),
        ({"duration_s": 0.5}, "in no order"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_word(change: dict[str, object], why: str) -> None:
    content = windows_as_json(
        CONTROLLER_SCENARIOS["kill-leader"].schedule(seed=1, nodes=3, duration_s=20.0)
    )
    with pytest.raises(NotAScheduleError, match=why):
        schedule_from({**content, **change})
