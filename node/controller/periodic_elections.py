"""Elections that nobody asks for (`electUnclean` and `electPreferred` of `QuorumController`).

Who may lead can change without any broker coming or going: unclean elections are allowed where
nobody led, a preferred leader is in the ISR again. So partitions are looked at now and then.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from node.config import BrokerSettings
from node.controller.decision import Situation
from node.controller.image import Partition
from node.controller.isr_updates import rules_for
from node.controller.partition_changes import Election, change
from node.controller.replica_rules import elects_uncleanly
from node.ids import MS
from node.lazy_dataclass import dataclass
from node.records.metadata import PartitionChangeRecord

_AT_ONCE = 1000  # partitions; the others follow at once (MAX_ELECTIONS_PER_IMBALANCE)


def unclean(situation: Situation) -> Iterator[PartitionChangeRecord]:
    """Of partitions that nobody leads, where anybody may rather than nobody."""
    return _elections(situation, Election.UNCLEAN, lambda found: not found.has_leader)


def preferred(situation: Situation) -> Iterator[PartitionChangeRecord]:
    """Of partitions that another than the first replica leads."""
    return _elections(
        situation,
        Election.PREFERRED,
        lambda found: found.has_leader and found.leader != found.replicas[0],
    )


def _elections(
    situation: Situation, election: Election, wants: Callable[[Partition], bool]
) -> Iterator[PartitionChangeRecord]:
    image = situation.image
    for key, found in image.topics.partitions():
        topic = image.topics.find(key[0])
        assert topic is not None, f"{key} is of no topic"
        may = election is not Election.UNCLEAN or elects_uncleanly(
            image, topic, situation.settings.unclean
        )
        if not (may and wants(found)):
            continue
        record = change(key, found, found, rules_for(situation, key, found, election=election))
        if record is not None:
            yield record


@dataclass(slots=True)
class _Task:
    records: Callable[[Situation], Iterator[PartitionChangeRecord]]
    interval_ns: int
    due_ns: int

    def take(self, situation: Situation) -> list[PartitionChangeRecord]:
        if situation.now_ns < self.due_ns:
            return []
        taken = list(islice(self.records(situation), _AT_ONCE))
        self.due_ns = situation.now_ns + (0 if len(taken) == _AT_ONCE else self.interval_ns)
        return taken


class PeriodicElections:
    """Of one active controller."""

    def __init__(self, settings: BrokerSettings, now_ns: int) -> None:
        each = (unclean, settings.unclean_retry_ms), (preferred, settings.preferred_check_s * 1000)
        self._tasks = [_Task(records, ms * MS, now_ns + ms * MS) for records, ms in each]
        self._due_ns = min(task.due_ns for task in self._tasks)

    def due(self, situation: Situation) -> list[PartitionChangeRecord]:
        """The records of one election that is due, if any; of others in a step of its own."""
        taken = next((records for task in self._tasks if (records := task.take(situation))), [])
        self._due_ns = min(task.due_ns for task in self._tasks)
        return taken

    def deadline_ns(self) -> int:
        return self._due_ns
