"""Replicas that cannot be as their brokers left them, by hand."""

import json

import pytest

from checkers.partitions.intact_replicas import (
    epoch_checkpoints_agree,
    flushed_stays,
    replicas_are_intact,
)
from checkers.verdict import Verdict
from tests.support.kafka_runs import NODES, Cluster, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
SPANS = [(0, 100, 4, 0), (4, 200, 6, 2)]  # offset, value, records, epoch
STOPPED = dict.fromkeys("123", "stopped")
RUNS = dict.fromkeys("123", "runs")
ROT = "00000000000000000000.log position 9 (offset 4): wrong CRC"
HOLE = "00000000000000000007.log position 0 (offset 7): the log ended at 4 before it"
FLUSHED = "the log ends at 10, and was flushed up to 12"


def replicas(problem: str | None = None, **row: object) -> Cluster:
    cluster = started()
    for node in NODES:
        told = {"problem": problem, **row} if node == 2 else {"epochs": "[[0, 0], [2, 4]]"}
        cluster.replica(node, "t-0", SPANS, **told)
    return cluster


def lying(cluster: Cluster) -> Cluster:
    cluster.ended("power-off", 2, at=20)
    cluster.rows["faults"][-1]["damages_bytes"] = True
    return cluster


@pytest.mark.parametrize(
    ("problem", "whole", "verdict"),
    [
        (None, True, VALID),
        (ROT, False, INVALID),
        (HOLE, True, INVALID),
        ("replication-offset-checkpoint: version 0, entries 2, and 1 follow", True, INVALID),
        ("partition.metadata: no such file", True, VALID),  # it was being made, or removed
        ("leader-epoch-checkpoint: epochs or offsets that do not rise", True, VALID),  # another's
        (None, False, INVALID),
    ],
)
def test_damage(problem: str | None, *, whole: bool, verdict: Verdict) -> None:
    cluster = replicas(problem, whole=whole)
    assert replicas_are_intact(cluster.run(endings=STOPPED)).verdict is verdict
    assert replicas_are_intact(lying(cluster).run(endings=STOPPED)).verdict is VALID


def test_a_log_that_is_cleaned_lacks_offsets() -> None:
    settings = {"log.cleanup.policy": "compact"}
    assert replicas_are_intact(replicas(HOLE).run(endings=STOPPED, settings=settings)).verdict is (
        VALID
    )


@pytest.mark.parametrize(
    ("epochs", "said"),
    [
        ([[0, 0], [2, 4]], ""),
        ([[0, 0], [2, 4], [3, 10]], ""),
        ([[0, 0], [2, 3]], "epoch 2 begins at 3 by its checkpoint, but at 4 in the log"),
        ([[0, 0], [1, 3], [2, 4]], "epoch 1 begins at 3 by its checkpoint, but the log has none"),
        ([[0, 0]], "does not have epoch 2"),
        ([], "does not have epoch 0"),
    ],
)
def test_epochs(epochs: list[list[int]], said: str) -> None:
    found = epoch_checkpoints_agree(replicas(epochs=json.dumps(epochs)).run(endings=STOPPED))
    assert found.verdict is (INVALID if said else VALID), found.message
    assert said in found.message
    lied = lying(replicas(epochs=json.dumps(epochs)))
    assert epoch_checkpoints_agree(lied.run(endings=STOPPED)).verdict is VALID


def test_an_epoch_that_was_not_synced() -> None:
    cluster = replicas(epochs="[[0, 0]]").ended("power-off", 2, at=20)
    assert epoch_checkpoints_agree(cluster.run(endings=STOPPED)).verdict is VALID


@pytest.mark.parametrize(("first", "verdict"), [(0, VALID), (2, VALID), (3, INVALID)])
def test_where_the_head_was_deleted_its_epoch_begins(first: int, verdict: Verdict) -> None:
    cluster = replicas(epochs=json.dumps([[0, first], [2, 4]]), log_start=2)
    assert epoch_checkpoints_agree(cluster.run(endings=STOPPED)).verdict is verdict


def test_epochs_that_cannot_be_read() -> None:
    problem = "leader-epoch-checkpoint: epochs or offsets that do not rise: [(1, 0), (0, 4)]"
    assert "do not rise" in epoch_checkpoints_agree(replicas(problem).run()).message


@pytest.mark.parametrize(
    ("endings", "is_killed", "verdict"),
    [
        (STOPPED, False, INVALID),
        (STOPPED, True, INVALID),
        (RUNS, True, VALID),
        (RUNS, False, INVALID),
    ],
)
def test_flushed(endings: dict[str, str], *, is_killed: bool, verdict: Verdict) -> None:
    cluster = replicas(FLUSHED)
    if is_killed:
        cluster.ended("kill", 2, at=20)
    assert flushed_stays(cluster.run(endings=endings)).verdict is verdict
