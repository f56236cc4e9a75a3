"""What nodes are silent about, by hand: it is told by others, by clients and by disks."""

import json

import pytest

from checkers.check import Check
from checkers.history.sealed_run import Run
from checkers.quorum.read_confirmation import reads_are_confirmed
from checkers.quorum.untraced import (
    claims_are_traced,
    fetches_are_traced,
    granted_votes_are_traced,
    stored_snapshots_are_traced,
    voters_are_traced,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    MS,
    NodeTrace,
    batch,
    disk,
    fault,
    leader_change,
    make_run,
    read,
    write,
)
from tests.support.judged import saw_nothing

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def voter(epoch: int = 3, candidate: int = 1, *, granted: bool = True) -> NodeTrace:
    return (
        NodeTrace(2)
        .start()
        .emit(
            "q.vote",
            candidate=candidate,
            candidate_dir=f"dir-{candidate}",
            epoch=epoch,
            granted=granted,
            log_end=0,
            log_epoch=0,
        )
    )


def elected(*traces: NodeTrace) -> CheckResult:
    records = [leader_change(1, 0, 3, 1, [1, 2])]
    return granted_votes_are_traced(make_run(traces=traces, records=records))


def test_votes_that_a_leader_names() -> None:
    stands = NodeTrace(1).start().state("candidate", 3, voted=1)
    assert elected(stands, voter()).verdict is VALID
    assert "did not trace such a vote" in elected(stands, voter(granted=False)).message
    assert "did not trace such a vote" in elected(stands, voter(epoch=2)).message
    assert "did not trace such a vote" in elected(stands, voter(candidate=3)).message
    assert "that it stood for election" in elected(NodeTrace(1).start(), voter()).message


def test_a_trace_with_gaps_accuses_nobody() -> None:
    gap = voter(granted=False)
    gap.seq += 1
    gap.state("follower", 4)
    assert elected(NodeTrace(1).start().state("candidate", 3), gap).verdict is UNKNOWN


def told(trace: NodeTrace, offset: int = 0, epoch: int = 0, *nodes: int) -> NodeTrace:
    voters = [{"id": node, "dir": f"dir-{node}"} for node in nodes or (1, 2, 3)]
    return trace.emit("q.voters", offset=offset, epoch=epoch, voters=voters)


def changed(trace: NodeTrace) -> Run:
    """The record at 5 removes node 3."""
    voters = [{"voterId": node, "voterDirectoryId": f"dir-{node}"} for node in (1, 2)]
    record = leader_change(1, 5, 1, 1) | {"type": "KRaftVoters", "leader": None}
    record |= {"detail": json.dumps({"voters": voters})}
    return make_run(traces=[trace], disks=[disk(1)], batches=[batch(1, 0, 5, 1)], records=[record])


def test_a_process_tells_who_votes() -> None:
    silent = NodeTrace(1).start().state("follower", 1)
    assert "had traced no voters" in voters_are_traced(make_run(traces=[silent])).message
    late = told(NodeTrace(1).start().state("follower", 1))
    assert voters_are_traced(make_run(traces=[late])).verdict is INVALID
    good = told(NodeTrace(1).start()).state("follower", 1)
    assert voters_are_traced(make_run(traces=[good])).verdict is VALID
    assert saw_nothing(voters_are_traced(make_run(traces=[NodeTrace(1).start()])))


def test_a_process_tells_of_each_change_of_the_voters() -> None:
    def appended() -> NodeTrace:
        trace = told(NodeTrace(1).start()).state("follower", 1)
        return trace.emit("q.append", base=0, last=5, epoch=1, crc=1000, role="follower")

    assert "the record of voters at 5" in voters_are_traced(changed(appended())).message
    assert voters_are_traced(changed(told(appended(), 5, 1, 1, 2))).verdict is VALID
    other = told(NodeTrace(1).start()).state("follower", 1)  # which it cut off since
    other.emit("q.append", base=0, last=5, epoch=0, crc=7, role="follower")
    assert voters_are_traced(changed(other)).verdict is VALID
    found = told(NodeTrace(1).start(6), 5, 1, 1, 2).state("follower", 1)  # on its disk
    assert voters_are_traced(changed(found)).verdict is VALID


def test_the_voters_that_a_snapshot_names_are_no_record_of_the_log() -> None:
    """One append wrote the removal at 42 and a batch up to 59, where a snapshot ends later.

    The log's head is hidden, so the disk tells all voters from the snapshot on only.
    """
    trace = told(NodeTrace(1).start(), 20, 1, 1, 2, 3, 4).state("follower", 1)
    for base, last in ((42, 42), (43, 59)):
        trace.emit("q.append", base=base, last=last, epoch=1, crc=1000 + base, role="follower")
    told(trace, 42, 1)
    removed = leader_change(1, 42, 1, 1) | {"type": "RemoveVoter", "leader": None}
    removed["detail"] = json.dumps({"voterId": 4, "voterDirectoryId": "dir-4"})
    voters = {
        "voters": [{"voterId": node, "voterDirectoryId": f"dir-{node}"} for node in (1, 2, 3)]
    }
    head = leader_change(1, 59, 1, 1) | {"type": "SnapshotHeader", "leader": None, "detail": "{}"}
    whole = head | {"type": "KRaftVoters", "detail": json.dumps(voters)}
    batches = [batch(1, base, last, 1) for base, last in ((40, 41), (42, 42), (43, 59))]
    run = make_run(traces=[trace], disks=[disk(1)], batches=batches, records=[removed, head, whole])
    assert voters_are_traced(run).verdict is VALID


def stored(trace: NodeTrace) -> CheckResult:
    run = make_run(traces=[trace])
    row = {"node": 1, "directory": "dir-1", "end": 40, "epoch": 2, "type": "SnapshotHeader"}
    table = run.tables["snapshot_records"]
    rows = type(table).from_pylist([row, {**row, "end": 0}], schema=table.schema)
    return stored_snapshots_are_traced(
        Run(directory=run.directory, info=run.info, tables={**run.tables, "snapshot_records": rows})
    )


def test_snapshots_that_nobody_tells_of() -> None:
    taken = NodeTrace(1).start().emit("q.snapshot", what="created", end=40, epoch=2, start=0)
    assert (stored(taken).verdict, stored(taken).looked_at) == (VALID, 1)
    other = NodeTrace(1).start().emit("q.snapshot", what="created", end=30, epoch=2, start=0)
    assert "ends at 40" in stored(other).message


def test_fetches_that_nobody_tells_of() -> None:
    follower = NodeTrace(2).start(4).state("follower", 3, leader=1)
    follower.emit("q.append", base=4, last=5, epoch=3, crc=1, role="follower")
    follower.emit("q.append", base=6, last=6, epoch=3, crc=1, role="follower")

    def asked(offset: int, epoch: int) -> Verdict:
        leader = NodeTrace(1).start().state("leader", 3, leader=1)
        fields = {"replica": 2, "replica_dir": "dir-2", "last_epoch": 1, "outcome": "valid"}
        leader.emit("q.fetch", offset=offset, epoch=epoch, **fields)
        return fetches_are_traced(make_run(traces=[leader, follower])).verdict

    assert asked(4, 3) is VALID
    assert asked(6, 3) is INVALID
    assert asked(4, 2) is INVALID
    assert saw_nothing(fetches_are_traced(make_run(traces=[NodeTrace(1).start()])))


def active(*, resigns: bool = True) -> NodeTrace:
    """From 10 ms to 20 ms."""
    trace = NodeTrace(1).start().state("leader", 3, leader=1)
    trace.emit("c.active", 10 * MS, epoch=3, offset=9)
    trace.state("resigned", 3, at=20 * MS)
    if resigns:
        trace.emit("c.resign", 20 * MS, epoch=3)
    return trace.state("follower", 4, at=21 * MS)


@pytest.mark.parametrize(
    ("t0", "t1", "verdict"), [(5, 11, VALID), (19, 30, VALID), (5, 9, INVALID), (21, 30, INVALID)]
)
def test_who_serves_is_active(t0: int, t1: int, verdict: Verdict) -> None:
    run = make_run(traces=[active()], ops=[write(1, t0, t1)])
    assert claims_are_traced(run).verdict is verdict
    refused = make_run(traces=[active()], ops=[write(1, t0, t1, outcome="fail")])
    assert claims_are_traced(refused).verdict is UNKNOWN  # nothing succeeded
    wrong = fault(0, "clock-jump", 0, 90)
    shifted = make_run(traces=[active()], ops=[write(1, t0, t1)], faults=[wrong])
    assert saw_nothing(claims_are_traced(shifted))


def test_who_leads_no_more_resigned() -> None:
    run = make_run(traces=[active(resigns=False)], ops=[write(1, 12, 13)])
    assert "did not trace that it resigned" in claims_are_traced(run).message


@pytest.mark.parametrize(("t0", "verdict"), [(5, VALID), (11, INVALID)])
def test_a_read_belongs_to_a_round(t0: int, verdict: Verdict) -> None:
    leader = NodeTrace(1).start().emit("c.read", 10 * MS, epoch=1, ticket=1, arrived=1, heard=[])
    run = make_run(traces=[leader], ops=[read(None, t0, 15)], nodes=1)
    assert reads_are_confirmed(run).verdict is verdict


@pytest.mark.parametrize("check", [granted_votes_are_traced, claims_are_traced, fetches_are_traced])
def test_what_traces_nothing_is_not_asked(check: Check) -> None:
    assert not check.applies(make_run(target="kafka 4.3.1").info)
