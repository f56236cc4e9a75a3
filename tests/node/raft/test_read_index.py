"""Which fetches confirm that the leader still leads (Raft thesis 6.4)."""

from dataclasses import dataclass

from node.ids import ConnectionId, ReplicaKey
from node.raft.replicas import ReadIndex
from node.raft.voter_set import VoterSet
from tests.support.rig import ME, key

A, B = ConnectionId(1), ConnectionId(2)


@dataclass(frozen=True)
class Electorate:
    voters: VoterSet
    key: ReplicaKey = ME


def index(size: int = 3) -> ReadIndex:
    return ReadIndex(Electorate(VoterSet.of([(key(i), ()) for i in range(1, size + 1)])))


def test_a_single_voter_confirms_itself() -> None:
    reads = index(1)
    ticket = reads.take_ticket()
    assert reads.confirmed() == ticket


def test_a_fetch_that_was_on_its_way_confirms_nothing() -> None:
    reads = index()
    reads.on_response(A, key(2), 0)
    ticket = reads.take_ticket()
    reads.on_fetch(A, key(2))
    assert reads.confirmed() < ticket


def test_a_fetch_after_an_answer_on_the_same_connection_confirms() -> None:
    reads = index()
    ticket = reads.take_ticket()
    assert reads.awaits(key(2))
    reads.on_response(A, key(2), 0)
    reads.on_fetch(A, key(2))
    assert reads.confirmed() == ticket
    assert not reads.awaits(key(2))
    assert not reads.awaits(key(3)), "a majority is enough"


def test_a_fetch_on_another_connection_confirms_nothing() -> None:
    reads = index()
    ticket = reads.take_ticket()
    reads.on_response(A, key(2), 0)
    reads.on_fetch(B, key(2))
    assert reads.confirmed() < ticket


def test_reads_that_arrive_after_the_answer_wait_for_the_next_round() -> None:
    reads = index()
    first = reads.take_ticket()
    reads.on_response(A, key(2), 0)
    second = reads.take_ticket()
    reads.on_fetch(A, key(2))
    assert reads.confirmed() == first
    assert reads.awaits(key(2))
    reads.on_response(A, key(2), 0)
    reads.on_fetch(A, key(2))
    assert reads.confirmed() == second


def test_five_voters_need_two_others_and_strangers_do_not_count() -> None:
    reads = index(5)
    ticket = reads.take_ticket()
    for connection, voter in ((A, key(2)), (B, key(2, directory=9)), (B, key(9))):
        reads.on_response(connection, voter, 0)
        reads.on_fetch(connection, voter)
    assert reads.confirmed() < ticket
    reads.on_response(B, key(3), 0)
    reads.on_fetch(B, key(3))
    assert reads.confirmed() == ticket


def test_a_new_epoch_forgets_what_was_confirmed_and_promised() -> None:
    reads = index()
    ticket = reads.take_ticket()
    reads.on_response(A, key(2), 0)
    reads.restart()
    reads.on_fetch(A, key(2))
    assert reads.confirmed() < ticket
    reads.on_response(A, key(2), 0)
    reads.on_closed(A)
    reads.on_fetch(A, key(2))
    assert reads.confirmed() < ticket
