"""A seed's trial: the same each time, another for another seed, and all of it somewhere."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

from chaos.campaign.coverage import label
from chaos.conditions import Conditions
from chaos.nemesis.abilities import lacking
from chaos.nemesis.fault import needs_of, parameters_of
from chaos.nemesis.kinds import MENACES
from chaos.nemesis.victims import SomeNodes
from chaos.scenario import Trial
from chaos.scenarios.swarm import every_fault, trial
from tests.support.fake_cluster import FakeCluster

OF_VOTERS = {"lose-disk", "removed-voter"}


@cache  # not where workers import this that run none of it
def trials() -> list[Trial]:
    return [trial(seed) for seed in range(400)]


def test_a_trial_follows_from_its_seed() -> None:
    random.seed(99)  # nobody draws from the common numbers
    assert [trial(seed) for seed in range(50)] == trials()[:50]
    assert len(set(map(repr, trials()))) == len(trials())


def test_a_trial_is_as_long_as_somebody_asks() -> None:
    for seed in range(50):
        asked = trial(seed, 6.0)
        assert asked.schedule.duration_s == 6.0
        assert all(window.end_s <= 6.0 for window in asked.schedule.windows)
        assert (asked.nodes, asked.conditions) == (trials()[seed].nodes, trials()[seed].conditions)


def test_a_trial_has_as_many_nodes_as_somebody_asks() -> None:
    assert {trial(seed, None, 5).nodes for seed in range(50)} == {5}
    drawn = [seed for seed in range(200) if trials()[seed].nodes == 5]
    assert drawn
    assert all(trial(seed, None, 5) == trials()[seed] for seed in drawn)


def test_every_size_and_every_kind_of_fault_comes_up_often() -> None:
    sizes = Counter(each.nodes for each in trials())
    assert set(sizes) == set(range(1, 8))
    assert sizes[3] > 80
    kinds = Counter(
        kind
        for each in trials()
        for kind in {label(w.fault.kind, parameters_of(w.fault)) for w in each.schedule.windows}
    )
    expected = {label(fault.kind, parameters_of(fault)) for fault in every_fault()}
    assert set(kinds) == expected
    assert min(kinds.values()) > 30, kinds


def test_what_is_missing_matters_as_well() -> None:
    """No trial has all kinds, and some have only one: mixes of everything are all alike."""
    counts = [len({w.fault.kind for w in each.schedule.windows}) for each in trials()]
    assert max(counts) < len(MENACES)
    assert counts.count(1) > 20


def test_faults_overlap_and_end_before_the_hurting() -> None:
    overlapping = 0
    for each in trials():
        windows = each.schedule.windows
        assert each.schedule.side_by_side
        assert all(window.end_s <= each.schedule.duration_s - 0.9 for window in windows)
        overlapping += any(one.end_s > other.at_s for one, other in pairwise(windows))
    assert overlapping > len(trials()) / 2


def test_few_trials_hurt_nobody() -> None:
    assert sum(not each.schedule.windows for each in trials()) < 10


def test_a_cluster_of_one_is_not_divided() -> None:
    alone = [each for each in trials() if each.nodes == 1]
    kinds = {window.fault.kind for each in alone for window in each.schedule.windows}
    assert not kinds & {"partition", "partition-one-way", "flaky-links", "slow-links"}


def test_half_of_all_trials_are_as_kafka_is() -> None:
    apart = ("segment_bytes", "snapshot_bytes", "retention_bytes", "late_flushes", "late_most_us")
    drawn_apart = {name: getattr(Conditions(), name) for name in apart}
    usual = sum(replace(each.conditions, **drawn_apart) == Conditions() for each in trials())
    assert 0.4 < usual / len(trials()) < 0.6
    assert all(each.conditions.election_timeout_ms >= 500 for each in trials())


def test_the_metadata_log_rolls_in_half_of_all_trials() -> None:
    small = sum(each.conditions.segment_bytes <= 16_384 for each in trials())
    assert 0.4 < small / len(trials()) < 0.6


def test_logs_are_cut_behind_snapshots_in_a_quarter_of_all_trials() -> None:
    """What lies in a segment that has not rolled stays."""
    small = [each.conditions for each in trials() if each.conditions.segment_bytes <= 16_384]
    assert 0.4 < sum(each.snapshot_bytes <= 20_000 for each in small) / len(small) < 0.6


def test_clients_of_some_trials_do_nothing_special_and_of_others_a_lot() -> None:
    for share in ("delete_share", "wrong_share", "wide_share", "several_share", "retry_share"):
        drawn = Counter(getattr(each.load, share) for each in trials())
        assert drawn[0.0] > len(trials()) / 5
        assert drawn[max(drawn)] > len(trials()) / 5


def test_even_and_large_clusters_are_as_common_as_others() -> None:
    assert sum(each.nodes % 2 == 0 for each in trials()) > len(trials()) / 4
    assert sum(each.nodes >= 5 for each in trials()) > len(trials()) / 3


def test_voters_are_listed_or_formatted_and_changed_in_many_trials() -> None:
    forms = Counter(each.settings["quorum"] for each in trials())
    assert set(forms) == {"dynamic", "listed"}
    assert min(forms.values()) > len(trials()) / 3
    for each in trials():
        known = str(each.nodes) if each.settings["quorum"] == "dynamic" else None
        assert each.settings.get("bootstrap") == known
    changed = Counter(
        (kind, each.settings["quorum"])
        for each in trials()
        for kind in {window.fault.kind for window in each.schedule.windows} & OF_VOTERS
    )
    assert set(changed) == {
        ("lose-disk", "dynamic"),
        ("lose-disk", "listed"),
        ("removed-voter", "dynamic"),  # of listed nodes none is removed for good
    }
    assert min(changed.values()) > len(trials()) / 10


def test_a_change_of_the_voters_takes_its_majority_from_nobody() -> None:
    for each in trials():
        for fault in (window.fault for window in each.schedule.windows):
            most = fault.victim.count if isinstance(fault.victim, SomeNodes) else 1
            if fault.kind == "lose-disk":
                assert 2 * most < each.nodes
            if fault.kind == "removed-voter":
                assert most < each.nodes


def test_the_form_that_somebody_asks_for_is_not_drawn() -> None:
    for seed in range(50):
        listed = trial(seed, None, 3, {"quorum": "listed"})
        assert listed.settings == {"quorum": "listed"}
        assert "removed-voter" not in {window.fault.kind for window in listed.schedule.windows}
        alone = trial(seed, None, 3, {"quorum": "dynamic", "bootstrap": "0"})
        assert alone.settings["quorum"] == "dynamic"
        assert "lose-disk" not in {window.fault.kind for window in alone.schedule.windows}


def test_no_power_is_needed_that_no_cluster_has() -> None:
    assert lacking(FakeCluster(), needs_of(every_fault())) == ()
