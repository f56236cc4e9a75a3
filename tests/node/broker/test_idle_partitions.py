"""Partitions that nothing happens to cost nothing: what brokers do at rest, and for a write, is the
same whether each has a hundred of them or three thousand. Counted in steps of the interpreter."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from node.ids import NodeId
from node.wire.topic_changes import CreateTopicsRequest, NewTopic
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders

FEW, MANY = 100, 3_000
AT_ONCE = 1_500  # fewer than one request may add
# Looks for lagging replicas and saves of high watermarks are among it. Beside it are what looks at
# each log of a broker as Kafka's do: retention, once at first and each five minutes, and recovery
# points, each minute.
REST_MS = 6_000
SETTLED_MS = 40_000
WRITES = 20
GROWTH = 1.2


def beside(count: int) -> Orders:
    """A topic that is written to, and as many partitions that are not."""
    orders = Orders()
    for first in range(0, count, AT_ONCE):
        idle = NewTopic(name=f"idle-{first}", partitions=min(AT_ONCE, count - first), replication=3)
        orders.world.ask(CONTROLLER, CreateTopicsRequest(topics=(idle,)))
    replicas = [orders.world.machines[NodeId(id_)].broker.replicas for id_ in IDS]
    orders.world.until(
        lambda: all(len(each.all()) == count + 1 and not each.is_unfinished for each in replicas),
        "all logs are made",
    )
    orders.produced(1)
    orders.world.run_ms(SETTLED_MS)
    return orders


def steps(act: Callable[[], None]) -> int:
    """That the nodes' code takes for it."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "/node/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture(scope="module")
def clusters() -> tuple[Orders, Orders]:
    return beside(FEW), beside(MANY)


def grows(clusters: tuple[Orders, Orders], act: Callable[[Orders], None]) -> float:
    few, many = (steps(lambda orders=orders: act(orders)) for orders in clusters)  # type: ignore[misc]
    assert few > 10_000, "the nodes' code is what is counted"
    return many / few


def test_at_rest(clusters: tuple[Orders, Orders]) -> None:
    assert grows(clusters, lambda orders: orders.world.run_ms(REST_MS)) < GROWTH


def test_under_writes_for_all_replicas(clusters: tuple[Orders, Orders]) -> None:
    assert grows(clusters, lambda orders: orders.produced(WRITES)) < GROWTH
