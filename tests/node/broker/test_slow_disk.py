"""What a broker does to many logs on a slow disk, in virtual time: no step of it is long, so others
are served between, and on a fast one few steps are needed.
"""

from uuid import UUID

from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from chaos.cluster.sim.disk.journal import DiskStep
from node.config import BrokerSettings
from node.effects import TimeoutElapsed
from node.ids import MS
from node.records.metadata import RemoveTopicRecord, TopicRecord
from tests.support.stepped_broker import ME, SteppedBroker, partition_of, registered

LOGS = 200
TOPIC = UUID(int=3_000)
BUDGET_NS = BrokerSettings().session_ms * MS // 10
SYNC_NS = 20 * MS  # of a disk that spins and is shared


class TimedBroker:
    """Whose disk takes so long for each sync; `steps`: how long each took, as that has it."""

    def __init__(self, sync_ns: int) -> None:
        self.sync_ns = 0
        disk = SimDisk(FileSystem(before=self._before))
        self.broker = SteppedBroker(told=(registered(ME),), disk=disk)
        self.sync_ns = sync_ns
        self.steps: list[int] = []

    def _before(self, step: DiskStep) -> None:
        if step is DiskStep.COMMIT:
            self.broker.now_ns += self.sync_ns

    def work(self) -> None:
        """Until nothing is left to be done."""
        replicas = self.broker.node.core.role.replicas
        while replicas.is_unfinished:
            began = self.broker.now_ns
            self.broker.step(TimeoutElapsed())
            self.steps.append(self.broker.now_ns - began)


def new_replicas(timed: TimedBroker) -> None:
    partitions = (partition_of(TOPIC, index) for index in range(LOGS))
    timed.broker.tell(TopicRecord(name="wide", topic_id=TOPIC), *partitions)


def test_many_new_replicas_on_a_slow_disk_take_many_short_steps() -> None:
    timed = TimedBroker(SYNC_NS)
    new_replicas(timed)
    timed.work()
    assert len(timed.broker.replicas) == LOGS
    assert max(timed.steps) <= BUDGET_NS
    assert sum(timed.steps) > 5 * BUDGET_NS, "all at once would have been too long"
    timed.steps.clear()
    timed.broker.tell(RemoveTopicRecord(topic_id=TOPIC))
    timed.work()
    assert len(timed.broker.replicas) == 0
    assert max(timed.steps) <= BUDGET_NS
    assert sum(timed.steps) > 5 * BUDGET_NS


def test_on_a_fast_disk_few_steps_are_enough() -> None:
    timed = TimedBroker(0)
    new_replicas(timed)
    timed.work()
    assert len(timed.broker.replicas) == LOGS
    assert len(timed.steps) < 12


def test_what_is_taken_away_before_it_is_made_is_not_made() -> None:
    timed = TimedBroker(SYNC_NS)
    new_replicas(timed)
    timed.broker.step(TimeoutElapsed())
    made = len(timed.broker.replicas)
    assert made < LOGS
    timed.broker.tell(RemoveTopicRecord(topic_id=TOPIC))
    timed.work()
    assert len(timed.broker.replicas) == 0
    assert len(timed.steps) <= made + 1


def test_a_topic_made_anew_by_that_name_has_logs_of_its_own() -> None:
    """While those of the one before are being removed."""
    timed = TimedBroker(SYNC_NS)
    new_replicas(timed)
    timed.work()
    timed.broker.tell(RemoveTopicRecord(topic_id=TOPIC))
    timed.broker.step(TimeoutElapsed())
    again = UUID(int=TOPIC.int + 1)
    partitions = (partition_of(again, index) for index in range(LOGS))
    timed.broker.tell(TopicRecord(name="wide", topic_id=again), *partitions)
    timed.work()
    assert {log.topic for log in timed.broker.replicas.values()} == {again}
    assert len(timed.broker.replicas) == LOGS
    assert max(timed.steps) <= BUDGET_NS
