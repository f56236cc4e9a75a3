"""V1 to V7, V9, V10 and Q19 of voters that change; each way of being wrong by hand."""

import pytest

from checkers.check import Check
from checkers.history.tables import NO_DIRECTORY
from checkers.quorum import voter_sets, voters_followed
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, disk, make_run, op, wiped
from tests.support.voter_logs import FIRST, control, evidence, key, log, told, whole

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
CHECKS = [
    voters_followed.one_change_uncommitted,
    voters_followed.epoch_committed_before_change,
    voters_followed.voters_of_the_log,
    voters_followed.committed_by_voters,
    voters_followed.removed_leader_resigns,
    voters_followed.added_when_caught_up,
    voters_followed.voters_stand_for_election,
]
NEW = "dir-of-another-disk"


def judged(check: Check, *traces: NodeTrace) -> CheckResult:
    return check(make_run(traces=traces))


def votes(
    trace: NodeTrace, offset: int, *nodes: int | tuple[int, str], epoch: int = 1
) -> NodeTrace:
    """By a node's number its first disk is meant."""
    keys = [each if isinstance(each, tuple) else key(each) for each in nodes]
    told = [{"id": node, "dir": directory} for node, directory in keys]
    return trace.emit("q.voters", offset=offset, epoch=epoch, voters=told)


def fetched(trace: NodeTrace, replica: int | tuple[int, str], offset: int) -> NodeTrace:
    node, directory = replica if isinstance(replica, tuple) else key(replica)
    return trace.emit(
        "q.fetch",
        replica=node,
        replica_dir=directory,
        offset=offset,
        last_epoch=1,
        epoch=1,
        outcome="valid",
    )


def leader(node: int = 1) -> NodeTrace:
    """It has begun epoch 1 with the batch at 0 and 1, and committed it."""
    trace = votes(NodeTrace(node).start(), 0, 1, 2, 3, epoch=0).state("candidate", 1)
    votes(trace.state("leader", 1, leader=node).append(0, 1, 1), 1, 1, 2, 3)
    return fetched(trace, 2, 2).hwm(2, 1)


def removed(trace: NodeTrace, offset: int, *left: int | tuple[int, str]) -> NodeTrace:
    return votes(trace.append(offset, offset, 1), offset, *left)


@pytest.mark.parametrize("check", CHECKS)
def test_a_disk_is_replaced(check: Check) -> None:
    """The old replica goes and the new one comes, each change committed before the next."""
    trace = removed(leader(), 2, 1, 2)
    fetched(fetched(trace, (3, NEW), 3), 2, 3).hwm(3, 1)
    removed(trace, 3, 1, 2, (3, NEW))
    fetched(trace, (3, NEW), 4).hwm(4, 1)
    follower = votes(NodeTrace(3, NEW).start(), 0, epoch=0).state("follower", 1, leader=1)
    votes(votes(follower.append(0, 1, 1, "follower"), 1, 1, 2, 3), 3, 1, 2, (3, NEW))
    follower.state("prospective", 1)
    assert judged(check, trace, follower).verdict is VALID


def first_of_listed(*nodes: int) -> NodeTrace:
    """A leader of nodes that it knew by id, but for itself; it names these disks, before anything
    could be committed."""
    by_id = [key(1), *((node, NO_DIRECTORY) for node in (2, 3))]
    trace = votes(NodeTrace(1).start(), 0, *by_id, epoch=0).state("candidate", 1)
    trace.state("leader", 1, leader=1).append(0, 0, 1)
    for node in (2, 3):
        fetched(trace, node, 1)
    return votes(trace.append(1, 3, 1), 3, *nodes)


@pytest.mark.parametrize("check", CHECKS)
def test_the_first_leader_of_listed_nodes_names_their_disks(check: Check) -> None:
    trace = fetched(first_of_listed(1, 2, 3), 2, 4).hwm(4, 1)
    assert judged(check, trace).verdict is VALID


@pytest.mark.parametrize("nodes", [(1, 2), (1, 2, 3, 4), (1, 2, 4)])
def test_the_first_leader_of_listed_nodes_names_no_others(nodes: tuple[int, ...]) -> None:
    result = judged(voters_followed.epoch_committed_before_change, first_of_listed(*nodes))
    assert result.verdict is INVALID


@pytest.mark.parametrize("check", CHECKS)
def test_where_nothing_changes_there_is_nothing_to_hold(check: Check) -> None:
    result = judged(check, leader())
    assert (result.verdict, result.looked_at) == (VALID, 0)


@pytest.mark.parametrize("check", CHECKS)
def test_a_trace_with_a_gap_is_not_followed(check: Check) -> None:
    trace = removed(leader(), 2, 1, 2)
    del trace.lines[-2]
    assert judged(check, trace).verdict is UNKNOWN


def test_a_change_before_the_last_one_is_committed() -> None:
    trace = removed(removed(leader(), 2, 1, 2), 3, 1)
    result = judged(voters_followed.one_change_uncommitted, trace)
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 changed the voters at 3 in epoch 1, but the change at 2 was not committed"
    )
    assert judged(voters_followed.epoch_committed_before_change, trace).verdict is VALID


def test_a_change_before_anything_of_the_epoch_is_committed() -> None:
    trace = votes(NodeTrace(1).start(), 0, 1, 2, 3, epoch=0).state("leader", 1, leader=1)
    removed(trace.append(0, 0, 1), 1, 1, 2)
    result = judged(voters_followed.epoch_committed_before_change, trace)
    assert result.verdict is INVALID
    assert "but nothing of that epoch was committed" in result.message


def test_a_change_that_outlives_its_record() -> None:
    trace = removed(leader(), 2, 1, 2).state("follower", 2, leader=2)
    trace.emit("q.truncate", end=2, hwm=2, role="follower").append(2, 2, 2, "follower")
    result = judged(voters_followed.voters_of_the_log, trace)
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 truncated the record at 2 by which node 1, node 2 vote, but goes on by it"
    )


def test_a_change_that_is_undone_with_its_record() -> None:
    trace = removed(leader(), 2, 1, 2).state("follower", 2, leader=2)
    votes(trace.emit("q.truncate", end=2, hwm=2, role="follower"), 1, 1, 2, 3)
    trace.append(2, 2, 2, "follower")
    assert judged(voters_followed.voters_of_the_log, trace).verdict is VALID


def test_a_new_disk_that_is_counted_as_the_lost_one() -> None:
    trace = fetched(leader().append(2, 2, 1), (3, NEW), 3).hwm(3, 1)
    disks = NodeTrace(3).start(), NodeTrace(3, NEW).start()
    result = judged(voters_followed.committed_by_voters, trace, *disks)
    assert result.verdict is INVALID
    assert result.message.startswith("node 1 committed all below 3 in epoch 1, but of ")


def test_a_leader_that_counts_itself_though_it_votes_no_more() -> None:
    trace = fetched(removed(leader(), 2, 2, 3), 2, 3).hwm(3, 1)
    assert judged(voters_followed.committed_by_voters, trace).verdict is INVALID


def test_a_removed_leader_that_leads_on() -> None:
    trace = fetched(fetched(removed(leader(), 2, 2, 3), 2, 3), 3, 3).hwm(3, 1)
    assert judged(voters_followed.removed_leader_resigns, trace).verdict is VALID
    fetched(fetched(trace.append(3, 3, 1), 2, 4), 3, 4).hwm(4, 1)
    result = judged(voters_followed.removed_leader_resigns, trace)
    assert result.verdict is INVALID
    assert result.message == "node 1 leads on in epoch 1, but its removal was committed"


def test_a_removed_leader_that_writes_another_change() -> None:
    """Its removal is not the newest set, and was committed."""
    trace = removed(removed(leader(), 2, 2, 3), 3, 3)
    fetched(fetched(trace, 2, 3), 3, 3).hwm(3, 1)
    assert judged(voters_followed.removed_leader_resigns, trace).verdict is VALID
    fetched(trace, 3, 4).hwm(4, 1)
    result = judged(voters_followed.removed_leader_resigns, trace)
    assert result.verdict is INVALID


def test_a_voter_that_was_removed_in_an_earlier_epoch_and_is_back_leads() -> None:
    trace = removed(removed(leader(2), 2, 2, 3), 3, 1, 2, 3)
    fetched(trace, 3, 4).hwm(4, 1).state("follower", 1, leader=2)
    again = votes(votes(NodeTrace(1).start(), 2, 2, 3, epoch=0), 3, 1, 2, 3, epoch=0)
    again.state("candidate", 2).state("leader", 2, leader=1).append(4, 4, 2)
    again.emit("q.fetch", replica=3, replica_dir=key(3)[1], offset=5, epoch=2, outcome="valid")
    again.hwm(5, 2)
    result = judged(voters_followed.removed_leader_resigns, trace, again)
    assert result.verdict is VALID


@pytest.mark.parametrize("end", [None, 2])
def test_a_voter_that_is_added_while_it_lacks_something(end: int | None) -> None:
    trace = fetched(removed(leader(), 2, 1, 2), 2, 3).hwm(3, 1)
    if end is not None:
        fetched(trace, (3, NEW), end)
    removed(trace, 3, 1, 2, (3, NEW))
    result = judged(voters_followed.added_when_caught_up, trace)
    assert result.verdict is INVALID
    assert "added node 3; its log ended at" in result.message


def test_an_observer_that_stands_for_election() -> None:
    follower = votes(NodeTrace(3, NEW).start(), 1, 1, 2, 3).state("candidate", 2)
    result = judged(voters_followed.voters_stand_for_election, follower, NodeTrace(3).start())
    assert result.verdict is INVALID
    assert "its disk is no voter's" in result.message


@pytest.mark.parametrize(
    ("hwm", "verdict"),
    [
        (0, VALID),
        (2, VALID),  # what lies below is committed, and not the record there
        (3, INVALID),
    ],
)
def test_a_removed_voter_that_stands_for_election(hwm: int, verdict: Verdict) -> None:
    """It may, while its removal is not committed as far as it knows."""
    follower = votes(votes(NodeTrace(3).start(), 1, 1, 2, 3), 2, 1, 2)
    if hwm:
        follower.hwm(hwm, 1, "follower")
    follower.state("prospective", 1)
    result = judged(voters_followed.voters_stand_for_election, follower)
    assert result.verdict is verdict, result.message


def test_a_new_disk_of_a_removed_voter_that_stands_for_election() -> None:
    follower = votes(votes(NodeTrace(3, NEW).start(), 1, 1, 2, 3), 2, 1, 2)
    result = judged(voters_followed.voters_stand_for_election, follower.state("prospective", 1))
    assert result.verdict is INVALID


# --- on disks ---

BATCHES = log((1, 2, 3), (0, 1, 1), (2, 9, 1))


def test_sets_that_change_by_one() -> None:
    records = [*whole((1, 2, 3), 1, FIRST), *whole((1, 2, 3), 4, FIRST[:2])]
    result = voter_sets.one_voter_at_a_time(evidence(BATCHES, records))
    assert (result.verdict, result.looked_at) == (VALID, 6)


def test_sets_that_change_by_two() -> None:
    records = [*whole((1, 2, 3), 1, FIRST), *whole((1, 2, 3), 4, [key(1), key(2), (3, NEW)])]
    result = voter_sets.one_voter_at_a_time(evidence(BATCHES, records))
    assert result.verdict is INVALID
    assert result.message == (
        f"the log of node 1 has at 4 removed 3:dir-3 and added 3:{NEW} at once"
    )


def test_disks_that_are_learnt_one_after_the_other() -> None:
    records = [row for voter in FIRST for row in control((1, 2, 3), 1, "AddVoter", told(voter))]
    assert voter_sets.one_voter_at_a_time(evidence(BATCHES, records)).verdict is VALID


ADDED = op("add-voter", None, 0, 1, key=f"3:{NEW}")


def acknowledged(*ops: dict[str, object], end: int = 9) -> CheckResult:
    records = [
        *whole((1, 2, 3), 1, FIRST[:2]),
        *whole((1, 2, 3), 4, [*FIRST[:2], (3, NEW)]),
    ]
    batches = log((1, 2, 3), (0, 1, 1), (2, end, 1))
    return voter_sets.acknowledged_changes_stay(evidence(batches, records, ops=ops))


def test_what_was_acknowledged_is_in_the_log_as_often() -> None:
    assert acknowledged(ADDED).verdict is VALID
    assert acknowledged({**ADDED, "outcome": "info"}, {**ADDED, "outcome": "fail"}).looked_at == 0
    twice = acknowledged(ADDED, {**ADDED, "op_id": 2, "invoke_index": 2, "complete_index": 3})
    assert twice.verdict is INVALID


@pytest.mark.parametrize("f", ["add-voter", "remove-voter"])
def test_an_acknowledged_change_that_is_not_in_the_log(f: str) -> None:
    result = acknowledged({**ADDED, "f": f, "key": "2:dir-2"})
    assert result.verdict is INVALID
    assert result.message == f"{f} of 2:dir-2 was acknowledged, but is not in the committed log"


def test_an_acknowledged_change_that_no_majority_holds() -> None:
    records = [*whole((1, 2, 3), 1, FIRST[:2]), *whole((3,), 4, [*FIRST[:2], (3, NEW)])]
    batches = [*log((1, 2, 3), (0, 1, 1)), *log((3,), (2, 9, 1))]
    result = voter_sets.acknowledged_changes_stay(evidence(batches, records, ops=[ADDED]))
    assert result.verdict is INVALID


BELOW = 50  # where the log of the three begins, behind a snapshot


def below_a_snapshot(in_it: list[tuple[int, str]], *ops: dict[str, object]) -> CheckResult:
    everywhere = (1, 2, 3)
    head = control(everywhere, BELOW - 1, "SnapshotHeader", {}, 1)
    records = head + whole(everywhere, BELOW - 1, in_it, 1)
    batches = log(everywhere, (BELOW, BELOW + 9, 1))
    numbered = [
        {**each, "op_id": n, "invoke_index": 2 * n, "complete_index": 2 * n + 1}
        for n, each in enumerate(ops)
    ]
    return voter_sets.acknowledged_changes_stay(evidence(batches, records, ops=numbered))


@pytest.mark.parametrize(
    ("in_it", "ops", "verdict"),
    [
        ([*FIRST[:2], (3, NEW)], [ADDED], VALID),
        (FIRST, [ADDED], INVALID),
        (FIRST, [ADDED, {**ADDED, "f": "remove-voter"}], VALID),
        (FIRST, [ADDED, {**ADDED, "f": "remove-voter", "outcome": "info"}], VALID),
        ([*FIRST[:2], (3, NEW)], [{**ADDED, "f": "remove-voter"}], INVALID),
        ([*FIRST[:2], (3, NEW)], [{**ADDED, "f": "remove-voter", "key": "3:dir-3"}], VALID),
        (FIRST, [{**ADDED, "f": "remove-voter", "key": "3:dir-3"}], INVALID),
    ],
)
def test_what_a_snapshot_hides_is_judged_by_the_voters_in_it(
    in_it: list[tuple[int, str]], ops: list[dict[str, object]], verdict: Verdict
) -> None:
    assert below_a_snapshot(in_it, *ops).verdict is verdict


def test_without_disks_nobody_can_tell() -> None:
    result = voter_sets.acknowledged_changes_stay(make_run(ops=[ADDED]))
    assert result.verdict is UNKNOWN


def changed(*ops: dict[str, object]) -> CheckResult:
    """By the committed log, node 3 becomes a voter, with a new disk."""
    records = [
        *whole((1, 2, 3), 1, FIRST[:2]),
        *whole((1, 2, 3), 4, [*FIRST[:2], (3, NEW)]),
    ]
    found = evidence(log((1, 2, 3), (0, 1, 1), (2, 9, 1)), records, ops=ops)
    return voter_sets.voters_as_asked_for(found)


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_a_change_that_somebody_asked_for(outcome: str) -> None:
    result = changed({**ADDED, "outcome": outcome})
    assert (result.verdict, result.looked_at) == (VALID, 1)


@pytest.mark.parametrize(
    "asked", [{"outcome": "fail"}, {"key": "3:dir-3"}, {"f": "remove-voter"}, {"f": "write"}]
)
def test_a_change_that_nobody_asked_for(asked: dict[str, object]) -> None:
    result = changed({**ADDED, **asked})
    assert result.verdict is INVALID
    assert result.message == (
        f"the committed log has 1 add-voter of 3:{NEW}, but operators asked for 0"
    )


AUTO_JOIN = {"controller.quorum.auto.join.enable": "true"}


def joined(*after: tuple[int, str], settings: dict[str, str] = AUTO_JOIN) -> CheckResult:
    """Node 3 lost its first disk and has a new one; these are the voters then, one by one."""
    everywhere = (1, 2, 3)
    sets = [FIRST, *([*FIRST[:2], *after[:count]] for count in range(len(after) + 1))]
    records = [row for n, keys in enumerate(sets) for row in whole(everywhere, n + 1, keys)]
    disks = [disk(1), disk(2), disk(3, directory=NEW)]
    found = evidence(
        log(everywhere, (0, 9, 1)), records, disks, faults=[wiped(0, 3, 1, 2)], settings=settings
    )
    return voter_sets.voters_as_asked_for(found)


def test_a_controller_that_joins_by_itself_asks_for_its_own_disks() -> None:
    """Its lost disk goes, and its new one comes (KIP-853)."""
    result = joined((3, NEW))
    assert (result.verdict, result.looked_at) == (VALID, 2)


@pytest.mark.parametrize("stranger", [(4, NEW), (3, "dir-of-nobody"), key(4)])
def test_a_controller_that_joins_by_itself_asks_for_no_others(stranger: tuple[int, str]) -> None:
    assert joined((3, NEW), stranger).verdict is INVALID


def test_nobody_joins_by_itself_unless_it_is_configured_to() -> None:
    assert joined((3, NEW), settings={}).verdict is INVALID


def test_a_controller_does_not_remove_a_voter_that_has_its_disk() -> None:
    """What it may have removed is a lost disk's entry."""
    everywhere = (1, 2, 3)
    records = [*whole(everywhere, 1, FIRST), *whole(everywhere, 2, FIRST[:2])]
    found = evidence(log(everywhere, (0, 9, 1)), records, settings=AUTO_JOIN)
    result = voter_sets.voters_as_asked_for(found)
    assert result.message == (
        "the committed log has 1 remove-voter of 3:dir-3, but operators asked for 0"
    )


def test_a_directory_id_of_two_nodes() -> None:
    one, other = NodeTrace(1, "same").start(), NodeTrace(2, "same").start()
    result = judged(voter_sets.one_node_a_directory, one, other)
    assert result.message == "node 1 and node 2 both have the directory id same"
    assert judged(voter_sets.one_node_a_directory, one, NodeTrace(1, "b").start()).verdict is VALID
