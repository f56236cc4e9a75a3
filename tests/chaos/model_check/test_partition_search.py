"""Every order of ISR, ELR and high watermark of a small partition: nothing is broken, unless a bug
is planted."""

import json
from contextlib import nullcontext

import pytest

from chaos.bugs.planted import planted_by
from chaos.cli import main
from chaos.labs.model_check.partition.moves import PartitionBounds
from chaos.labs.model_check.partition.search import PROMISES, ExploredPartition, explore
from node.config import RecoveryStrategy

ALTERED = PartitionBounds(records=1, alters=1, fences=0, ends=0, depth=6)
FENCED = PartitionBounds(records=1, alters=0, fences=2, ends=0, depth=5)
ENDED = PartitionBounds(records=1, alters=0, fences=0, ends=2, depth=4)
LOST = PartitionBounds(records=0, alters=0, fences=0, ends=3, depth=5)


def explored(
    bounds: PartitionBounds,
    mutation: str = "",
    *promises: str,
    strategy: RecoveryStrategy | None = None,
) -> ExploredPartition:
    with planted_by(mutation).planted() if mutation else nullcontext():
        return explore(bounds, strategy, promises or tuple(PROMISES))


def broken(explored: ExploredPartition) -> set[str]:
    assert explored.found is not None, f"{explored.states} states, and nothing is broken"
    return {each.promise for each in explored.found.broken}


@pytest.mark.parametrize(
    ("bounds", "strategy"),
    [
        (ALTERED, None),
        (FENCED, None),
        (ENDED, None),
        (LOST, RecoveryStrategy.BALANCED),
        (LOST, RecoveryStrategy.AGGRESSIVE),
    ],
)
def test_the_correct_node_keeps_every_promise(
    bounds: PartitionBounds, strategy: RecoveryStrategy | None
) -> None:
    result = explored(bounds, strategy=strategy)
    assert result.found is None
    assert result.states > 300, "too little happened to mean anything"
    if bounds is not ALTERED:
        assert result.elections > 10, "no leader was elected"


@pytest.mark.slow
def test_all_is_explored_where_little_may_happen() -> None:
    bounds = PartitionBounds(records=0, alters=0, fences=0, ends=1, depth=99)
    result = explored(bounds)
    assert result.found is None
    assert result.is_whole


def test_it_is_explored_in_the_same_order_each_time() -> None:
    first, second = explored(ENDED), explored(ENDED)
    assert (first.states, first.moves, first.depth) == (second.states, second.moves, second.depth)


@pytest.mark.parametrize(
    ("mutation", "promises", "bounds"),
    [
        ("P-HWM-MINISR", {"P8", "E12"}, FENCED),
        ("P-HWM-COMMITTED", {"E12"}, ALTERED),
        ("P-ISR-HASTY", {"E12"}, ALTERED),
        ("E-NO-DETECT", {"E12"}, ENDED),
        ("P-TOLD-ISR", {"E12"}, ALTERED),
    ],
)
def test_what_is_planted_breaks_the_promise_it_is_known_for(
    mutation: str, promises: set[str], bounds: PartitionBounds
) -> None:
    assert broken(explored(bounds, mutation)) == promises


def test_a_minimum_that_is_raised_is_overtaken_by_the_answer() -> None:
    """As in the counterexample by which it was found: in five moves, and no shorter way."""
    result = explored(ALTERED, "P-TOLD-ISR", "E12")
    assert broken(result) == {"E12"}
    assert result.found is not None
    assert result.found.steps == (
        "min.insync.replicas is 1",
        "n1 appends a record",
        "n1 leaves out replicas that lag",
        "min.insync.replicas becomes 2",
        "the controller gets the ISR that n1 proposes",
        "n1 gets the answer",
    )


def test_a_counterexample_is_told_in_steps(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--of", "partition", "--mutation", "P-TOLD-ISR", "--fences", "0", "--ends", "0"]
    assert main(["model-check", *words]) == 1
    told = capsys.readouterr().out
    assert "3. min.insync.replicas becomes 2" in told
    assert "E12 is broken: n2 is in the ELR" in told
    assert main(["model-check", *words, "--json"]) == 1
    row = json.loads(capsys.readouterr().out)
    assert row["broken"].keys() == {"E12"}
    assert row["states"] > 100
    assert row["seconds"] > 0


def test_a_promise_of_the_other_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model-check", "--of", "partition", "--promise", "Q2"]) == 254
    assert "try: kraft-chaos model-check --of quorum --promise Q2" in capsys.readouterr().err
