"""Topics that somebody asks about, and that there are not."""

from dataclasses import replace

import pytest

from node.errors import ErrorCode
from node.wire.api_versions import ApiVersionsRequest
from node.wire.topic_metadata import (
    DescribedTopic,
    MetadataRequest,
    MetadataResponse,
    SoughtTopic,
)
from tests.support.broker_world import BROKER_ROLE, CONTROLLER, BrokerWorld

_BROKER = 4
_NAMES = ("orders", "bills")


def _serving(*, is_allowed: bool = True) -> BrokerWorld:
    world = BrokerWorld((_BROKER,), role=replace(BROKER_ROLE, auto_create=is_allowed))
    world.until(lambda: world.ask(_BROKER, ApiVersionsRequest()) is not None, "it serves clients")
    return world


def _told(world: BrokerWorld, *names: str, may_create: bool = True) -> tuple[DescribedTopic, ...]:
    sought = tuple(SoughtTopic(name=each) for each in names)
    answer = world.ask(_BROKER, MetadataRequest(topics=sought, may_create=may_create))
    assert isinstance(answer, MetadataResponse)
    return answer.topics


def _errors(topics: tuple[DescribedTopic, ...]) -> set[ErrorCode]:
    return {each.error for each in topics}


def _made(world: BrokerWorld) -> list[str]:
    life = world.machines[CONTROLLER].life
    assert life is not None
    topics = life.node.core.role.controller.image.topics  # type: ignore[union-attr]
    return sorted(each.name for each in topics.all())


def test_who_asks_about_a_topic_has_it_made() -> None:
    """With as many partitions and replicas as the broker was told, by the controller."""
    world = _serving()
    assert _errors(_told(world, *_NAMES)) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    world.until(lambda: _errors(_told(world, *_NAMES)) == {ErrorCode.NONE}, "both are there")
    for each in _told(world, *_NAMES):
        assert [at.replicas for at in each.partitions] == [(_BROKER,)]
    assert _made(world) == sorted(_NAMES)


def test_what_was_asked_for_in_vain_is_asked_for_again() -> None:
    """The controller was away, and whoever wants a topic asks on."""
    world = _serving()
    world.kill(CONTROLLER)
    for _ in range(3):
        assert _errors(_told(world, *_NAMES)) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    world.start(CONTROLLER)
    world.until(lambda: _errors(_told(world, *_NAMES)) == {ErrorCode.NONE}, "both are there")
    assert _made(world) == sorted(_NAMES)


@pytest.mark.parametrize(
    ("name", "is_allowed", "may_create", "error"),
    [
        ("orders", False, True, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", True, False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a/b", True, True, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_no_topic_is_made(name: str, is_allowed: bool, may_create: bool, error: ErrorCode) -> None:
    """Where the broker was told not to, or whoever asks did not want that, or there cannot be."""
    world = _serving(is_allowed=is_allowed)
    for _ in range(3):
        assert _errors(_told(world, name, may_create=may_create)) == {error}
        world.run_ms(500)
    assert _made(world) == []


def test_the_topic_of_groups_is_made_as_coordinators_need_it() -> None:
    world = _serving()
    _told(world, "__consumer_offsets")
    world.run_ms(1000)
    assert _made(world) == []  # of three replicas, as coordinators need it, and there is one broker
