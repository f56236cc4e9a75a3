"""Thousands of small histories against exhaustive search; a disagreement is shrunk."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.history.calls import NIL, Model
from checkers.linearizability import decide
from tests.checkers.linearizability.brute import MODELS, disagreement, drawn
from tests.support.random_calls import Shape, random_calls

PARTS = 4
EACH = 750


@pytest.mark.parametrize("part", range(PARTS))
def test_random_histories_are_decided_as_by_exhaustive_search(part: int) -> None:
    for seed in range(part * EACH, (part + 1) * EACH):
        calls = drawn(seed)
        assert not disagreement(calls, decide(calls)), f"seed {seed}"


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Ordered so that Hypothesis shrinks towards few calls of few processes on one key."""
    model = draw(st.sampled_from(MODELS))
    return Shape(
        model=model,
        calls=draw(st.integers(1, 10)),
        processes=draw(st.integers(1, 5)),
        keys=draw(st.integers(1, 2)),
        values=draw(st.integers(0, 3)),
        info=draw(st.sampled_from((0.0, 0.1, 0.4))),
        cas=draw(st.sampled_from((0.2, 0.5))),
        deletes=draw(st.sampled_from((0.0, 0.3))),
        initial=draw(st.sampled_from((NIL, 0))),
    )


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(shape=shapes(), seed=st.integers(0, 2**32))
def test_no_history_is_decided_otherwise_than_by_exhaustive_search(shape: Shape, seed: int) -> None:
    calls = random_calls(random.Random(seed), shape)
    assert not disagreement(calls, decide(calls))


def test_both_verdicts_are_drawn_of_every_model() -> None:
    seen = {(calls.model, decide(calls).verdict) for calls in map(drawn, range(400))}
    assert len(seen) == 2 * len(MODELS)
    assert {model for model, _ in seen} == set(MODELS) - {Model.LOG}
