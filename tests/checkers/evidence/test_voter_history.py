"""Who votes, at an offset: by the control records of logs that need not agree."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.disk import read_disks
from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.history.sealed_run import Run
from checkers.history.tables import TABLES
from checkers.quorum.ballots import elected_by_a_majority
from checkers.quorum.leadership import cut_off_leader_resigns
from checkers.quorum.moments import voters_between
from checkers.quorum.read_confirmation import reads_are_confirmed
from checkers.registers.survival import acknowledged_writes_survive
from checkers.verdict import Verdict
from tests.support.harm import harm_of
from tests.support.histories import (
    MS,
    NodeTrace,
    Row,
    batch,
    config_record,
    disk,
    fault,
    leader_change,
    make_run,
    run_info,
    write,
)
from tests.support.kafka_disks import unpack

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
Keys = Sequence[tuple[int, str]]


def key(node: int) -> tuple[int, str]:
    """A node with the disk that `disk` makes for it."""
    return node, f"dir-{node}"


FIRST = [key(1), key(2), key(3)]


def control(
    nodes: Sequence[int], offset: int, kind: str, detail: object, epoch: int = 1
) -> list[Row]:
    """A control record on the disks of some nodes."""
    head = {"offset": offset, "epoch": epoch, "type": kind, "detail": json.dumps(detail)}
    empty = dict.fromkeys(["resource_type", "resource", "name", "value", "leader"])
    return [{"node": node, **head, **empty} for node in nodes]


def told(voter: tuple[int, str]) -> Row:
    return {"voterId": voter[0], "voterDirectoryId": voter[1]}


def whole(nodes: Sequence[int], offset: int, keys: Keys, epoch: int = 1) -> list[Row]:
    return control(nodes, offset, "KRaftVoters", {"voters": [told(one) for one in keys]}, epoch)


def log(nodes: Sequence[int], *spans: tuple[int, int, int]) -> list[Row]:
    """Batches as (base, last, epoch) on the disks of some nodes."""
    return [batch(node, *span) for node in nodes for span in spans]


def evidence(
    batches: Sequence[Row], records: Sequence[Row] = (), disks: Sequence[Row] = (), **rest: object
) -> Evidence:
    nodes = sorted({int(str(row["node"])) for row in batches})
    found = disks or [disk(node) for node in nodes]
    return Evidence(make_run(batches=batches, records=records, disks=found, **rest))  # type: ignore[arg-type]  # as there


def keys(voters: VoterSet) -> list[tuple[int, str]]:
    return sorted((one.node, one.directory) for one in voters.keys)


def by_id(voters: VoterSet) -> tuple[int, ...]:
    return tuple(sorted(one.node for one in voters.keys))


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


def test_nobody_is_accused_by_a_set_that_a_snapshot_hides() -> None:
    head = control([2], 54, "SnapshotHeader", {}, 3) + whole([2], 54, [key(7), key(8), key(9)], 3)
    changes = [leader_change(2, 52, 3, 5, [4, 5, 6]), leader_change(2, 61, 4, 7, [7, 8, 9])]
    run = make_run(batches=log([2], (50, 60, 3), (61, 70, 4)), records=[*head, *changes])
    result = elected_by_a_majority(run)
    assert (result.verdict, result.looked_at) == (VALID, 1), result.message


# --- a change amid an epoch ---


@pytest.mark.parametrize(
    ("holders", "end"),
    [
        ({1: 20, 2: 20, 3: 20, 4: 20}, 20),
        ({1: 20, 2: 20, 3: 20, 4: 5}, 20),
        ({1: 20, 2: 20, 3: 5, 4: 5}, 10),  # the change is not committed; what is before it is
        ({1: 20, 2: 5, 3: 5, 4: 20}, 5),
        ({1: 20, 2: 10, 3: 5, 4: 5}, 10),  # committed by two of three, before there were four
        ({1: 20, 2: 20}, None),  # two of four: nobody can tell
    ],
)
def test_committed_is_by_those_who_voted_then(holders: Mapping[int, int], end: int | None) -> None:
    """Node 4 becomes a voter at offset 10 of epoch 1, which is led on."""
    spans = [(base, base + 4, 1) for base in range(0, 20, 5)]
    batches = [row for node, upto in holders.items() for row in log([node], *spans[: upto // 5])]
    records = whole(list(holders), 1, FIRST)
    records += whole([n for n, upto in holders.items() if upto > 10], 10, [*FIRST, key(4)])
    found = evidence(batches, records, nodes=4).committed_log
    assert (found and found.end) == end


def test_the_disk_of_a_voter_and_not_another_one_of_its_node() -> None:
    """Node 3 came back with a new disk, and nobody has added that."""
    records = whole([1, 2, 3], 1, FIRST)
    anew = [disk(1), disk(2), {**disk(3), "directory": "new"}]
    short = log([1, 3], (0, 9, 1), (10, 19, 1)) + log([2], (0, 9, 1))
    found = evidence(short, records, anew).committed_log
    assert found is not None
    assert found.end == 10
    lost = log([1, 3], (0, 9, 1))
    assert evidence(lost, records, [anew[0], anew[2]]).committed_log is None
    static = evidence(lost, (), [anew[0], anew[2]]).committed_log
    assert static is not None  # there a node is a voter whatever its disk


def test_an_epoch_has_all_sets_that_were_in_force_in_it() -> None:
    records = whole([1], 12, FIRST[:2]) + whole([1], 30, [key(1), key(2), key(4)])
    spans = [(0, 9, 1), (10, 19, 3), (20, 29, 4), (30, 39, 4)]
    found = evidence(log([1], *spans), records).voters
    assert [[by_id(one) for one in found.during(epoch)] for epoch in range(1, 6)] == [
        [(1, 2, 3)],
        [(1, 2, 3)],  # nothing of it is left: those with whom the next one began
        [(1, 2, 3), (1, 2)],
        [(1, 2), (1, 2, 4)],
        [(1, 2, 4)],
    ]


@pytest.mark.parametrize(
    ("offset", "voters", "verdict"),
    [
        (9, (1, 2, 3), VALID),
        (9, (1, 2, 3, 4), INVALID),
        (10, (1, 2, 3), VALID),  # elected by those who voted when its log ended there
        (11, (1, 2, 3), INVALID),
        (11, (1, 2, 3, 4), VALID),
    ],
)
def test_ballots_are_of_those_in_force(
    offset: int, voters: tuple[int, ...], verdict: Verdict
) -> None:
    records = whole([1], 1, FIRST) + whole([1], 10, [*FIRST, key(4)])
    records.append(leader_change(1, offset, 2, 1, voters))
    result = elected_by_a_majority(make_run(batches=log([1], (0, 20, 1)), records=records, nodes=4))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_a_ballot_is_judged_by_its_own_log() -> None:
    """Node 1 led epoch 2 by a set that epoch 3 truncated; it was the right one then."""
    batches = log([1], (0, 9, 1), (10, 12, 2)) + log([2, 3], (0, 9, 1), (10, 14, 3))
    records = [*whole([1], 5, [*FIRST, key(4)]), leader_change(1, 10, 2, 1, (1, 2, 3, 4))]
    records += [leader_change(node, 10, 3, 2, (1, 2, 3)) for node in (2, 3)]
    result = elected_by_a_majority(make_run(batches=batches, records=records))
    assert (result.verdict, result.looked_at) == (VALID, 3), result.message


@pytest.mark.parametrize(
    ("heard", "epoch", "verdict"),
    [
        ([2], 1, VALID),  # two of the three of before
        ([], 1, INVALID),
        ([2], 2, INVALID),  # two of four
        ([2, 4], 2, VALID),
        ([2, 5], 2, INVALID),  # who is no voter confirms nothing
    ],
)
def test_reads_are_confirmed_by_those_of_the_epoch(
    heard: Sequence[int], epoch: int, verdict: Verdict
) -> None:
    records = whole([1], 1, FIRST) + whole([1], 10, [*FIRST, key(4)])
    said = [{"id": node, "dir": f"dir-{node}", "since": 5} for node in heard]
    trace = NodeTrace(1).start().emit("c.read", epoch=epoch, ticket=1, arrived=1, heard=said)
    spans = log([1], (0, 9, 1), (10, 19, 1), (20, 29, 2))
    result = reads_are_confirmed(make_run(batches=spans, records=records, traces=[trace]))
    assert result.verdict is verdict, result.message


@pytest.mark.parametrize(
    ("having", "verdict"),
    [
        ([1, 2, 3, 4], VALID),
        ([1, 2], VALID),  # committed before the change, which nobody committed
        ([1], UNKNOWN),
    ],
)
def test_writes_before_a_change_that_is_not_committed(
    having: Sequence[int], verdict: Verdict
) -> None:
    """Node 4 is to vote from offset 10 on; only 1 and 2 have that."""
    spans = [(0, 9, 1), (10, 19, 1)]
    batches = log([1, 2], *spans) + log([3], spans[0]) + log([4], spans[0])
    records = whole([1, 2, 3, 4], 1, FIRST) + whole([1, 2], 10, [*FIRST, key(4)])
    records += [config_record(node, 5, "r-0", 1) for node in having]
    disks = [disk(1), disk(2), disk(3, problem="torn"), disk(4)]
    run = make_run(ops=[write(1, 0, 1)], batches=batches, records=records, disks=disks, nodes=4)
    assert acknowledged_writes_survive(run).verdict is verdict


@pytest.mark.parametrize(("added", "verdict"), [(None, INVALID), (1, VALID), (9_000, INVALID)])
def test_who_has_to_resign_goes_by_those_who_voted_then(
    added: int | None, verdict: Verdict
) -> None:
    """Cut off from 2 and 3, the leader still hears 4 and 5: a majority from when these vote."""
    five = [*FIRST, key(4), key(5)]
    leader = NodeTrace(1).start().state("leader", 1, 1, at=MS).append(0, 9, 1)
    if added == 1:
        leader.append(10, 10, 1)
    leader.emit("q.hwm", 8_900 * MS, hwm=9, epoch=1, role="leader")
    if added == 9_000:
        leader.emit("q.append", 9_500 * MS, base=10, last=10, epoch=1, crc=1, role="leader")
    records = whole([1], 1, FIRST) + (whole([1], 10, five) if added else [])
    links = [f"{other}->1" for other in (2, 3)]
    cut = {**fault(1, "partition", 100, 9_400), "links": links, **harm_of("partition")}
    run = make_run(
        traces=[leader],
        batches=log([1], (0, 9, 1), (10, 10, 1)),
        records=records,
        faults=[cut],
        nodes=5,
        duration_ns=20_000 * MS,
        roles={str(node): "controller" for node in (1, 2, 3)},
    )
    assert cut_off_leader_resigns(run).verdict is verdict


def test_sets_between_two_times_are_those_that_anybody_had() -> None:
    """Node 2 appends the change 50 ms after node 1: for so long it has the old set."""
    records = whole([1, 2], 10, [*FIRST, key(4)])
    spans = log([1, 2], (0, 9, 1), (10, 10, 1))
    traces = [
        NodeTrace(node)
        .start()
        .emit("q.append", at * MS, base=10, last=10, epoch=1, crc=1, role="x")
        for node, at in ((1, 100), (2, 150))
    ]
    found = evidence(spans, records, traces=traces)
    looks = [(0, 99), (99, 100), (120, 130), (150, 160), (151, 160)]
    assert [len(voters_between(found, begin * MS, end * MS)) for begin, end in looks] == [
        1,
        2,
        2,
        2,
        1,
    ]
    assert voters_between(found, 151 * MS, 160 * MS) == (found.voters.newest,)


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
