"""What a leader owes: LeaderChange, BeginQuorumEpoch, check-quorum, the high watermark, Fetch."""

import pytest

from node.effects import PersistElectionState
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, LogPosition, NodeId, Offset
from node.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    QuorumEpochResponse,
)
from node.raft.roles import Leader, Resigned
from node.records.batch import split_batches
from node.records.control import LeaderChange, decode_control
from tests.support.memory_log import MemoryLog
from tests.support.rig import NO_OP, QUIET, Rig, fetch, key, log_of


def led(*, size: int = 3, log: MemoryLog | None = None, flushes: bool = True) -> Rig:
    rig = Rig(size=size, log=log, flushes=flushes, timeouts=QUIET)
    rig.become_leader()
    assert isinstance(rig.role, Leader)
    return rig


def ask(rig: Rig, request: FetchRequest, connection: int = 1) -> FetchResponse | None:
    answer = rig.request(request, connection)
    assert answer is None or isinstance(answer, FetchResponse)
    return answer


def told(rig: Rig, request: FetchRequest, connection: int = 1) -> FetchResponse:
    answer = ask(rig, request, connection)
    assert answer is not None, "parked"
    return answer


def test_leader_change_is_the_first_batch_of_an_epoch() -> None:
    rig = led(log=log_of(1, 1))
    batch = next(split_batches(rig.log.read(Offset(2), 1000)))
    assert batch.header.leader_epoch == rig.role.epoch
    record = next(batch.records())
    assert decode_control(record.key, record.value) == LeaderChange(
        leader=NodeId(1),
        voters=(NodeId(1), NodeId(2), NodeId(3)),
        granting_voters=(NodeId(1), NodeId(2)),
    )


def test_leadership_is_persisted_before_leader_change_is_written() -> None:
    names = [type(output).__name__ for output in led().outputs]
    assert names.index("PersistElectionState") < names.index("AppendBatches")


def test_a_leader_writes_no_vote() -> None:
    assert led().election.voted is None


def test_begin_quorum_epoch_goes_out_at_once_and_again_to_the_silent() -> None:
    rig = led()
    assert {request.voter for request in rig.asks(BeginQuorumEpochRequest)} == {2, 3}
    for peer in (2, 3):
        rig.reply(peer, QuorumEpochResponse(leader=NodeId(1), epoch=Epoch(1)))
    rig.pass_ms(500)
    ask(rig, fetch(replica=key(2)))
    rig.pass_ms(600)
    assert len(rig.asks(BeginQuorumEpochRequest, peer=3)) == 2
    assert len(rig.asks(BeginQuorumEpochRequest, peer=2)) == 1
    rig.pass_ms(500)
    assert len(rig.asks(BeginQuorumEpochRequest, peer=2)) == 2


def test_a_leader_that_no_majority_fetches_from_resigns_after_one_and_a_half_fetch_time_outs() -> (
    None
):
    rig = led()
    rig.pass_ms(2990)
    assert isinstance(rig.role, Leader)
    rig.pass_ms(20)
    assert isinstance(rig.role, Resigned)
    assert rig.election.leader == 1, "resigning is memory only"


def test_check_quorum_is_not_forgotten_when_input_comes_at_its_deadline() -> None:
    rig = led()
    assert isinstance(rig.role, Leader)
    rig.now_ns = rig.role.check_quorum_deadline_ns + 1
    rig.core.on_request(ConnectionId(7), "EXTERNAL", DescribeQuorumRequest(), rig.now())
    assert isinstance(rig.role, Leader), "a fetch that calms the timer may be next"
    assert rig.core.next_deadline_ns() <= rig.now_ns
    rig.pass_ms(0)
    assert isinstance(rig.role, Resigned)


def test_one_follower_of_two_keeps_a_leader_in_office() -> None:
    rig = led()
    for _ in range(10):
        rig.pass_ms(1000)
        ask(rig, fetch(replica=key(2), max_wait_ms=0))
    assert isinstance(rig.role, Leader)


def test_a_replica_that_is_no_voter_does_not_keep_a_leader_in_office() -> None:
    rig = led()
    for _ in range(4):
        rig.pass_ms(1000)
        ask(rig, fetch(replica=key(2, directory=9), max_wait_ms=0))
    assert not isinstance(rig.role, Leader)


def test_a_resigned_leader_tells_the_others_who_has_fetched_furthest() -> None:
    rig = led(log=log_of(1, 1))
    epoch = rig.role.epoch
    ask(rig, fetch(epoch=epoch, replica=key(2), offset=1, last_epoch=1))
    ask(rig, fetch(epoch=epoch, replica=key(3), offset=2, last_epoch=1), 2)
    rig.lose(2)
    rig.lose(3)
    rig.pass_ms(4000)
    requests = rig.asks(EndQuorumEpochRequest)
    assert {request.preferred for request in requests} == {(key(3), key(2))}


def test_who_acknowledged_a_resignation_is_not_told_again() -> None:
    rig = led()
    rig.lose(2)
    rig.lose(3)
    rig.pass_ms(3010)
    rig.reply(2, QuorumEpochResponse(leader=NodeId(1), epoch=Epoch(1)))
    rig.lose(3)
    rig.pass_ms(400)
    assert len(rig.asks(EndQuorumEpochRequest, peer=2)) == 1
    assert len(rig.asks(EndQuorumEpochRequest, peer=3)) == 2


def test_the_high_watermark_waits_for_leader_change_on_a_majority() -> None:
    rig = led(log=log_of(1, 1))
    assert rig.high_watermark is None, "a new leader starts without one"
    ask(rig, fetch(epoch=rig.role.epoch, offset=2, last_epoch=1))
    assert rig.high_watermark is None
    ask(rig, fetch(epoch=rig.role.epoch, offset=3, last_epoch=rig.role.epoch))
    assert rig.high_watermark == 3


def test_a_leader_counts_its_own_log_only_as_far_as_it_is_flushed() -> None:
    rig = led(flushes=False)
    ask(rig, fetch(replica=key(2), offset=0), 2)
    rig.flush()
    ask(rig, fetch(replica=key(3), offset=1, last_epoch=1), 3)
    assert rig.high_watermark == 1, "what is flushed and on node 3"
    rig.core.raft.append([(None, NO_OP)], rig.now())
    rig.request(DescribeQuorumRequest(), 9)
    end = rig.log.end().offset
    ask(rig, fetch(replica=key(3), offset=end, last_epoch=1), 4)
    assert rig.high_watermark == 1, "node 3 has it, we do not yet"
    rig.flush()
    assert rig.high_watermark == end


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (fetch(epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(offset=-1), ErrorCode.INVALID_REQUEST),
        (fetch(last_epoch=-1), ErrorCode.INVALID_REQUEST),
        (fetch(last_epoch=2), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_fetch_that_does_not_fit_is_refused_at_its_partition(
    request_: FetchRequest, error: ErrorCode
) -> None:
    answer = told(led(), request_)
    assert (answer.top_error, answer.error) == (ErrorCode.NONE, error)
    assert (answer.leader, answer.epoch) == (1, 1)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (fetch(cluster="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (fetch(partition_ok=False), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_fetch_of_another_cluster_or_partition_is_refused_as_a_whole(
    request_: FetchRequest, error: ErrorCode
) -> None:
    assert told(led(), request_).top_error == error


def test_a_follower_sends_fetches_to_whom_it_follows() -> None:
    rig = Rig()
    rig.follow(leader=2, epoch=1)
    answer = told(rig, fetch())
    assert answer.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.leader, answer.epoch) == (2, 1)


def test_a_diverging_fetch_is_told_where_and_does_not_count() -> None:
    rig = led(log=log_of(1, 1))
    epoch = rig.role.epoch
    answer = told(rig, fetch(epoch=epoch, offset=9, last_epoch=1))
    assert answer.diverging == LogPosition(Epoch(1), Offset(2))
    assert answer.records == b""
    assert isinstance(rig.role, Leader)
    assert rig.role.replicas[key(2)].end is None


def test_a_fetch_behind_gets_records_at_once_uncommitted_too() -> None:
    rig = led(log=log_of(1, 1))
    answer = told(rig, fetch(epoch=rig.role.epoch, offset=1, last_epoch=1))
    assert [b.header.base_offset for b in split_batches(answer.records)] == [1, 2]
    assert answer.high_watermark == -1


def test_a_fetch_at_the_end_is_parked_until_its_time_is_up() -> None:
    rig = led()
    assert ask(rig, fetch(offset=1, last_epoch=1, high_watermark=1)) is None
    rig.pass_ms(300)
    assert rig.answered() == []
    rig.pass_ms(201)
    assert len(rig.answered()) == 1


def test_a_parked_fetch_is_answered_when_records_are_flushed() -> None:
    rig = led(flushes=False)
    rig.flush()
    ask(rig, fetch(offset=1, last_epoch=1, high_watermark=1))
    rig.core.raft.append([(None, NO_OP)], rig.now())
    rig.request(DescribeQuorumRequest(), 9)
    assert rig.answered() == []
    rig.flush()
    assert len(rig.answered()) == 1


def test_a_follower_whose_high_watermark_is_older_is_answered_at_once() -> None:
    rig = led(flushes=False)
    rig.flush()
    assert ask(rig, fetch(offset=1, last_epoch=1, high_watermark=-1), 1) is not None
    assert rig.high_watermark == 1
    assert ask(rig, fetch(offset=1, last_epoch=1, high_watermark=0), 2) is not None
    assert ask(rig, fetch(offset=1, last_epoch=1, high_watermark=1), 3) is None


def test_a_parked_fetch_learns_a_new_high_watermark() -> None:
    rig = led(size=5, flushes=False)
    rig.flush()
    ask(rig, fetch(replica=key(2), offset=1, last_epoch=1, high_watermark=-1), 2)
    assert rig.answered(2) == []
    ask(rig, fetch(replica=key(3), offset=1, last_epoch=1, high_watermark=-1), 3)
    assert rig.high_watermark == 1
    assert len(rig.answered(2)) == 1


def test_parked_fetches_are_refused_when_leadership_is_lost() -> None:
    rig = led()
    ask(rig, fetch(offset=1, last_epoch=1, high_watermark=1, max_wait_ms=60_000))
    rig.follow(leader=3, epoch=5)
    (answer,) = rig.answered()
    assert isinstance(answer, FetchResponse)
    assert (answer.error, answer.leader, answer.epoch) == (6, 3, 5)


def test_a_fetch_behind_a_parked_one_on_the_same_connection_waits_its_turn() -> None:
    rig = led()
    ask(rig, fetch(offset=1, last_epoch=1, high_watermark=1))
    assert rig.request(DescribeQuorumRequest()) is None
    rig.pass_ms(600)
    kinds = [type(answer).__name__ for answer in rig.answered()]
    assert kinds == ["FetchResponse", "DescribeQuorumResponse"]


def test_describe_quorum_tells_what_the_leader_knows_of_each_replica() -> None:
    rig = led()
    ask(rig, fetch(replica=key(2), offset=1, last_epoch=1))
    ask(rig, fetch(replica=key(9), offset=0), 2)
    answer = rig.request(DescribeQuorumRequest(), 5)
    assert isinstance(answer, DescribeQuorumResponse)
    assert [status.log_end for status in answer.voters] == [rig.log.end().offset, 1, -1]
    assert [status.key for status in answer.observers] == [key(9)]
    assert answer.nodes[0][1][1].name == "EXTERNAL"


def test_traces_of_fetches_tell_only_what_is_new() -> None:
    rig = led()
    for _ in range(3):
        ask(rig, fetch(offset=1, last_epoch=1, max_wait_ms=0))
    assert sum(trace.event == "q.fetch" for trace in rig.traces) == 1


def test_a_restart_never_leads_on_in_the_same_epoch() -> None:
    rig = led()
    again = Rig(log=rig.log, election=rig.election)
    assert isinstance(again.role, Resigned)
    assert not any(isinstance(output, PersistElectionState) for output in again.outputs)
