"""A thousand partitions that lost all eligible leaders are led again soon after the last broker
that their recovery needs is back (KIP-966, part two)."""

from collections.abc import Iterator

import pytest

from node.config import BrokerSettings, RecoveryStrategy
from node.controller.image import Image, Partition
from node.errors import ErrorCode
from node.ids import MS, NodeId
from node.wire.topic_changes import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicSetting,
)
from tests.support.broker_world import CONTROLLER, BrokerWorld
from tests.support.orders import IDS, Orders

PARTITIONS = 1_000
BAR_MS = 10_000
_BALANCED = BrokerSettings(
    recovery_manager=True, recovery_strategy=RecoveryStrategy.BALANCED, session_ms=3_000
)


def image(world: BrokerWorld) -> Image:
    life = world.machines[CONTROLLER].life
    assert life is not None
    found = life.node.core.role.controller.image  # type: ignore[union-attr]
    assert isinstance(found, Image)
    return found


def partitions(world: BrokerWorld) -> Iterator[Partition]:
    return (found for _, found in image(world).topics.partitions())


def leaderless(world: BrokerWorld) -> int:
    return sum(not each.has_leader for each in partitions(world))


def is_active(world: BrokerWorld, broker: int) -> bool:
    return image(world).brokers.is_active(broker)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_are_recovered_within_ten_seconds_of_the_last_return() -> None:
    orders = Orders(settings=_BALANCED)
    world = orders.world
    many = NewTopic(
        name="many",
        partitions=PARTITIONS - 1,  # beside that of orders
        replication=3,
        configs=(TopicSetting(name="min.insync.replicas", value="2"),),
    )
    made = world.ask(CONTROLLER, CreateTopicsRequest(topics=(many,)))
    assert isinstance(made, CreateTopicsResponse)
    assert made.results[0].error is ErrorCode.NONE
    for broker in IDS:
        world.kill(broker)
    world.until(lambda: leaderless(world) == PARTITIONS, "no partition has a leader")
    *others, last = IDS
    for broker in others:
        world.start(broker)
    world.until(lambda: all(is_active(world, each) for each in others), "two are back")
    world.run_ms(5_000)
    assert leaderless(world) == PARTITIONS, "one was elected before all that are needed were back"
    world.start(last)
    began_ns = world.now_ns
    world.until(lambda: leaderless(world) == 0, "each partition has a leader")
    took_ms = (world.now_ns - began_ns) // MS
    print(
        f"{PARTITIONS:,} leaderless partitions were led again {took_ms:,} ms after the last return"
    )
    assert took_ms <= BAR_MS
    assert all(NodeId(each.leader) in IDS for each in partitions(world))
