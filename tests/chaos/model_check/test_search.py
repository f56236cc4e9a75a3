"""Every order of events of a small quorum: nothing is broken, unless a bug is planted."""

import json
from contextlib import nullcontext

import pytest

from chaos.bugs.planted import planted_by
from chaos.cli import main
from chaos.labs.model_check.judged_steps import PROMISES
from chaos.labs.model_check.search import Explored, explore
from chaos.labs.model_check.setting import SmallBounds

SMALL = SmallBounds(epochs=2, changes=1, entries=3)
REPLACED = SmallBounds(listed=True, epochs=2, crashes=0, disks=1)
JOINED = SmallBounds(nodes=3, observers=1, epochs=2, changes=1, entries=3, crashes=0)


def explored(bounds: SmallBounds, mutation: str = "", *promises: str) -> Explored:
    with planted_by(mutation).planted() if mutation else nullcontext():
        return explore(bounds, promises or tuple(PROMISES))


def broken(explored: Explored) -> set[str]:
    assert explored.found is not None, f"{explored.states} states, and nothing is broken"
    return {each.promise for each in explored.found.broken}


@pytest.mark.parametrize("bounds", [SMALL, REPLACED, JOINED])
def test_the_correct_node_keeps_every_promise(bounds: SmallBounds) -> None:
    result = explored(bounds)
    assert result.found is None
    assert result.changes > 10, "too little was changed to mean anything"
    assert result.states > 100, "too little happened to mean anything"


def test_it_is_explored_in_the_same_order_each_time() -> None:
    first, second = explored(JOINED), explored(JOINED)
    assert (first.states, first.moves, first.depth) == (second.states, second.moves, second.depth)


@pytest.mark.parametrize(
    ("mutation", "promise", "bounds"),
    [
        ("V-TWO-PENDING", "V2", SMALL),
        ("V-TWO-PENDING", "V2", REPLACED),
        ("V-NO-EPOCH-COMMIT", "V3", SMALL),
        ("V-NO-EPOCH-COMMIT", "V3", REPLACED),
        ("V-NO-UNDO", "V4", SMALL),
        ("Q-HALF-MAJORITY", "V6", SmallBounds(nodes=4, crashes=0)),
    ],
)
def test_what_is_planted_breaks_the_promise_it_is_known_for(
    mutation: str, promise: str, bounds: SmallBounds
) -> None:
    two = SmallBounds(listed=bounds.listed, nodes=bounds.nodes, crashes=0, disks=bounds.disks)
    assert promise in broken(explored(two if promise == "V2" else bounds, mutation, promise))


def test_a_second_change_while_one_is_pending_loses_what_was_committed() -> None:
    """In three moves, and no shorter way."""
    result = explored(SmallBounds(crashes=0), "V-TWO-PENDING", "Q2", "Q11", "Q12")
    assert broken(result) == {"Q11"}
    assert result.found is not None
    assert [str(each.move) for each in result.found.made] == [
        "n1 writes: remove n2",
        "n1 writes: remove n3",
        "n2 becomes a candidate, and n3 votes for it",
    ]


@pytest.mark.slow
def test_a_change_before_the_epoch_is_committed_loses_what_was_committed() -> None:
    """Raft's bug of single-server changes: it takes four voters, two leaders and six moves."""
    result = explored(SmallBounds(nodes=4, crashes=0), "V-NO-EPOCH-COMMIT", "Q2", "Q11", "Q12")
    assert broken(result) == {"Q11"}
    assert result.depth == 6


def test_a_counterexample_is_told_in_steps(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--mutation", "V-TWO-PENDING", "--promise", "Q11", "--crashes", "0"]
    assert main(["model-check", *words]) == 1
    told = capsys.readouterr().out
    assert "1. n1 writes: remove n2" in told
    assert "Q11 is broken: n2 leads without" in told
    assert main(["model-check", *words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["broken"].keys() == {"Q11"}


def test_bounds_that_make_no_quorum_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model-check", "--observers", "3", "--nodes", "3"]) == 254
    assert "--observers" in capsys.readouterr().err
