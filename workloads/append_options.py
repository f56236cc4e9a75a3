"""How clients append to logs: how many of them, how they send, and to which topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from checkers.history.asked_topics import loads_topics
from checkers.history.payload import WORD
from workloads.log_driver import Sending
from workloads.partition_leaders import TopicPartition
from workloads.raw_producer import Patience
from workloads.wire.produce import ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOptions:
    """What clients do. Raises ValueError if that cannot be done.

    `rate` limits all producers together, in sends a second; 0 lets them run. A request waits
    `timeout_s` for its answer; an idempotent producer goes on for `delivery_s`.
    """

    topics: int = 2
    partitions: int = 3
    replication: int = 3
    configs: Mapping[str, str] = field(default_factory=lambda: {"min.insync.replicas": "2"})
    prefix: str = "append"
    producers: int = 20
    consumers: int = 3
    acks_none_share: float = 0.1  # of producers
    acks_leader_share: float = 0.2
    idempotent_share: float = 0.5  # of those with acks=all
    # Idempotent producers send within a transaction, and leave it open; after the final reads
    # producers with their ids end all of them. Our own clients only.
    transactional: bool = False
    # Acknowledged sends after which a producer commits and stops; 0: never. With several
    # partitions, the first is for such transactions only.
    commit_after: int = 0
    chores: tuple[str, ...] = ()  # side tasks, by their names in `workloads.chores`
    record_bytes: int = 1024
    batch_records: int = 1  # in one send
    rate: float = 0.0
    admin_rate: float = 0.5  # topics created or deleted a second
    timeout_s: float = 1.0
    delivery_s: float = 5.0
    # Sends to each partition but the first, which then gets none; 0: no limit.
    most_each: int = 0
    most_operations: int = 0  # sends before the final reads; 0: until told to stop

    def __post_init__(self) -> None:
        if self.record_bytes < WORD or self.record_bytes % WORD:
            raise ValueError(
                f"records of {self.record_bytes} bytes cannot be told apart from damaged ones; "
                f"take a multiple of {WORD}"
            )

    @property
    def patience(self) -> Patience:
        return Patience(request_s=self.timeout_s, delivery_s=self.delivery_s)

    @property
    def concurrency(self) -> int:
        """Processes that send."""
        return self.producers

    def adjusted(
        self, *, concurrency: int | None, rate: float, settings: Mapping[str, str]
    ) -> Self:
        """With the user's overrides; topics have the target's `min_isr`, and as many replicas as
        its `replication`, at most its `brokers`."""
        wanted = _count(settings, "replication", self.replication)
        promised = {"min.insync.replicas": settings["min_isr"]} if "min_isr" in settings else {}
        return replace(
            self,
            producers=concurrency or self.producers,
            rate=rate or self.rate,
            replication=min(wanted, _count(settings, "brokers", wanted)),
            configs={**self.configs, **promised},
        )

    @property
    def names(self) -> tuple[str, ...]:
        return loads_topics(self.prefix, self.topics)

    def all_partitions(self) -> tuple[TopicPartition, ...]:
        numbers = range(self.partitions)
        return tuple(TopicPartition(name, number) for name in self.names for number in numbers)

    def sendings(self) -> tuple[Sending, ...]:
        """How each producer sends."""
        none = round(self.producers * self.acks_none_share)
        leader = round(self.producers * self.acks_leader_share)
        rest = self.producers - none - leader
        idempotent = round(rest * self.idempotent_share)
        ways = [(0, False)] * none + [(1, False)] * leader
        ways += [(ALL, True)] * idempotent + [(ALL, False)] * (rest - idempotent)
        return tuple(
            Sending(
                acks=acks,
                idempotent=repeats,
                record_bytes=self.record_bytes,
                transactional_id=f"{self.prefix}-{n}" if repeats and self.transactional else None,
            )
            for n, (acks, repeats) in enumerate(ways[: self.producers])
        )


def _count(settings: Mapping[str, str], name: str, usual: int) -> int:
    """The target refuses what is not a number."""
    word = settings.get(name, "")
    return int(word) if word.isdecimal() else usual
