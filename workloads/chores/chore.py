"""Chores: what clients may do beside sending and polling, each in its own log or topics.

`workloads.append.CHORES` lists them by name.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from workloads.connection import Driver
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import LogHistory, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a chore works with. `leaders` are those of `partitions`, to which the load sends; a new
    topic has `replication` replicas, and a request waits `timeout_s` for its answer."""

    driver: Driver
    history: LogHistory
    tally: Tally
    leaders: PartitionLeaders
    partitions: Sequence[TopicPartition]
    replication: int
    prefix: str  # of the names of topics
    timeout_s: float


class Chore(Protocol):
    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Works while `goes_on`, then finishes its operation. Raises NoTopicsError."""

    async def look_back(self) -> tuple[str, ...]:
        """After the heal: what could not be asked, in words."""

    async def close(self) -> None: ...
