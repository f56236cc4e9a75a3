"""While a run lasts kio's messages lack their guard, and nothing else of them is different."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from chaos.cluster.sim.plain_values import _guarded, plain_values
from node.wire.api import kio_class, kio_module

VOTES: Any = kio_module("vote", 2, "request")
VOTE = kio_class("vote", "Vote", 2, "request")(
    cluster_id="c",
    voter_id=VOTES.BrokerId(1),
    topics=(VOTES.TopicData(topic_name="t", partitions=()),),
)


def test_values_are_equal_hashed_and_told_alike() -> None:
    with plain_values():
        plain = replace(VOTE)
        assert plain == VOTE
        assert (hash(plain), repr(plain)) == (hash(VOTE), repr(VOTE))


def test_what_is_missing_or_unknown_is_refused_as_ever() -> None:
    with plain_values():
        with pytest.raises(TypeError, match="topics"):
            type(VOTE)(cluster_id="c")
        with pytest.raises(TypeError, match="positional"):
            type(VOTE)("c")


def test_they_are_frozen_before_and_afterwards() -> None:
    guarded = _guarded()
    assert type(VOTE) in guarded
    with plain_values(), plain_values():
        assert _guarded() == []
        made = replace(VOTE)
    assert _guarded() == guarded
    with pytest.raises(FrozenInstanceError):
        made.cluster_id = "d"
