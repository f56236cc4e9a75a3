"""Q4: what a LeaderChange says of its own election, whichever target wrote it."""

import json
from collections.abc import Sequence

import pytest

from checkers.quorum.elections import elected_by_a_majority
from checkers.verdict import Verdict
from tests.support.histories import leader_change, make_run
from tests.support.voter_logs import FIRST, Keys, control, evidence, key, log, told, whole

VALID, INVALID = Verdict.VALID, Verdict.INVALID
NEW, OTHER = (3, "dir-new"), (3, "dir-other")


def ballot(leader: int, voters: Sequence[int], granting: Sequence[int]) -> dict[str, object]:
    told = {"voters": voters, "grantingVoters": granting}
    detail = {name: [{"voterId": node} for node in nodes] for name, nodes in told.items()}
    return {**leader_change(1, 0, 1, leader), "detail": json.dumps(detail)}


@pytest.mark.parametrize(
    ("leader", "voters", "granting", "verdict"),
    [
        (1, (1, 2, 3), (1, 2), VALID),
        (1, (1, 2, 3), (2, 3), VALID),  # it need not name itself
        (1, (1,), (1,), INVALID),  # there are others
        (1, (1, 2, 3), (1,), INVALID),
        (1, (1, 2), (1,), INVALID),  # half of them
        (1, (1, 2, 3), (1, 1), INVALID),
        (1, (1, 2, 3), (1, 4), INVALID),
        (2, (1, 3), (1, 3), INVALID),
        (1, (1, 2, 4), (1, 2), INVALID),  # 4 is no controller
    ],
)
def test_ballots(
    leader: int, voters: Sequence[int], granting: Sequence[int], verdict: Verdict
) -> None:
    result = elected_by_a_majority(make_run(records=[ballot(leader, voters, granting)]))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_a_quorum_of_one() -> None:
    result = elected_by_a_majority(make_run(records=[ballot(1, (1,), (1,))], nodes=1))
    assert result.verdict is VALID, result.message


@pytest.mark.parametrize(
    ("voters", "granting", "verdict"),
    [
        ([*FIRST, NEW], [key(1), NEW, key(3)], VALID),
        ([*FIRST, NEW], [key(1), key(3)], INVALID),  # half of four disks
        ([*FIRST, NEW], [key(1), NEW, NEW], INVALID),
        ([*FIRST, NEW], [key(1), key(2), OTHER], INVALID),  # that disk has no vote
        (FIRST, FIRST, INVALID),  # node 3 votes by both of its disks
    ],
)
def test_ballots_by_disks(voters: Keys, granting: Keys, verdict: Verdict) -> None:
    """Version 1, in a quorum in which one node votes by two disks (KIP-856)."""
    detail = {"voters": list(map(told, voters)), "grantingVoters": list(map(told, granting))}
    added = [one for each in [*FIRST, NEW] for one in control([1], 1, "AddVoter", told(each))]
    records = [*added, *control([1], 8, "LeaderChange", detail, epoch=2)]
    elected = [{**row, "leader": 1} if row["offset"] == 8 else row for row in records]
    result = elected_by_a_majority(evidence(log([1], (0, 7, 1), (8, 8, 2)), elected, nodes=3))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


@pytest.mark.parametrize(
    ("leader", "granting", "verdict"),
    [
        (3, FIRST[:2], VALID),
        (3, [key(1), key(3)], INVALID),  # its own vote counts no more
        (4, FIRST[:2], INVALID),  # it never voted
    ],
)
def test_a_leader_whose_removal_was_not_committed(
    leader: int, granting: Keys, verdict: Verdict
) -> None:
    """Raft thesis 4.2.2: it does not count itself."""
    detail = {
        "voters": list(map(told, FIRST[:2])),
        "grantingVoters": list(map(told, granting)),
    }
    records = [
        *whole([1], 1, FIRST),
        *whole([1], 4, FIRST[:2]),
        *control([1], 8, "LeaderChange", detail, epoch=2),
    ]
    elected = [{**row, "leader": leader} if row["offset"] == 8 else row for row in records]
    result = elected_by_a_majority(evidence(log([1], (0, 7, 1), (8, 8, 2)), elected, nodes=3))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_without_a_ballot_nothing_is_known() -> None:
    assert elected_by_a_majority(make_run()).verdict is Verdict.UNKNOWN


def test_ballots_may_all_be_below_snapshots() -> None:
    head = {**leader_change(1, 8, 1, leader=1), "type": "SnapshotHeader"}
    result = elected_by_a_majority(make_run(records=[head]))
    assert (result.verdict, result.looked_at) == (VALID, 0)
    assert result.message == "nothing to judge: the records are below snapshots"
