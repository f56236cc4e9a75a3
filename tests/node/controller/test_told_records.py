"""What is committed of brokers and partitions is told, at the offset at which it stands."""

from dataclasses import replace
from uuid import UUID

from node.ids import NodeId
from node.wire.registration import BrokerRegistrationRequest
from tests.node.controller.test_controller import active, catch_up
from tests.support.brokers import FEATURES
from tests.support.registers import write_request
from tests.support.rig import CLUSTER, Rig, batch

REGISTRATION = BrokerRegistrationRequest(
    broker=NodeId(5),
    cluster_id=CLUSTER,
    incarnation=UUID(int=1 << 90),
    listeners=(),
    features=FEATURES,
    directories=(UUID(int=1 << 91),),
)


def told(rig: Rig) -> list[tuple[object, object]]:
    fields = [each.fields for each in rig.traces if each.event == "c.record"]
    return [(each["offset"], each["record"]) for each in fields]


def test_it_is_told_once_it_is_committed_and_nothing_of_registers() -> None:
    rig = active()
    rig.request(write_request("a", 1000), 2)
    rig.request(REGISTRATION, 3)
    other = replace(REGISTRATION, broker=NodeId(6), directories=(UUID(int=1 << 92),))
    rig.request(other, 4)
    rig.pass_ms(0)
    assert told(rig) == []
    catch_up(rig, 30)
    end = rig.log.end().offset
    assert told(rig) == [(end - 2, "RegisterBroker"), (end - 1, "RegisterBroker")]


def test_a_follower_and_a_restarted_node_tell_the_same() -> None:
    leader = active()
    leader.request(REGISTRATION, 3)
    leader.pass_ms(0)
    catch_up(leader, 30)
    bytes_ = leader.log.read(leader.log.start(), 10**6)
    follower = Rig()
    follower.follow(leader=2, epoch=1)
    follower.feed(bytes_, hwm=leader.log.end().offset)
    assert told(follower) == told(leader) != []
    again = Rig(log=follower.log, election=follower.election)
    again.follow(leader=2, epoch=1)
    end = follower.log.end().offset
    again.feed(batch(end, 1), hwm=end)
    assert told(again) == told(leader)
