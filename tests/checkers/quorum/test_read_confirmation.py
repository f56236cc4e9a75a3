"""Reads are answered when a majority has confirmed the leader behind them, by hand."""

import pytest

from checkers.quorum.read_confirmation import reads_are_confirmed
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, make_run
from tests.support.judged import saw_nothing


def answered(*since: int, arrived: int = 100) -> NodeTrace:
    heard = [{"id": node, "dir": f"dir-{node}", "since": at} for node, at in enumerate(since, 2)]
    return NodeTrace(1).start().emit("c.read", epoch=1, ticket=1, arrived=arrived, heard=heard)


@pytest.mark.parametrize(
    ("since", "nodes", "verdict"),
    [
        ((100, 0), 3, Verdict.VALID),
        ((99, 99), 3, Verdict.INVALID),
        ((), 3, Verdict.INVALID),
        ((), 1, Verdict.VALID),
        ((150,), 5, Verdict.INVALID),
        ((150, 99, 150), 5, Verdict.VALID),
        ((150,), 4, Verdict.INVALID),  # half of them
    ],
)
def test_confirmations(since: tuple[int, ...], nodes: int, verdict: Verdict) -> None:
    result = reads_are_confirmed(make_run(traces=[answered(*since)], nodes=nodes))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_only_voters_confirm() -> None:
    roles = {"1": "controller", "2": "broker", "3": "controller", "4": "controller"}
    run = make_run(traces=[answered(150)], nodes=4, roles=roles)
    assert reads_are_confirmed(run).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("epoch", "verdict"), [(1, Verdict.VALID), (0, Verdict.INVALID)], ids=["its own", "before"]
)
def test_a_majority_of_a_set_that_its_leader_appended_confirms_though_it_was_cut_off(
    epoch: int, verdict: Verdict
) -> None:
    """Of six voters four are a majority, of the five that are left three."""
    left = [{"id": node, "dir": f"dir-{node}"} for node in (1, 2, 3, 4, 5)]
    leader = NodeTrace(1).start().emit("q.voters", epoch=epoch, offset=7, voters=left)
    heard = [{"id": node, "dir": f"dir-{node}", "since": 100} for node in (2, 3)]
    leader.emit("c.read", epoch=1, ticket=1, arrived=100, heard=heard)
    result = reads_are_confirmed(make_run(traces=[leader], nodes=6))
    assert result.verdict is verdict, result.message


def test_without_reads_there_is_nothing_to_judge() -> None:
    assert saw_nothing(reads_are_confirmed(make_run(traces=[NodeTrace(1).start()])))
