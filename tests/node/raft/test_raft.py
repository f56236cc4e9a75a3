"""What the stories (tests/stories) cannot tell of the quorum."""

from node.ids import ConnectionId
from node.raft.replicas import observers
from node.raft.roles import Leader, Resigned
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from tests.support.rig import MS, QUIET, Rig, batch, fetch, key


def led() -> Rig:
    rig = Rig(timeouts=QUIET)
    rig.become_leader()
    return rig


def test_check_quorum_is_not_forgotten_when_input_comes_at_its_deadline() -> None:
    rig = led()
    assert isinstance(rig.role, Leader)
    rig.now_ns = rig.role.check_quorum_deadline_ns + 1
    rig.core.on_request(ConnectionId(7), "EXTERNAL", DescribeQuorumRequest(), rig.now())
    assert isinstance(rig.role, Leader), "a fetch that calms the timer may be next"
    assert rig.core.next_deadline_ns() <= rig.now_ns
    rig.pass_ms(0)
    assert isinstance(rig.role, Resigned)


def test_an_answer_on_a_connection_since_dropped_is_ignored() -> None:
    rig = Rig()
    rig.follow(leader=2, epoch=3)
    rig.follow(leader=3, epoch=4)
    rig.feed(batch(0, 3), hwm=1, epoch=3)
    assert rig.log.end().offset == 0


def test_describe_quorum_tells_our_addresses_by_every_listener() -> None:
    answer = led().request(DescribeQuorumRequest(), 5)
    assert isinstance(answer, DescribeQuorumResponse)
    assert [[at.name for at in endpoints] for _, endpoints in answer.nodes] == [
        ["CONTROLLER", "EXTERNAL"],
        ["CONTROLLER"],
        ["CONTROLLER"],
    ]


def test_who_does_not_fetch_for_five_minutes_observes_no_more() -> None:
    rig = led()
    for node in (2, 4, 5):
        rig.request(fetch(replica=key(node), offset=1, last_epoch=1, max_wait_ms=0), node)
    voters = rig.core.raft.quorum.voters
    later_ns = rig.now_ns + 300_000 * MS
    assert isinstance(rig.role, Leader)
    assert observers(rig.role, voters, later_ns - 1) == [key(4), key(5)]
    assert observers(rig.role, voters, later_ns) == []
    rig.now_ns = later_ns
    asked = fetch(replica=key(5), offset=1, last_epoch=1, max_wait_ms=0)
    rig.core.on_request(ConnectionId(5), "CONTROLLER", asked, rig.now())
    assert list(rig.role.replicas) == [key(2), key(5)], "and voters stay"


def test_traces_of_fetches_tell_only_what_is_new() -> None:
    rig = led()
    for _ in range(3):
        rig.request(fetch(offset=1, last_epoch=1, max_wait_ms=0))
    assert sum(trace.event == "q.fetch" for trace in rig.traces) == 1
