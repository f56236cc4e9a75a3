"""The voter set has one owner: what a node does goes by what that says, in the middle of an epoch
too. No record changes it yet; here the test does."""

from node.endpoint import Endpoint
from node.ids import NEVER_NS, Offset, ReplicaKey
from node.raft.roles import Candidate, Leader, Prospective, Unattached
from node.raft.voter_history import VoterHistory
from node.raft.voter_set import VoterSet
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.quorum_epoch import BeginQuorumEpochRequest, QuorumEpochResponse
from node.wire.vote import VoteRequest, VoteResponse
from tests.support.rig import ME, PORTS, QUIET, Rig, asked_node, fetch, key


def voters(*nodes: int) -> VoterSet:
    return VoterSet.of(
        (key(n), (Endpoint(name="CONTROLLER", host=f"node-{n}", port=PORTS + n),)) for n in nodes
    )


def changed(rig: Rig, *nodes: int) -> None:
    """From here on these vote, as the next step finds."""
    log = rig.core.raft.log
    log.voters = VoterHistory.of(*log.voters.sets, (log.end.offset, voters(*nodes)))
    rig.request(DescribeQuorumRequest(), connection=99)


def caught_up(rig: Rig, replica: ReplicaKey) -> None:
    end = rig.core.raft.log.end
    rig.request(
        fetch(replica=replica, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0),
        connection=replica.id,
    )


def lagging(rig: Rig, replica: ReplicaKey) -> None:
    rig.request(fetch(replica=replica, offset=0, max_wait_ms=0), connection=replica.id)


def led() -> Rig:
    rig = Rig(timeouts=QUIET)
    rig.become_leader()
    return rig


def told_who_leads(rig: Rig) -> list[int]:
    return [asked_node(a) for a in rig.asked if isinstance(a.request, BeginQuorumEpochRequest)]


def test_a_set_is_in_force_from_its_offset_on() -> None:
    history = VoterHistory.of((Offset(0), voters(1, 2, 3)), (Offset(10), voters(1, 2)))
    assert [history.at(Offset(n)) for n in (0, 9)] == [voters(1, 2, 3)] * 2
    assert [history.at(Offset(n)) for n in (10, 99)] == [voters(1, 2)] * 2
    assert history.newest == voters(1, 2)


def test_a_voter_that_is_added_is_told_who_leads_and_counts() -> None:
    rig = led()
    changed(rig, 1, 2, 3, 4)
    assert told_who_leads(rig).count(4) == 1
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == committed, "two of four are no majority"
    caught_up(rig, key(4))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_who_is_removed_counts_no_more_and_is_an_observer() -> None:
    rig = led()
    changed(rig, 1, 2)
    lagging(rig, key(2))
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(3))
    assert rig.core.raft.quorum.committed == committed
    described = rig.request(DescribeQuorumRequest(), connection=9)
    assert isinstance(described, DescribeQuorumResponse)
    assert [status.key for status in described.voters] == [ME, key(2)]
    assert [status.key for status in described.observers] == [key(3)]
    for node in (2, 3):  # and has nothing to tell for half a fetch time-out
        rig.reply(node, QuorumEpochResponse(leader=ME.id, epoch=rig.role.epoch))
    before = len(told_who_leads(rig))
    rig.pass_ms(QUIET.fetch_ms)
    assert told_who_leads(rig)[before:] == [2]
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_a_leader_outside_the_set_leads_on_and_does_not_count_itself() -> None:
    rig = led()
    changed(rig, 2, 3, 4)
    assert isinstance(rig.role, Leader)
    lagging(rig, key(3))
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == committed
    caught_up(rig, key(4))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_a_follower_that_is_no_voter_any_more_does_not_stand_for_election() -> None:
    rig = Rig(timeouts=QUIET)
    rig.follow(leader=2)
    changed(rig, 2, 3)
    rig.pass_ms(2 * QUIET.fetch_ms)
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns == NEVER_NS


def test_a_candidate_asks_whoever_votes_now() -> None:
    rig = Rig(timeouts=QUIET)
    while not isinstance(rig.role, Prospective):
        rig.pass_ms(50)
    changed(rig, 1, 2, 3, 4, 5)
    asked = {asked_node(ask) for ask in rig.asked if isinstance(ask.request, VoteRequest)}
    assert asked == {2, 3, 4, 5}
    rig.reply(2, VoteResponse(granted=True))
    assert isinstance(rig.role, Prospective), "two of five are no majority"
    rig.reply(5, VoteResponse(granted=True))
    assert isinstance(rig.role, Candidate)
