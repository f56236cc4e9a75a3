"""When the logs of whole brokers begin new segments: as their topic is configured."""

from dataclasses import replace

from node.errors import ErrorCode
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ResourceChange,
)
from tests.support.broker_world import BROKER_ROLE, CONTROLLER
from tests.support.orders import IDS, Orders

TOPIC = 2  # ConfigResource.Type
SET, DELETE = 0, 1  # AlterConfigOp.OpType


def configure(orders: Orders, operation: int, value: str | None) -> None:
    change = ConfigChange(name="segment.ms", operation=operation, value=value)
    resource = ResourceChange(type=TOPIC, name="orders", changes=(change,))
    answer = orders.world.ask(
        CONTROLLER, AlterConfigsRequest(resources=(resource,), validate_only=False)
    )
    assert isinstance(answer, AlterConfigsResponse)
    assert answer.results[0].error is ErrorCode.NONE
    orders.world.run_ms(1000)


def bases(orders: Orders) -> list[list[int]]:
    return [[segment.base for segment in orders.log(broker).segments] for broker in IDS]


def test_logs_roll_by_their_topics_time_until_it_has_none() -> None:
    """Record n is of millisecond n of 1970."""
    orders = Orders(role=replace(BROKER_ROLE, segment_ms=1000))
    orders.produced(10)
    assert bases(orders) == [[0]] * 3
    configure(orders, SET, "4")
    orders.produced(10)
    assert bases(orders) == [[0, 10, 15]] * 3
    configure(orders, DELETE, None)
    orders.produced(20)
    assert bases(orders) == [[0, 10, 15]] * 3


def test_a_broker_that_starts_again_is_told_again() -> None:
    orders = Orders()
    configure(orders, SET, "4")
    orders.produced(3)
    orders.world.kill(IDS[0])
    orders.restart(IDS[0])
    orders.whole()
    orders.produced(7)
    assert bases(orders) == [[0, 5]] * 3
