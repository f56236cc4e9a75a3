"""Elections that nobody asks for: where it is allowed since, or the preferred leader is back."""

from dataclasses import replace
from uuid import UUID

from node.config import BrokerSettings
from node.controller.image.topics import RECOVERING
from node.controller.partitions import elections
from node.controller.partitions.elections import PeriodicElections
from node.ids import MS, NodeId
from node.records.metadata import ConfigRecord
from node.wire.configs import AlterConfigsRequest, ConfigChange, ResourceChange
from node.wire.registration import BrokerHeartbeatRequest, BrokerRegistrationRequest
from node.wire.topic_changes import Assignment, CreateTopicsRequest, NewTopic
from tests.support.brokers import FEATURES, Brokers
from tests.support.rig import CLUSTER, Rig

NONE = -1
REGISTRATION = BrokerRegistrationRequest(
    broker=NodeId(1),
    cluster_id=CLUSTER,
    incarnation=UUID(int=1 << 90),
    listeners=(),
    features=FEATURES,
    directories=(UUID(int=1 << 91),),
)
RETRY_NS = BrokerSettings().unclean_retry_ms * MS


def allow_unclean(brokers: Brokers, value: str | None = "true") -> None:
    brokers.image.replay(
        ConfigRecord(
            resource_type=2,
            resource_name="t",
            name="unclean.leader.election.enable",
            value=value,
        )
    )


def leaderless() -> Brokers:
    """2 is back, and nobody led when it came: 1 was the last of the ISR and is not."""
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2))
    brokers.fence(2)
    brokers.fence(1)
    brokers.register(1)
    brokers.come_up(2)
    assert brokers.state() == ((), (), NONE)
    return brokers


def test_nobody_is_elected_uncleanly_before_that_is_allowed() -> None:
    brokers = leaderless()
    assert list(elections.unclean(brokers.context())) == []
    allow_unclean(brokers)
    brokers.apply(list(elections.unclean(brokers.context())))
    assert brokers.state() == ((2,), (), 2)
    assert brokers.partition().recovery == RECOVERING
    assert list(elections.unclean(brokers.context())) == []


def test_where_it_is_allowed_for_all_topics_one_may_still_forbid_it() -> None:
    brokers = leaderless()
    brokers.settings = replace(brokers.settings, unclean=True)
    allow_unclean(brokers, "false")
    assert list(elections.unclean(brokers.context())) == []
    allow_unclean(brokers, None)
    brokers.apply(list(elections.unclean(brokers.context())))
    assert brokers.state() == ((2,), (), 2)


def test_the_preferred_leader_leads_again_once_it_is_in_sync() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2))
    brokers.fence(1)
    brokers.beat(1)
    assert list(elections.preferred(brokers.context())) == []
    brokers.propose(2, 1)
    brokers.apply(list(elections.preferred(brokers.context())))
    assert brokers.state() == ((2, 1), (), 1)


def test_each_is_held_when_its_time_has_come_and_not_before() -> None:
    brokers = leaderless()
    allow_unclean(brokers)
    elections = PeriodicElections(replace(BrokerSettings(), preferred_check_s=1000), 0)
    assert elections.deadline_ns() == RETRY_NS
    brokers.now_ns = RETRY_NS - 1
    assert elections.due(brokers.context()) == []
    brokers.now_ns = RETRY_NS
    assert len(elections.due(brokers.context())) == 1
    assert elections.deadline_ns() == 2 * RETRY_NS


def test_what_is_too_much_for_one_step_follows_at_once() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", *[(1, 2)] * 1001)
    brokers.fence(1)
    brokers.beat(1)
    for index in range(1001):
        found = brokers.partition(index=index)
        brokers.put(replace(found, isr=(1, 2)), index=index)
    elections = PeriodicElections(BrokerSettings(), 0)
    brokers.now_ns = RETRY_NS
    first = elections.due(brokers.context())
    assert (len(first), elections.deadline_ns()) == (1000, RETRY_NS)
    brokers.apply(first)
    assert len(elections.due(brokers.context())) == 1
    assert elections.deadline_ns() == 2 * RETRY_NS


def heard(rig: Rig, broker: int, connection: int) -> None:
    found = rig.core.role.controller.image.brokers.find(broker)
    assert found is not None
    beat = BrokerHeartbeatRequest(
        broker=NodeId(broker),
        epoch=found.broker_epoch,
        metadata_offset=rig.log.end().offset,
        want_fence=False,
        want_shutdown=False,
    )
    rig.request(beat, connection)
    rig.pass_ms(0)


def test_the_active_controller_holds_them() -> None:
    """A quorum of one, without eligible leader replicas: the ISR keeps its last member."""
    rig = Rig(size=1)
    rig.become_leader()
    rig.pass_ms(0)
    for broker in (1, 2):
        own = (UUID(int=(1 << 91) + broker),)
        rig.request(replace(REGISTRATION, broker=NodeId(broker), directories=own), 10 + broker)
        rig.pass_ms(0)
        heard(rig, broker, 20 + broker)
    assigned = (Assignment(index=0, brokers=(NodeId(1), NodeId(2))),)
    topic = NewTopic(name="t", partitions=-1, replication=-1, assignments=assigned)
    rig.request(CreateTopicsRequest(topics=(topic,)), 30)
    rig.pass_ms(RETRY_NS // MS - 2000)  # both are silent for a session: 1 is fenced first
    heard(rig, 1, 31)
    change = ConfigChange(name="unclean.leader.election.enable", operation=0, value="true")
    resource = ResourceChange(type=2, name="t", changes=(change,))
    rig.request(AlterConfigsRequest(resources=(resource,), validate_only=False), 32)
    rig.pass_ms(0)
    ((_, before),) = rig.core.role.controller.image.topics.partitions()
    assert (before.isr, before.leader) == ((2,), NONE)
    rig.pass_ms(2001)
    ((_, after),) = rig.core.role.controller.image.topics.partitions()
    assert (after.isr, after.leader) == ((1,), 1)
