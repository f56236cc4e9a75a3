"""A change of voters amid an epoch: who is judged by which set."""

from collections.abc import Mapping, Sequence

import pytest

from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.quorum.elections import elected_by_a_majority
from checkers.quorum.leadership import cut_off_leader_resigns, voters_between
from checkers.quorum.read_confirmation import reads_are_confirmed
from checkers.registers.survival import acknowledged_writes_survive
from checkers.verdict import Verdict
from tests.support.harm import harm_of
from tests.support.histories import (
    MS,
    NodeTrace,
    config_record,
    disk,
    fault,
    leader_change,
    make_run,
    write,
)
from tests.support.voter_logs import FIRST, by_id, control, evidence, key, log, whole

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


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


def test_of_sets_that_a_snapshot_hides_those_count_that_somebody_told_of() -> None:
    """Node 3 was none between 100 and 200 ms: of that, no log has anything any more."""
    two = FIRST[:2]
    trace = NodeTrace(1).start()
    for ms, keys in ((50, FIRST), (100, two), (200, FIRST)):
        rows = [{"id": node, "dir": directory} for node, directory in keys]
        trace.emit("q.voters", ms * MS, offset=ms, epoch=1, voters=rows)
    trace.emit("q.append", 300 * MS, base=299, last=300, epoch=1, crc=1, role="x")
    head = control([1], 299, "SnapshotHeader", {}) + whole([1], 299, FIRST)
    found = evidence(log([1], (300, 310, 1)), head, traces=[trace], nodes=3)
    removed = VoterSet(frozenset(ReplicaKey(*one) for one in two))
    assert found.voters.known == 299
    assert removed in voters_between(found, 120 * MS, 130 * MS)
    assert removed not in voters_between(found, 210 * MS, 220 * MS)
