"""Who votes, at an offset: by the control records of logs that need not agree."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.disk import read_disks
from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import ReplicaKey
from checkers.history.sealed_run import Run
from checkers.history.tables import TABLES
from checkers.quorum.elections import elected_by_a_majority
from checkers.verdict import Verdict
from tests.support.histories import (
    batch,
    leader_change,
    make_run,
    run_info,
)
from tests.support.kafka_disks import unpack
from tests.support.voter_logs import FIRST, by_id, control, evidence, key, keys, log, told, whole

VALID = Verdict.VALID


# --- one log ---


def test_a_static_quorum_is_as_planned_whatever_the_offset() -> None:
    roles = {"1": "controller", "2": "broker,controller", "3": "broker", "4": "controller"}
    found = evidence(log([1, 2, 4], (0, 9, 1)), nodes=4, roles=roles).voters
    assert [found.at(offset).nodes for offset in (-1, 0, 9, 1000)] == [(1, 2, 4)] * 4
    assert found.newest.includes(ReplicaKey(4, "any-disk"))
    assert evidence([], nodes=2).voters.newest.nodes == (1, 2)  # nothing could be read


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(-1, (1, 2, 3)), (1, (1, 2, 3)), (2, (1, 2, 3)), (4, (1, 2, 3)), (5, (1, 2)), (9, (1, 2, 4))],
)
def test_whole_sets_are_in_force_from_their_record_on(
    offset: int, expected: tuple[int, ...]
) -> None:
    records = whole([1, 2], 2, FIRST) + whole([1, 2], 5, FIRST[:2])
    records += whole([1, 2], 9, [*FIRST[:2], key(4)])
    found = evidence(log([1, 2], (0, 20, 1)), records)
    assert by_id(found.voters.at(offset)) == expected
    assert found.voters.nodes == (1, 2, 3, 4)


def test_one_voter_at_a_time_as_in_kip_856() -> None:
    """The first records tell directories, of voters that were known by id; then 3 is replaced."""
    changes = [("AddVoter", one) for one in (*FIRST, (3, "new"))] + [("RemoveVoter", key(3))]
    records = [
        row
        for offset, (kind, voter) in zip((1, 2, 3, 10, 12), changes, strict=True)
        for row in control([1, 2], offset, kind, told(voter))
    ]
    found = evidence(log([1, 2], (0, 20, 1)), records).voters
    assert keys(found.at(3)) == FIRST
    assert keys(found.at(10)) == [*FIRST, (3, "new")]
    assert found.at(10).majority == 3
    assert keys(found.newest) == [*FIRST[:2], (3, "new")]
    assert found.at(10).count([ReplicaKey(3, "new"), ReplicaKey(3, "other")]) == 1


def test_a_snapshot_names_all_anew() -> None:
    """Of the KIP-856 form as well: who is not named in it is no voter any more."""
    added = [
        row for one in (*FIRST[:2], (3, "new")) for row in control([1], 49, "AddVoter", told(one))
    ]
    records = control([1], 49, "SnapshotHeader", {}) + added
    found = evidence(log([1], (40, 60, 3)), records).voters
    assert keys(found.at(49)) == [*FIRST[:2], (3, "new")]


# --- logs that do not agree ---


def test_a_set_that_was_truncated_does_not_count() -> None:
    """Node 1 appended it as leader of epoch 1, alone; epoch 2 went on without it."""
    old, new = (0, 9, 1), (10, 14, 2)
    batches = log([1], old, (10, 30, 1)) + log([2, 3], old, new)
    records = whole([1, 2, 3], 1, FIRST) + whole([1], 10, [*FIRST, key(4)])
    found = evidence(batches, records, nodes=4)
    assert [by_id(found.voters.at(offset)) for offset in (9, 10, 30)] == [(1, 2, 3)] * 3
    assert by_id(found.voters_on(1).newest) == (1, 2, 3, 4)
    assert found.committed_log is not None
    assert found.committed_log.end == 15  # by two of three; they would be no majority of four


def test_the_log_of_a_node_that_nobody_planned_may_be_the_newest() -> None:
    batches = log([1, 2], (0, 9, 1)) + log([3, 4, 5], (0, 9, 1), (10, 20, 2))
    records = whole([1, 2, 3, 4, 5], 1, FIRST) + whole(
        [3, 4, 5], 10, [key(3), key(4), key(5)], epoch=2
    )
    roles = {str(node): "controller" for node in (1, 2, 3)}
    found = evidence(batches, records, nodes=5, roles=roles)
    assert by_id(found.voters.newest) == (3, 4, 5)
    assert found.committed_log is not None
    assert found.committed_log.end == 21


def test_what_a_snapshot_hides_another_log_may_have() -> None:
    """Only one that holds what this one goes on with; a fork below it says nothing."""
    tail = (50, 60, 3)
    batches = log([1], (0, 49, 1), tail) + log([2], tail, (61, 70, 4)) + log([3], (0, 80, 2))
    records = whole([1], 20, FIRST) + whole([3], 30, [key(3)])
    head = control([2], 54, "SnapshotHeader", {}, 3) + whole([2], 54, [*FIRST, key(4)], 3)
    found = evidence(batches, [*records, *head]).voters
    assert [by_id(found.at(offset)) for offset in (19, 30, 54)] == [
        (1, 2, 3),
        (1, 2, 3),
        (1, 2, 3, 4),
    ]
    assert keys(found.at(30)) == FIRST
    assert found.known == 0
    alone = evidence(log([2], tail, (61, 70, 4)), head).voters
    assert (alone.known, alone.during(3), len(alone.during(4))) == (54, (), 1)


def test_changes_alone_do_not_tell_who_votes() -> None:
    """What there was before them was in a snapshot that is gone."""
    changed = control([1], 45, "AddVoter", told((3, "new")))
    named = [
        row for one in (*FIRST[:2], (3, "new")) for row in control([1], 49, "AddVoter", told(one))
    ]
    records = [*changed, *control([1], 49, "SnapshotHeader", {}), *named]
    found = evidence(log([1], (40, 60, 3)), records).voters
    assert found.known == 49
    assert keys(found.at(49)) == [*FIRST[:2], (3, "new")]


def test_of_an_epoch_before_the_log_nobody_knows_who_voted() -> None:
    """Also where the log begins just behind the snapshot, perhaps amid its first epoch."""
    head = control([1], 49, "SnapshotHeader", {}, 3) + whole([1], 49, [key(7), key(8), key(9)], 3)
    found = evidence(log([1], (50, 60, 3), (61, 70, 4)), head).voters
    assert [len(found.during(epoch)) for epoch in (1, 3, 4, 5)] == [0, 0, 1, 1]


def test_nobody_is_accused_by_a_set_that_a_snapshot_hides() -> None:
    head = control([2], 54, "SnapshotHeader", {}, 3) + whole([2], 54, [key(7), key(8), key(9)], 3)
    changes = [leader_change(2, 52, 3, 5, [4, 5, 6]), leader_change(2, 61, 4, 7, [7, 8, 9])]
    run = make_run(batches=log([2], (50, 60, 3), (61, 70, 4)), records=[*head, *changes])
    result = elected_by_a_majority(run)
    assert (result.verdict, result.looked_at) == (VALID, 1), result.message


# --- all logs that Raft can make ---


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, list[tuple[int, tuple[int, ...] | None]]], int]:
    """Logs of (epoch, set or None) by node; each leader drops its followers' forks. And whose log
    is the newest."""
    logs: dict[int, list[tuple[int, tuple[int, ...] | None]]] = {1: [], 2: [], 3: []}
    leader = 1
    for epoch in range(1, draw(st.integers(1, 5)) + 1):
        newest = max((log[-1][0] if log else 0, len(log)) for log in logs.values())
        leader = draw(
            st.sampled_from(
                [n for n, log in logs.items() if (log[-1][0] if log else 0, len(log)) == newest]
            )
            if draw(st.booleans())
            else st.sampled_from([1, 2, 3])
        )
        sets = st.sets(st.integers(1, 5), min_size=1).map(lambda found: tuple(sorted(found)))
        mine = logs[leader] + [
            (epoch, one) for one in draw(st.lists(st.none() | sets, min_size=1, max_size=4))
        ]
        logs[leader] = mine
        for follower in draw(st.sets(st.sampled_from([1, 2, 3]))) - {leader}:
            logs[follower] = mine[: draw(st.integers(0, len(mine)))]
    return logs, max(logs, key=lambda n: (logs[n][-1][0] if logs[n] else 0, len(logs[n]), -n))


@given(histories())
def test_at_any_offset_the_newest_log_says_who_votes(
    drawn: tuple[dict[int, list[tuple[int, tuple[int, ...] | None]]], int],
) -> None:
    logs, newest = drawn
    batches, records = [], []
    for node, entries in logs.items():
        for offset, (epoch, ids) in enumerate(entries):
            batches.append(batch(node, offset, offset, epoch))
            if ids is not None:
                records += whole([node], offset, [key(one) for one in ids], epoch)
    found = evidence(batches, records, nodes=3)
    for node in logs:
        entries = logs[node]
        by_log = found.voters if node == newest else found.voters_on(node)
        for offset in range(-1, len(entries) + 1):
            named = [ids for _, ids in entries[: offset + 1] if ids is not None]
            first = entries[0][1] if entries and entries[0][1] is not None else (1, 2, 3)
            assert by_id(by_log.at(offset)) == (named[-1] if named else first)


# --- what Apache Kafka wrote ---


def test_voters_on_disks_of_apache_kafka(tmp_path: Path) -> None:
    """Dynamic, with snapshots that hide the heads of logs: each disk alone knows the voters."""
    unpack("4.3.1", tmp_path)
    tables = {
        **{name: schema.empty_table() for name, schema in TABLES.items()},
        **read_disks(tmp_path),
    }
    info = run_info(
        target="kafka 4.3.1", roles={str(node): "broker,controller" for node in (1, 2, 3)}
    )
    found = Evidence(Run(directory=tmp_path, info=info, tables=tables))
    formatted = [(node, f"directory-of-node-00{node}w") for node in (1, 2, 3)]
    assert keys(found.voters.newest) == formatted
    for node in (1, 2, 3):
        assert keys(found.voters_on(node).newest) == formatted
    assert found.committed_log is not None
    assert elected_by_a_majority(found).verdict is VALID
