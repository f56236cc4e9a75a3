"""What metrics tell of nodes in virtual time: of who leads, votes, follows, and waits."""

import pytest

from node.ids import NodeId, uuid_text
from node.raft.descriptions import Gauge
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest
from tests.support.quorum import SECOND, Quorum

OF_LEADERS = {
    "number-of-observers",
    "number-of-possible-voters",
    "uncommitted-voter-change",
    "pending-add-voter",
    "pending-remove-voter",
}


def gauges(quorum: Quorum, node: int) -> dict[str, Gauge]:
    return quorum.core(node).raft.gauges(quorum.now_ns)


def led(quorum: Quorum) -> NodeId:
    """Who leads, once the others have all that it has."""
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    quorum.run_for(2 * SECOND)
    (leader,) = quorum.leaders()
    return leader


def test_who_was_never_led_knows_of_nobody() -> None:
    quorum = Quorum()
    quorum.start(1)
    told = gauges(quorum, 1)
    assert (told["current-leader"], told["current-epoch"], told["current-vote"]) == (-1, 0, -1)
    assert told["current-vote-directory-id"] == "A" * 22
    assert told["current-state"] == "unattached"
    assert (told["high-watermark"], told["log-end-offset"], told["log-end-epoch"]) == (-1, 0, 0)
    assert told["number-of-voters"] == 3
    assert OF_LEADERS.isdisjoint(told)
    assert quorum.run_until(lambda: gauges(quorum, 1)["current-state"] == "prospective", 9 * SECOND)


@pytest.mark.parametrize("listed", [False, True])
def test_each_role_tells_of_the_same_leader_and_log(*, listed: bool) -> None:
    quorum = Quorum(observers=2, listed=listed)
    leader = led(quorum)
    told = {node: gauges(quorum, node) for node in quorum.members}
    for node, each in told.items():
        assert each["current-leader"] == leader
        assert each["number-of-voters"] == 3
        assert each["number-unknown-voter-connections"] == 0
        expected = "observer" if node > 3 else "leader" if node == leader else "follower"
        assert each["current-state"] == expected
    epoch, end = quorum.core(leader).raft.quorum.epoch, quorum.core(leader).raft.log.end
    assert told[leader]["current-epoch"] == told[leader]["log-end-epoch"] == epoch
    assert told[leader]["log-end-offset"] == end.offset
    assert told[leader]["high-watermark"] == quorum.core(leader).raft.quorum.high_watermark
    assert told[leader]["current-vote"] == leader
    key = quorum.members[leader].key
    assert told[leader]["current-vote-directory-id"] == uuid_text(key.directory)
    assert told[leader]["number-of-observers"] == 2
    able = 0 if listed else 2  # who is not listed never votes
    assert told[leader]["number-of-possible-voters"] == able
    assert not OF_LEADERS & {name for node in told if node != leader for name in told[node]}


def test_a_change_of_voters_is_pending_until_it_is_committed() -> None:
    quorum = Quorum(observers=1)
    leader = led(quorum)
    voters = [quorum.members[NodeId(node)].key for node in (1, 2, 3)]
    removed = next(key for key in voters if key.id != leader)
    for key in voters:
        if key.id != leader:
            quorum.cut_between(leader, key.id)
    request = RemoveVoterRequest(cluster_id=None, voter=removed)
    answers: list[object] = []
    quorum.ask(leader, request, answers.append)
    assert quorum.run_until(lambda: bool(gauges(quorum, leader)["pending-remove-voter"]), SECOND)
    told = gauges(quorum, leader)
    assert (told["uncommitted-voter-change"], told["pending-add-voter"]) == (1, 0)
    assert told["number-of-voters"] == 2
    quorum.heal()
    assert quorum.run_until(lambda: bool(answers), 10 * SECOND)
    assert quorum.run_until(lambda: len(quorum.leaders()) == 1, 10 * SECOND)
    told = gauges(quorum, quorum.leaders()[0])
    assert (told["uncommitted-voter-change"], told["pending-remove-voter"]) == (0, 0)


def test_who_does_not_fetch_is_waited_for() -> None:
    quorum = Quorum(observers=1)
    leader = led(quorum)
    quorum.isolate(NodeId(4))
    quorum.run_for(SECOND)
    request = AddVoterRequest(
        cluster_id=None,
        voter=quorum.members[NodeId(4)].key,
        endpoints=(quorum.inner(4),),
        timeout_ms=3000,
    )
    quorum.ask(leader, request, lambda _: None)
    assert quorum.run_until(lambda: bool(gauges(quorum, leader)["pending-add-voter"]), SECOND)
    told = gauges(quorum, leader)
    assert (told["uncommitted-voter-change"], told["pending-remove-voter"]) == (0, 0)
    assert told["number-of-voters"] == 3
    quorum.run_for(4 * SECOND)
    assert gauges(quorum, leader)["pending-add-voter"] == 0
