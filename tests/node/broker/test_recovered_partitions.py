"""Unclean recovery by whole nodes: a controller asks brokers, an operator asks the controller."""

from chaos.cluster.interface import PowerCutMode
from node.config import BrokerSettings, RecoveryStrategy
from node.errors import ErrorCode
from node.wire.reassignments import (
    DESIGNATED,
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)
from tests.support.broker_world import CONTROLLER
from tests.support.orders import IDS, Orders

AT = NamedPartition(topic="orders", index=0)


def lost(strategy: RecoveryStrategy) -> tuple[Orders, tuple[int, int, int]]:
    """All three went down uncleanly, and are off: the first to go has 10 records, the second 20,
    and the last, which lost its power, none."""
    settings = BrokerSettings(recovery_manager=True, recovery_strategy=strategy)
    orders = Orders(settings=settings)
    last = int(orders.state.leader)
    first, second = (each for each in IDS if each != last)
    orders.produced(10)
    orders.world.until(lambda: orders.log(first).next_offset == 10, "all have them")
    orders.world.kill(first)
    orders.world.until(lambda: first not in orders.state.isr, "it is out")
    orders.produced(10)
    orders.world.until(lambda: orders.log(second).next_offset == 20, "two have them")
    orders.world.kill(second)
    orders.world.until(lambda: second not in orders.state.isr, "it is out")
    orders.world.power_off(last, PowerCutMode.LOSE_ALL)
    orders.world.until(lambda: not orders.state.has_leader, "no replica leads")
    return orders, (first, second, last)


def elect(orders: Orders, kind: int, *desired: int, timeout_ms: int = 10_000) -> ElectionResult:
    response = orders.world.ask(
        CONTROLLER,
        ElectLeadersRequest(
            kind=kind,
            partitions=(AT,),
            desired=desired,
            timeout_ms=timeout_ms,
            has_recovery=True,
        ),
    )
    assert isinstance(response, ElectLeadersResponse)
    assert response.error is ErrorCode.NONE
    (result,) = response.results
    return result


def back(orders: Orders, *brokers: int) -> None:
    for broker in brokers:
        orders.world.start(broker)
    orders.world.until(lambda: all(map(orders._is_active, brokers)), "they are active")


def test_balanced_waits_for_the_last_known_eligible_and_loses_nothing() -> None:
    orders, (first, second, last) = lost(RecoveryStrategy.BALANCED)
    back(orders, first, last)
    orders.world.run_ms(20_000)
    assert not orders.state.has_leader
    back(orders, second)
    orders.world.until(lambda: orders.state.has_leader, "one leads")
    assert orders.state.leader == second
    orders.world.until(lambda: set(orders.state.isr) == set(IDS), "all have caught up")
    assert orders.log(last).next_offset == 20
    assert orders.state.last_known_elr == ()


def test_aggressive_takes_what_is_there() -> None:
    orders, (first, _, last) = lost(RecoveryStrategy.AGGRESSIVE)
    back(orders, first)
    orders.world.until(lambda: orders.state.has_leader, "one leads")
    assert orders.state.leader == first
    back(orders, last)
    orders.world.until(lambda: last in orders.state.isr, "it has caught up")
    assert orders.log(last).next_offset == 10


def test_none_waits_for_an_operator_who_names_a_leader() -> None:
    orders, (first, second, last) = lost(RecoveryStrategy.NONE)
    back(orders, first, second, last)
    orders.world.run_ms(20_000)
    assert not orders.state.has_leader
    assert elect(orders, DESIGNATED, second) == ElectionResult(partition=AT)
    assert orders.state.leader == second, "answered once it is committed"
    assert elect(orders, DESIGNATED, first).error is ErrorCode.ELECTION_NOT_NEEDED


def test_none_waits_for_an_operator_who_asks_for_the_longest_log() -> None:
    orders, (first, second, last) = lost(RecoveryStrategy.NONE)
    back(orders, first, last)
    result = elect(orders, LONGEST_BALANCED, timeout_ms=3000)
    assert result.error is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert elect(orders, LONGEST_AGGRESSIVE) == ElectionResult(partition=AT)
    assert orders.state.leader == first
    assert second not in orders.state.isr


def test_elections_that_are_not_committed_in_time() -> None:
    """Preferred ones too, and in any version. The controller is alone, so it commits at once,
    but for the moment in which it collects records."""
    orders, (first, *_) = lost(RecoveryStrategy.NONE)
    back(orders, first)
    response = orders.world.ask(
        CONTROLLER,
        ElectLeadersRequest(
            kind=DESIGNATED,
            partitions=(AT,),
            desired=(first,),
            timeout_ms=0,
            has_recovery=True,
        ),
    )
    assert response == ElectLeadersResponse(error=ErrorCode.REQUEST_TIMED_OUT)
    orders.world.until(lambda: orders.state.has_leader, "it is done all the same")
