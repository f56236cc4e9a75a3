"""A seed's trial of brokers: the same each time, one that can be made, and all of it somewhere."""

from collections import Counter
from functools import cache

import pytest

from chaos.campaign.coverage import label
from chaos.errors import UsageError
from chaos.nemesis.abilities import lacking
from chaos.nemesis.fault import needs_of, parameters_of
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.victims import ControllerLeader
from chaos.run.planning import Choices, plan_of
from chaos.scenario import Trial
from chaos.scenarios.swarm_brokers import every_fault, trial
from tests.support.fake_cluster import FakeCluster
from workloads.append import AppendOptions


@cache  # not where workers import this that run none of it
def trials() -> list[Trial]:
    return [trial(seed) for seed in range(300)]


def test_a_trial_follows_from_its_seed() -> None:
    assert [trial(seed) for seed in range(30)] == trials()[:30]
    assert len(set(map(repr, trials()))) == len(trials())


@pytest.mark.parametrize("target", ["node", "kafka"])
def test_every_trial_is_a_cluster_that_can_be_made(target: str) -> None:
    for seed in range(100):
        choices = Choices(scenario="swarm-brokers", seed=seed, target=target, runtime="docker")
        plan = plan_of(choices)
        assert isinstance(plan.load, AppendOptions)
        assert plan.load.replication == int(plan.settings["replication"])
        assert plan.load.configs["min.insync.replicas"] == plan.settings["min_isr"]


def test_what_somebody_asks_for_is_not_drawn() -> None:
    asked = {"elr": "off", "min_isr": "1", "replication": "2"}
    for seed in range(30):
        choices = Choices(scenario="swarm-brokers", seed=seed, runtime="sim", settings=asked)
        plan = plan_of(choices)
        assert asked.items() <= plan.settings.items()
        assert (plan.nodes, plan.settings["brokers"]) == (
            trials()[seed].nodes,
            str(trials()[seed].nodes),
        )
    counted = [trial(seed, asked={"controllers": "3"}) for seed in range(100)]
    assert all("roles" not in each.settings for each in counted)
    apart = [trial(seed, asked={"roles": "separate"}) for seed in range(100)]
    assert all(each.settings["controllers"] in {"1", "3"} for each in apart)
    few = plan_of(Choices(scenario="swarm-brokers", seed=0, runtime="sim", nodes=4))
    assert few.settings["brokers"] == "4"
    with pytest.raises(UsageError, match="needs brokers, and node has none"):
        plan_of(Choices(scenario="swarm-brokers", seed=0, runtime="sim", settings={"brokers": "0"}))


def test_every_kind_of_fault_hits_every_role_somewhere() -> None:
    windows = [window for each in trials() for window in each.schedule.windows]
    kinds = Counter(label(each.fault.kind, parameters_of(each.fault)) for each in windows)
    assert set(kinds) == {label(each.kind, parameters_of(each)) for each in every_fault()} | {
        "partition-one-way in",
        "partition-one-way out",
    }
    victims = Counter(str(each.fault.victim) for each in windows if each.fault.kind == "kill")
    assert set(victims) == {
        "leader",
        "partition-leader",
        "in-sync-follower",
        "eligible-broker",
        "random-broker",
        "all-brokers",
    }
    assert min(victims.values()) > 10


def test_settings_differ_and_power_fails_only_where_records_are_to_survive_that() -> None:
    assert {each.settings["elr"] for each in trials()} == {"on", "off"}
    separate = [each for each in trials() if each.settings.get("roles") != "combined"]
    assert {each.settings["controllers"] for each in separate} == {"1", "3"}
    assert 30 < len(trials()) - len(separate) < 90
    assert {each.nodes for each in trials()} == {3, 4, 5}
    for each in trials():
        cuts = [w for w in each.schedule.windows if isinstance(w.fault, PowerOff)]
        assert not cuts or each.settings["elr"] == "on"
        assert 1 <= int(each.settings["min_isr"]) <= int(each.settings["replication"]) <= each.nodes


def test_faults_end_before_the_hurting_and_few_trials_have_none() -> None:
    for each in trials():
        last = each.schedule.duration_s - 0.9
        assert all(window.end_s <= last for window in each.schedule.windows)
    assert sum(not each.schedule.windows for each in trials()) < 5
    assert trial(3, 8.0).schedule.duration_s == 8.0


def test_in_some_trials_a_broker_is_off_for_longer_than_its_session_and_that_is_all() -> None:
    for each in trials():
        longest = max((window.hold_s for window in each.schedule.windows), default=0.0)
        assert longest < 15.0 or len(each.schedule.windows) == 1
    silent = [each for each in trials() if any(w.hold_s > 25 for w in each.schedule.windows)]
    assert 4 < len(silent) < 20
    assert {window.fault.kind for each in silent for window in each.schedule.windows} == {"kill"}
    assert not [
        w for seed in range(300) for w in trial(seed, 12.0).schedule.windows if w.hold_s > 14
    ]


def test_what_rules_of_long_times_need_is_drawn() -> None:
    """Each of these is the only subject of a rule, and a campaign of a thousand seeds may not be
    without: a leader of controllers that is cut off for longer than check-quorum takes (Q22), a
    majority that is left in peace for an election (Q21), brokers that are so for longer
    (P18-brokers-are-let-in), partitions that move (P18-reassignments-end)."""
    cut_off = [
        window
        for each in trials()
        for window in each.schedule.windows
        if isinstance(window.fault, NetworkPartition)
        and isinstance(window.fault.victim, ControllerLeader)
        and int(each.settings["controllers"]) >= 3
        and window.hold_s > 5
    ]
    assert len(cut_off) > 4
    assert sum(longest_calm_s(each) > 14 for each in trials()) > 30
    assert sum(longest_calm_s(each) > 22.5 for each in trials()) > 4
    loads = [each.load for each in trials() if isinstance(each.load, AppendOptions)]
    assert sum("reshaping-topics" in load.chores for load in loads) > 20


def longest_calm_s(each: Trial) -> float:
    """The longest time of the hurting in which nothing was wrong."""
    calm_s = since_s = 0.0
    for window in each.schedule.windows:
        calm_s = max(calm_s, window.at_s - since_s)
        since_s = max(since_s, window.end_s)
    return max(calm_s, each.schedule.duration_s - since_s)


def test_brokers_that_are_the_controllers_are_cut_off_from_all_or_nobody() -> None:
    combined = [each for each in trials() if each.settings.get("roles") == "combined"]
    faults = [window.fault for each in combined for window in each.schedule.windows]
    peers = {fault.peers for fault in faults if isinstance(fault, NetworkPartition)}
    assert peers == {OtherSide.ALL}


def test_no_power_is_needed_that_no_cluster_has() -> None:
    assert lacking(FakeCluster(), needs_of(every_fault())) == ()
