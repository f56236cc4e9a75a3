"""What a restarted node may be (`QuorumState.initialize`)."""

from node.effects import ElectionState, PersistElectionState
from node.ids import Epoch, NodeId, ReplicaKey
from node.messages import EndQuorumEpochRequest, FetchRequest, VoteRequest, VoteResponse
from node.raft.outbox import Ask
from node.raft.roles import Candidate, Follower, Leader, Resigned, Unattached
from tests.support.memory_log import MemoryLog
from tests.support.rig import ME, Rig, batch, begin, fetch, key, log_of, vote


def stored(epoch: int, *, leader: int = -1, voted: ReplicaKey | None = None) -> ElectionState:
    return ElectionState(epoch=Epoch(epoch), leader=NodeId(leader), voted=voted)


def test_an_empty_disk_makes_an_unattached_node_of_epoch_0() -> None:
    rig = Rig()
    assert isinstance(rig.role, Unattached)
    assert rig.role.epoch == 0


def test_a_log_newer_than_quorum_state_gives_the_epoch() -> None:
    rig = Rig(log=log_of(1, 4), election=stored(3, leader=2))
    assert isinstance(rig.role, Unattached)
    assert rig.election == stored(4)


def test_a_former_leader_starts_resigned_in_its_epoch_and_goes_on_in_the_next() -> None:
    rig = Rig(log=log_of(1, 3), election=stored(3, leader=1))
    assert isinstance(rig.role, Resigned)
    told = rig.asks(EndQuorumEpochRequest)
    assert [request.preferred for request in told] == [(), ()]
    rig.pass_ms(2000)
    assert rig.role.epoch == 4
    assert not isinstance(rig.role, Leader)


def test_a_former_candidate_asks_for_votes_again_in_the_same_epoch() -> None:
    rig = Rig(election=stored(3, voted=ME))
    assert isinstance(rig.role, Candidate)
    assert {(request.epoch, request.pre_vote) for request in _votes(rig)} == {(3, False)}


def test_a_vote_for_our_id_on_another_disk_was_not_ours() -> None:
    rig = Rig(election=stored(3, voted=key(1, directory=9)))
    assert isinstance(rig.role, Unattached)
    assert rig.role.voted == key(1, directory=9)


def test_a_known_leader_is_followed_at_once_and_the_vote_is_remembered() -> None:
    rig = Rig(log=log_of(1), election=stored(3, leader=2, voted=key(3)))
    assert isinstance(rig.role, Follower)
    assert rig.role.voted == key(3)
    assert isinstance(rig.last_ask(2), FetchRequest)


def test_a_leader_that_is_no_voter_cannot_be_followed() -> None:
    rig = Rig(election=stored(3, leader=9))
    assert isinstance(rig.role, Unattached)
    assert rig.role.leader == 9


def test_the_vote_of_an_epoch_is_remembered_over_a_restart() -> None:
    rig = Rig(election=stored(3, voted=key(2)))
    refused = rig.request(vote(epoch=3, candidate=key(3)))
    assert isinstance(refused, VoteResponse)
    assert not refused.granted
    again = rig.request(vote(epoch=3, candidate=key(2)), connection=2)
    assert isinstance(again, VoteResponse)
    assert again.granted


def test_nothing_is_claimed_before_the_log_that_was_found_is_flushed() -> None:
    log = MemoryLog()
    log.append(batch(0, 1))  # in the page cache of a process that was killed
    rig = Rig(log=log, election=stored(1, leader=2), flushes=False)
    assert rig.asks(FetchRequest) == []
    rig.flush()
    assert rig.asks(FetchRequest)


def test_election_state_is_persisted_before_anything_is_sent() -> None:
    rig = Rig()
    rig.request(vote(epoch=4))
    kinds = [type(output).__name__ for output in rig.outputs]
    assert kinds.index("PersistElectionState") < kinds.index("Answer")
    rig = Rig(size=3)
    rig.become_leader()
    assert not any(isinstance(output, Ask) for output in _before_persist(rig))


def test_a_single_voter_elects_itself_at_once() -> None:
    rig = Rig(size=1)
    assert isinstance(rig.role, Leader)
    assert rig.high_watermark == rig.log.end().offset
    rig.pass_ms(10_000)
    assert isinstance(rig.role, Leader), "check-quorum never fires for it"
    assert rig.request(fetch(replica=key(9))) is not None, "an observer is served"


def test_an_observer_never_stands_for_election_and_asks_only_voters() -> None:
    rig = Rig(me=key(1, directory=999))
    rig.pass_ms(20_000)
    assert isinstance(rig.role, Unattached)
    assert {ask.peer for ask in rig.asked} == {2, 3}
    rig.request(begin(leader=2, epoch=1, voter=key(1, directory=999)))
    assert isinstance(rig.role, Follower)
    rig.pass_ms(4000)
    assert isinstance(rig.role, Unattached), "it looks for another leader"


def _votes(rig: Rig) -> list[VoteRequest]:
    return [ask.request for ask in rig.asked if isinstance(ask.request, VoteRequest)]


def _before_persist(rig: Rig) -> list[object]:
    at = next(i for i, o in enumerate(rig.outputs) if isinstance(o, PersistElectionState))
    return list(rig.outputs[:at])
