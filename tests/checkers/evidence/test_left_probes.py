"""Nodes that do not answer the harness, and what excuses them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.evidence.missing import missing_answers, missing_leaders
from checkers.history.sealed_run import Run
from tests.support.kafka_runs import Cluster, started

_ROLES = {"1": "broker", "2": "broker", "3": "broker"}


def asked(answered: Sequence[range], kind: str = "partition") -> Cluster:
    """Every 500 ms for 30 s; of each node, when it answered."""
    cluster = started()
    for node, times in enumerate(answered, start=1):
        for at in times:
            isr = {"isr": [1, 2, 3]}
            cluster.told(node, 1, 0, at, kind=kind, key="t-0", high_watermark=1, **isr)
    cluster.sent("t-0", 0, 1)
    cluster.rows["ops"][0]["t1"] = 30_000_000_000
    return cluster


ALWAYS = range(0, 30_000, 500)
UNTIL_TEN = range(0, 10_000, 500)


def run_of(cluster: Cluster, **info: object) -> Run:
    run = cluster.run(roles=_ROLES, runtime="sim", **info)
    return replace(run, info=replace(run.info, duration_ns=30_000_000_000))


def silent(cluster: Cluster, **info: object) -> list[tuple[str, str]]:
    return list(missing_answers(run_of(cluster, **info)))


def test_all_answer_all_the_time() -> None:
    assert silent(asked([ALWAYS, ALWAYS, ALWAYS])) == []


def test_one_falls_silent() -> None:
    said = "for 20.5 s that no fault explains, it answered nothing about partitions"
    assert silent(asked([ALWAYS, UNTIL_TEN, ALWAYS])) == [("node 2", said)]


def test_one_never_answers() -> None:
    [(where, what)] = silent(asked([ALWAYS, range(0), ALWAYS]))
    assert where == "node 2"
    assert what.endswith("nor at any other time")


def test_nobody_answers_any_more() -> None:
    found = silent(asked([UNTIL_TEN, UNTIL_TEN, UNTIL_TEN]))
    assert [where for where, _ in found] == ["node 1", "node 2", "node 3"]


def test_a_fault_of_that_node_is_why() -> None:
    cluster = asked([ALWAYS, UNTIL_TEN, ALWAYS])
    cluster.ended("kill", 2, 9_000)
    assert silent(cluster) != []  # it was over at once
    cluster.rows["faults"][0]["t_healed"] = 26_000_000_000
    assert silent(cluster) == []


def test_a_fault_of_another_node_is_none() -> None:
    cluster = asked([ALWAYS, UNTIL_TEN, ALWAYS]).ended("pause", 3, 9_000)
    cluster.rows["faults"][0]["t_healed"] = 26_000_000_000
    assert silent(cluster) != []


@pytest.mark.parametrize("ended", [True, False])
def test_a_node_that_ended_by_itself_is_accused_elsewhere(ended: bool) -> None:
    ends = [{"node": 2, "t_ns": 9_900_000_000}] if ended else []
    assert bool(silent(asked([ALWAYS, UNTIL_TEN, ALWAYS]), unasked_ends=ends)) is not ended


def test_a_real_machine_may_be_busy() -> None:
    cluster = asked([ALWAYS, range(0, 22_000, 500), ALWAYS])
    assert list(missing_answers(cluster.run(roles=_ROLES, runtime="docker"))) == []
    assert silent(cluster) != []


def test_a_quorum_without_a_leader() -> None:
    cluster = asked([UNTIL_TEN], kind="quorum")
    [(where, what)] = missing_leaders(run_of(cluster))
    assert (where, what.partition(" that")[0]) == ("probes", "for 20.5 s")
    assert list(missing_leaders(run_of(asked([ALWAYS], kind="quorum")))) == []
    cluster.ended("kill", 1, 9_000).rows["faults"][0]["t_healed"] = 16_000_000_000
    assert list(missing_leaders(run_of(cluster))) == []
