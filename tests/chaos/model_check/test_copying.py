"""Replicas that are explored go on in more than one way, each for itself."""

from dataclasses import dataclass

import pytest

from chaos.labs.model_check.numbered_states import Original
from chaos.labs.model_check.replica import LiveReplica
from chaos.labs.model_check.search import formed
from chaos.labs.model_check.setting import Formation
from chaos.labs.model_check.views import view
from node.controller.image import Image
from node.records.metadata import ConfigRecord


@pytest.fixture
def leader() -> LiveReplica:
    return formed(Formation(listed=False, nodes=3, observers=0))[0]


def test_a_copy_goes_on_alone(leader: LiveReplica) -> None:
    original, before = Original(leader), view(leader)
    one, other = original.copy(), original.copy()
    one.write()
    one.flush()
    assert len(view(one).log) == len(before.log) + 1
    assert view(other) == view(leader) == view(original.copy()) == before


def test_what_never_changes_is_shared(leader: LiveReplica) -> None:
    copy = Original(leader).copy()
    assert copy.log is not leader.log
    assert copy.log.batches[0] is leader.log.batches[0]
    assert copy.role is leader.role


@dataclass(frozen=True)
class Holder:
    """Seems to never change."""

    held: LiveReplica


def test_methods_that_are_kept_are_the_copys() -> None:
    """Such as the one by which configurations count a digest."""
    original = Image()
    copy, before = Original(original).copy(), original.digest
    copy.replay(ConfigRecord(resource_type=16, resource_name="r", name="m", value="1"))
    assert original.digest == before != copy.digest


def test_a_function_that_encloses_what_changes_is_refused(leader: LiveReplica) -> None:
    with pytest.raises(AssertionError, match=r"copies would share .*lambda"):
        Original([lambda: leader.write()])


def test_what_is_frozen_and_holds_what_changes_is_refused(leader: LiveReplica) -> None:
    with pytest.raises(AssertionError, match=r"copies would share .*Holder"):
        Original(Holder(leader))
