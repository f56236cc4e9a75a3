"""What a follower does with answers to its Fetch, and how a node without a leader finds one."""

import pytest

from node.effects import AppendBatches, FlushLog, TruncateLog
from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    QuorumEpochResponse,
    VoteRequest,
)
from node.raft.roles import Follower, Leader, Prospective, Resigned, Unattached
from tests.support.memory_log import MemoryLog
from tests.support.rig import CLUSTER, ME, MS, QUIET, Rig, batch, begin, key, log_of


def following(*, log: MemoryLog | None = None, flushes: bool = True, epoch: int = 3) -> Rig:
    rig = Rig(log=log, flushes=flushes)
    rig.follow(leader=2, epoch=epoch)
    assert isinstance(rig.role, Follower)
    return rig


def told(rig: Rig, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> QuorumEpochResponse:
    answer = rig.request(request, 50)
    assert isinstance(answer, QuorumEpochResponse)
    return answer


def end(
    epoch: int = 3, *, leader: int = 2, preferred: tuple[ReplicaKey, ...] = ()
) -> EndQuorumEpochRequest:
    return EndQuorumEpochRequest(
        cluster_id=CLUSTER, leader=NodeId(leader), epoch=Epoch(epoch), preferred=preferred
    )


def test_begin_quorum_epoch_is_followed_and_fetched_from() -> None:
    rig = Rig(log=log_of(1, 1))
    rig.follow(leader=3, epoch=4)
    request = rig.last_ask(3)
    assert isinstance(request, FetchRequest)
    assert (request.epoch, request.fetch_offset, request.last_epoch) == (4, 2, 1)
    assert request.high_watermark == -1
    assert (rig.election.epoch, rig.election.leader) == (4, 3)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (begin(epoch=2), ErrorCode.FENCED_LEADER_EPOCH),
        (begin(epoch=3, leader=3), ErrorCode.INVALID_REQUEST),  # a second leader of the epoch
        (begin(epoch=4, leader=9), ErrorCode.INVALID_REQUEST),  # no voter
        (begin(epoch=4, leader=1), ErrorCode.INVALID_REQUEST),  # ourselves
        (begin(epoch=4, leader=-1), ErrorCode.INVALID_REQUEST),
        (end(epoch=2), ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_news_that_cannot_be_true_is_refused(
    request_: BeginQuorumEpochRequest | EndQuorumEpochRequest, error: ErrorCode
) -> None:
    rig = following()
    assert told(rig, request_).error == error
    assert (rig.role.epoch, rig.core.raft.quorum.leader) == (3, 2)


def test_news_for_another_cluster_or_voter_is_refused() -> None:
    rig = following()
    assert told(rig, begin(epoch=4, cluster="x")).top_error == ErrorCode.INCONSISTENT_CLUSTER_ID
    other = begin(epoch=4, leader=3, voter=key(1, directory=9))
    assert told(rig, other).error == ErrorCode.INVALID_VOTER_KEY
    assert rig.role.epoch == 4, "the news of the leader holds all the same"


def test_the_next_fetch_goes_out_only_after_the_flush() -> None:
    rig = following(flushes=False)
    rig.feed(batch(0, 3), hwm=0, epoch=3)
    kinds = [type(output) for output in rig.outputs]
    assert kinds.index(AppendBatches) < kinds.index(FlushLog)
    before = len(rig.asks(FetchRequest))
    rig.flush()
    (request,) = rig.asks(FetchRequest)[before:]
    assert request.fetch_offset == 1


def test_the_high_watermark_is_the_smaller_of_the_leaders_and_our_durable_end() -> None:
    rig = following(flushes=False)
    rig.feed(batch(0, 3) + batch(1, 3), hwm=9, epoch=3)
    assert rig.high_watermark is None
    rig.flush()
    assert rig.high_watermark == 2
    rig.feed(batch(2, 3), hwm=1, epoch=3)
    rig.flush()
    assert rig.high_watermark == 2, "it never goes down"


def test_divergence_truncates_flushes_and_fetches_again() -> None:
    rig = following(log=log_of(1, 2, 2))
    answer = FetchResponse(
        leader=NodeId(2), epoch=Epoch(3), diverging=LogPosition(Epoch(1), Offset(1))
    )
    rig.reply(2, answer)
    assert TruncateLog(end=Offset(1)) in rig.outputs
    request = rig.last_ask(2)
    assert isinstance(request, FetchRequest)
    assert (request.fetch_offset, request.last_epoch) == (1, 1)


def test_truncation_below_the_high_watermark_stops_the_node() -> None:
    rig = following()
    rig.feed(batch(0, 3), hwm=1, epoch=3)
    answer = FetchResponse(
        leader=NodeId(2), epoch=Epoch(3), diverging=LogPosition(Epoch(0), Offset(0))
    )
    with pytest.raises(AssertionError, match="below"):
        rig.reply(2, answer)


def test_an_answer_of_an_older_epoch_is_dropped() -> None:
    rig = following()
    rig.feed(batch(0, 2), hwm=1, epoch=2)
    assert rig.log.end().offset == 0
    assert rig.high_watermark is None


def test_an_answer_of_a_higher_epoch_moves_the_follower_and_brings_no_records() -> None:
    rig = following()
    rig.reply(
        2,
        FetchResponse(
            error=ErrorCode.FENCED_LEADER_EPOCH,
            leader=NodeId(3),
            epoch=Epoch(7),
            records=batch(0, 7),
        ),
    )
    assert (rig.role.epoch, rig.core.raft.quorum.leader) == (7, 3)
    assert rig.log.end().offset == 0
    assert isinstance(rig.last_ask(3), FetchRequest)


def test_an_answer_on_a_connection_since_dropped_is_ignored() -> None:
    rig = following()
    rig.follow(leader=3, epoch=4)
    rig.feed(batch(0, 3), hwm=1, epoch=3)
    assert rig.log.end().offset == 0


def test_a_refused_fetch_backs_off() -> None:
    rig = following()
    rig.reply(
        2, FetchResponse(error=ErrorCode.UNKNOWN_LEADER_EPOCH, epoch=Epoch(3), leader=NodeId(2))
    )
    assert len(rig.asks(FetchRequest, peer=2)) == 1
    rig.pass_ms(25)
    assert len(rig.asks(FetchRequest, peer=2)) == 2


def test_fetches_reset_the_fetch_time_out_and_its_end_makes_prospective() -> None:
    rig = following()
    for _ in range(4):
        rig.pass_ms(1500)
        rig.feed(epoch=3)
    assert isinstance(rig.role, Follower)
    rig.pass_ms(2030)
    assert isinstance(rig.role, Prospective)
    assert rig.asks(VoteRequest)


def test_a_prospective_node_that_hears_its_leader_follows_again() -> None:
    rig = following()
    rig.pass_ms(2030)
    assert isinstance(rig.role, Prospective)
    rig.follow(leader=2, epoch=3)
    assert isinstance(rig.role, Follower)


def test_a_follower_whose_leader_cannot_be_reached_asks_the_others() -> None:
    rig = following()
    rig.lose(2)
    assert isinstance(rig.last_ask(3), FetchRequest)


@pytest.mark.parametrize(
    ("preferred", "wait_ms"), [((), 0), ((ME, key(3)), 0), ((key(3), ME), 500), ((key(3),), 1000)]
)
def test_end_quorum_epoch_sets_the_fetch_timer_by_the_place_in_line(
    preferred: tuple[ReplicaKey, ...], wait_ms: int
) -> None:
    rig = following()
    assert told(rig, end(preferred=preferred)).error == ErrorCode.NONE
    if wait_ms:
        assert isinstance(rig.role, Follower)
        assert rig.role.fetch_deadline_ns == rig.now_ns + wait_ms * MS
    else:
        assert isinstance(rig.role, Prospective)


def test_a_voter_without_a_leader_fetches_from_others_and_follows_what_they_say() -> None:
    rig = Rig()
    (ask,) = rig.asked
    assert isinstance(ask.request, FetchRequest)
    rig.reply(
        ask.peer,
        FetchResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=NodeId(3), epoch=Epoch(0)),
    )
    assert isinstance(rig.role, Follower)
    assert rig.role.leader == 3


def test_a_voter_that_fetched_from_the_leader_by_chance_uses_the_answer() -> None:
    rig = Rig()
    (ask,) = rig.asked
    rig.reply(
        ask.peer,
        FetchResponse(leader=ask.peer, epoch=Epoch(0), high_watermark=-1, records=batch(0, 0)),
    )
    assert isinstance(rig.role, Follower)
    assert rig.log.end().offset == 1


def test_prospective_and_candidate_never_fetch() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    count = len(rig.asks(FetchRequest))
    rig.lose(2)
    rig.lose(3)
    rig.pass_ms(200)
    assert isinstance(rig.role, Prospective)
    assert len(rig.asks(FetchRequest)) == count


def test_a_request_that_is_not_answered_in_time_costs_its_connection() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)
    before = len(rig.asks(VoteRequest, peer=3))
    rig.pass_ms(2030)
    assert len(rig.asks(VoteRequest, peer=3)) == before + 1


def test_attempts_to_reach_a_dead_node_become_rarer() -> None:
    rig = Rig(timeouts=QUIET)
    rig.become_leader()
    for _ in range(20):
        rig.lose(3)
        rig.pass_ms(330)
        if not isinstance(rig.role, Leader):
            break
    assert isinstance(rig.role, Resigned | Unattached | Prospective)
    assert len(rig.asks(BeginQuorumEpochRequest, peer=3)) < 15
