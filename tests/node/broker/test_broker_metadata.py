"""What brokers make of the metadata log, and what they hand on of it: in virtual time."""

from node.config import SnapshotSettings
from node.effects import Trace, TraceValue
from node.errors import ErrorCode
from node.ids import NodeId, ReplicaKey
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest, VoterChangeResponse
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from tests.support.broker_machine import directory_of
from tests.support.broker_world import CONTROLLER
from tests.support.orders import Orders

SPARE = NodeId(2)


def told(orders: Orders, id_: int, event: str) -> list[Trace]:
    return [trace for node, trace in orders.world.told if node == id_ and trace.event == event]


def create(orders: Orders, names: range) -> None:
    for number in names:
        topic = NewTopic(name=f"more-{number}", partitions=1, replication=1)
        made = orders.world.ask(CONTROLLER, CreateTopicsRequest(topics=(topic,)))
        assert isinstance(made, CreateTopicsResponse)
        assert made.results[0].error is ErrorCode.NONE


def test_each_broker_tells_what_it_replayed_as_the_controller_does() -> None:
    orders = Orders()
    create(orders, range(3))
    orders.world.run_ms(1000)
    replayed = told(orders, CONTROLLER, "c.record")
    assert [trace.fields["record"] for trace in replayed].count("Topic") == 4
    for broker in orders.others():
        assert told(orders, broker, "c.record") == replayed


def test_a_broker_that_missed_too_much_goes_on_from_a_snapshot() -> None:
    """What it lacks is in no log any more: it fetches the image, and leads and follows by it."""
    orders = Orders(snapshots=SnapshotSettings(record_bytes=1000, retention_bytes=1))
    orders.produced(5)
    missing = orders.others(orders.state.leader)[0]
    orders.world.stop(missing)
    create(orders, range(30))
    known = len(told(orders, missing, "q.loaded"))
    orders.restart(missing)
    orders.whole()
    assert len(told(orders, missing, "q.loaded")) == known + 1
    broker = orders.world.machines[NodeId(missing)].broker
    assert len(list(broker.follower.image.topics.partitions())) == 31
    for other in orders.others(missing):
        orders.world.kill(other)
        orders.until_led_by_another(other)
        orders.restart(other)
        orders.whole()
    orders.produced(5)
    assert orders.read() == list(range(10))
    (one, *others) = orders.logs()
    assert others == [one, one]


def test_who_votes_is_changed_through_brokers() -> None:
    """They hand it on to the active controller (KIP-853), and what it says back."""
    orders = Orders(spares=(SPARE,))
    world, (first, second, third) = orders.world, orders.others()
    spare = ReplicaKey(SPARE, directory_of(SPARE))
    add = AddVoterRequest(
        cluster_id=None,
        voter=spare,
        endpoints=world.machines[SPARE].endpoints,
        timeout_ms=10_000,
    )
    assert world.ask(first, add) == VoterChangeResponse()
    again = world.ask(second, add)
    assert isinstance(again, VoterChangeResponse)
    assert again.error is ErrorCode.DUPLICATE_VOTER
    assert world.ask(third, RemoveVoterRequest(cluster_id=None, voter=spare)) == (
        VoterChangeResponse()
    )
    world.run_ms(1000)  # brokers hear of it
    for broker in (first, second, third):
        sets = [trace.fields["voters"] for trace in told(orders, broker, "q.voters")]
        assert [_ids(each) for each in sets[-3:]] == [[1], [1, 2], [1]]


def _ids(voters: TraceValue) -> list[int | str]:
    assert isinstance(voters, list)
    return sorted(row["id"] for row in voters)
