"""While a run lasts the node's values lack their guard, and nothing else of them is different."""

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace

import pytest

from chaos.cluster.sim.plain_values import _guarded, plain_values
from node.effects import ElectionState
from node.ids import Epoch, LogPosition, NodeId, Now, Offset, ReplicaKey
from node.wire.fetch import FetchResponse
from tests.node.wire.sample_requests import REQUESTS

SAMPLES: tuple[object, ...] = (
    *REQUESTS,
    FetchResponse(records=b"records"),
    ElectionState(epoch=Epoch(3)),
    LogPosition(Epoch(3), Offset(4)),
    ReplicaKey(NodeId(1)),
    Now(1, 2),
)


def made_anew() -> Iterator[object]:
    for sample in SAMPLES:
        yield replace(sample)  # type: ignore[type-var]


def test_values_are_equal_hashed_and_told_alike() -> None:
    with plain_values():
        plain = list(made_anew())
        assert plain == list(SAMPLES)
        assert [hash(each) for each in plain] == [hash(each) for each in SAMPLES]
        assert [repr(each) for each in plain] == [repr(each) for each in SAMPLES]


def test_what_is_missing_or_unknown_is_refused_as_ever() -> None:
    with plain_values():
        with pytest.raises(TypeError, match="mono_ns"):
            Now()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="positional"):
            ElectionState(Epoch(1))  # type: ignore[call-arg]


def test_they_are_frozen_before_and_afterwards() -> None:
    guarded = _guarded()
    assert FetchResponse in guarded
    with plain_values(), plain_values():
        assert _guarded() == []
        made = FetchResponse()
    assert _guarded() == guarded
    with pytest.raises(FrozenInstanceError):
        made.epoch = Epoch(1)  # type: ignore[misc]
