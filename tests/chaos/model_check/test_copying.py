"""Replicas that are explored go on in more than one way, each for itself."""

from dataclasses import dataclass

import pytest

from chaos.model_check.copying import Original
from chaos.model_check.formation import Formation
from chaos.model_check.forming import formed
from chaos.model_check.replica import LiveReplica
from chaos.model_check.views import view


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


def test_what_is_frozen_and_holds_what_changes_is_refused(leader: LiveReplica) -> None:
    with pytest.raises(AssertionError, match=r"copies would share .*Holder"):
        Original(Holder(leader))
