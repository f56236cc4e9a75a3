"""What the metadata log says of partitions, judged from inside: who breaks a rule is accused."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from chaos.bugs.planted import planted_by
from chaos.cluster.sim.invariants.broker_watch import LetIn
from chaos.cluster.sim.invariants.committed_changes import Claim, CommittedChanges, IsrJoin
from chaos.cluster.sim.invariants.rules import Broken
from node.controller.image import Image
from node.ids import ConnectionId, Epoch, NodeId
from node.outbox import ResponseTo
from node.records.batch import encode_batch
from node.records.metadata import (
    ELR_VERSION,
    NEWEST,
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    encode_metadata,
)
from node.wire.registration import BrokerHeartbeatResponse
from tests.support.memory_log import MemoryLog
from tests.support.random_brokers import RandomBrokers

TOPIC = UUID(int=7)
KEY = (TOPIC, 0)
ZERO = UUID(int=0)
NO_LEADER, RECOVERING, UNFENCE = -1, 1, -1
ALL = (1, 2, 3)


@dataclass
class World:
    """A partition on three brokers, which are registered in their epochs 101, 102 and 103."""

    log: MemoryLog = field(default_factory=MemoryLog)
    changes: CommittedChanges = field(default_factory=lambda: CommittedChanges(min_isr=2))

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        pairs = [(None, encode_metadata(record, NEWEST)) for record in records]
        end = self.log.end().offset
        self.log.append(encode_batch(pairs, base_offset=end, leader_epoch=Epoch(1), timestamp_ms=0))
        self.changes.follow(self.log, self.log.end().offset, Image())


def registration(broker: int, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=UUID(int=epoch),
        broker_epoch=epoch,
        end_points=(),
        features=(),
        rack=None,
    )


def change(
    *,
    isr: tuple[int, ...] | None = None,
    elr: tuple[int, ...] | None = None,
    leader: int = -2,
    recovery: int = -1,
    replicas: tuple[int, ...] | None = None,
    adding: tuple[int, ...] | None = None,
    removing: tuple[int, ...] | None = None,
) -> PartitionChangeRecord:
    return PartitionChangeRecord(
        topic_id=TOPIC,
        partition_id=0,
        isr=isr,
        eligible_leader_replicas=elr,
        leader=leader,
        leader_recovery_state=recovery,
        replicas=replicas,
        adding_replicas=adding,
        removing_replicas=removing,
    )


@pytest.fixture
def world() -> World:
    made = World()
    made.commit([FeatureLevelRecord(name=ELR_VERSION, feature_level=1)])
    for broker in ALL:
        made.commit([registration(broker, 100 + broker)])
        made.commit(
            [
                BrokerRegistrationChangeRecord(
                    broker_id=broker, broker_epoch=100 + broker, fenced=UNFENCE
                )
            ]
        )
    whole = PartitionRecord(
        partition_id=0,
        topic_id=TOPIC,
        replicas=ALL,
        isr=ALL,
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=(ZERO,) * 3,
    )
    made.commit([TopicRecord(name="t", topic_id=TOPIC), whole])
    return made


def accused(rule: str) -> "pytest.RaisesExc[Broken]":
    return pytest.raises(Broken, match=f"^{rule}-")


@pytest.mark.parametrize(
    ("rule", "before", "wrong"),
    [
        ("E1", [change(isr=(1,), elr=(2,))], change(isr=(1, 2))),
        ("E2", [], change(isr=(1, 2), elr=(3,))),
        ("E3", [change(isr=(1, 2))], change(isr=(1,))),
        ("E4", [change(isr=(1, 2)), change(isr=(1,), elr=(2,))], change(elr=(2, 3))),
        ("E7", [change(isr=(1,), elr=(2,))], change(isr=(2,), leader=2, elr=())),
        ("E9", [change(isr=(1,), elr=(2,))], change(isr=(3,), leader=3, elr=())),
        ("E9", [], change(recovery=RECOVERING)),
        ("E11", [change(isr=(1,), elr=(2, 3))], change(elr=(2,), leader=1)),
        ("reassigned", [], change(replicas=(1, 2), isr=(1,))),
        (
            "reassigned",
            [change(removing=(3,)), change(isr=(1, 3))],
            change(replicas=(1, 2), isr=(1,), removing=()),
        ),
        (
            "reassigned",
            [change(replicas=(1, 2, 3, 4), adding=(4,)), change(isr=(1,), elr=(2, 3))],
            change(replicas=(1, 2, 3), isr=(1,), adding=()),
        ),
    ],
)
def test_who_breaks_a_rule_of_eligible_leaders_is_accused(
    rule: str,
    before: list[PartitionChangeRecord],
    wrong: PartitionChangeRecord,
    world: World,
) -> None:
    for record in before:
        world.commit([record])
    with accused(rule):
        world.commit([wrong])


def joining(world: World, broker_epoch: int) -> None:
    world.commit([change(isr=(1, 2))])
    at = IsrJoin(key=KEY, leader_epoch=0, partition_epoch=1, replica=3)
    world.changes.propose(at, broker_epoch)


def test_who_joins_by_what_another_life_had(world: World) -> None:
    joining(world, 99)
    with accused("P4"):
        world.commit([change(isr=ALL)])


def test_who_joins_by_what_it_has(world: World) -> None:
    joining(world, 103)
    world.commit([change(isr=ALL)])


def test_who_registers_unclean_and_stays(world: World) -> None:
    """Whichever comes first: that it is replayed, or that the broker is told."""
    world.changes.claim(NodeId(2), 200, Claim(previous=-1, lost=None))
    with accused("E5"):
        world.commit([registration(2, 200)])
    world.commit([registration(3, 300)])
    with accused("E5"):
        world.changes.claim(NodeId(3), 300, Claim(previous=102, lost=None))


def test_who_registers_unclean_and_is_dropped_or_clean_and_stays(world: World) -> None:
    world.commit([registration(2, 200), change(isr=(1, 3))])
    world.changes.claim(NodeId(2), 200, Claim(previous=-1, lost="t-0"))
    world.commit([registration(3, 300), change(isr=(1,), elr=(3,))])
    world.changes.claim(NodeId(3), 300, Claim(previous=103, lost=None))


def test_who_says_that_it_ended_in_good_order_and_lost_something(world: World) -> None:
    world.commit([registration(2, 200), change(isr=(1, 3))])
    with accused("E6"):
        world.changes.claim(NodeId(2), 200, Claim(previous=102, lost="t-0"))


def test_who_is_left_fenced_again_and_again() -> None:
    let_in = LetIn(NodeId(4), 1)
    left = ResponseTo(
        connection=ConnectionId(1),
        response=BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True, should_shut_down=False),
    )
    taken = ResponseTo(
        connection=ConnectionId(1),
        response=BrokerHeartbeatResponse(
            is_caught_up=True, is_fenced=False, should_shut_down=False
        ),
    )
    for answer in (left, left, taken, left, left):
        let_in.heed(answer)
    with accused("P18"):
        let_in.heed(left)


def decided(seed: int) -> None:
    """By a controller that random brokers and operators ask."""
    machine, world = RandomBrokers(f"{seed}:True", elr=True), World()
    world.changes.min_isr = 1
    for _ in range(150):
        machine.step()
    for records in machine.brokers.history:
        if records:
            world.commit(records)


@pytest.mark.parametrize("seed", range(5))
def test_a_correct_controller_is_not_accused(seed: int) -> None:
    decided(seed)


@pytest.mark.parametrize(
    ("mutation", "rule"),
    [
        ("E-EAGER", "E7"),
        ("E-MINISR-DRIFT", "E2"),
        ("E-UNRELATED-WIPE", "E3"),
        ("P-REASSIGN", "reassigned"),
    ],
)
def test_a_wrong_controller_is_accused(mutation: str, rule: str) -> None:
    with planted_by(mutation).planted(), accused(rule):
        for seed in range(12):
            decided(seed)
