"""What metrics tell of partitions (KIP-966)."""

from node.config import BrokerSettings
from node.controller.controller import partition_gauges
from tests.support.brokers import Brokers


def told(brokers: Brokers, min_isr: int = 1) -> tuple[int, int]:
    """Electable leaders, and partitions under min ISR."""
    gauges = partition_gauges(brokers.image, BrokerSettings(min_isr=min_isr))
    return gauges["electable-leaders"], gauges["global-under-min-isr-partition-count"]


def test_who_is_eligible_counts_and_a_small_isr_too() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2, 3)
    assert told(brokers) == (0, 0)
    brokers.create("t", (1, 2, 3), (2, 3, 1), min_insync_replicas="2")
    assert told(brokers) == (6, 0)
    brokers.fence(3)
    assert told(brokers) == (4, 0)
    brokers.fence(2)
    assert told(brokers) == (4, 2), "2 is in both ELRs"
    brokers.register(2)
    assert told(brokers) == (2, 2)


def test_a_minimum_is_never_more_than_there_are_replicas() -> None:
    brokers = Brokers()
    brokers.come_up(1)
    brokers.create("t", (1,))
    assert told(brokers, min_isr=2) == (1, 0)
