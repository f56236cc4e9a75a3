"""A request of many MiB is appended in parts, and others are served between them."""

import pytest

from node.effects import CloseConnection, ConnectionClosed, NoResponse, SendResponse
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, LogId, Offset
from node.records.batch import encode_batch
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.frames import RequestHeader
from node.wire.produce import PRODUCE, ProducedPartition, ProduceRequest, ProduceResponse
from tests.support.stepped_broker import FIRST_TOPIC, Done, SteppedBroker

LARGE, SMALL = ConnectionId(1), ConnectionId(2)
MANY = 40
MB = 1_000_000


def frame_of(first: int, count: int, size: int, acks: int) -> bytes:
    """A record of that size to each of so many partitions."""
    records = encode_batch(
        [(None, bytes(size))], base_offset=Offset(0), leader_epoch=Epoch(0), timestamp_ms=1
    )
    produced = tuple(
        ProducedPartition(
            partition=TopicPartition(name="topic-0", id=FIRST_TOPIC, index=index), records=records
        )
        for index in range(first, first + count)
    )
    request = ProduceRequest(acks=acks, timeout_ms=1000, partitions=produced)
    return encode_request(request, correlation_id=1, client_id="c")[1]


def errors(done: Done) -> list[ErrorCode]:
    assert isinstance(done, SendResponse)
    header = RequestHeader(
        api_key=0,
        api_version=PRODUCE.max_version,
        correlation_id=1,
        client_id="c",
        request_type=ProduceRequest,
    )
    response = decode_response(header, done.frame)
    assert isinstance(response, ProduceResponse)
    return [each.error for each in response.results]


def written(broker: SteppedBroker) -> int:
    logs = [broker.replicas[LogId(f"topic-0-{index}")] for index in range(MANY)]
    return sum(log.next_offset > 0 for log in logs)


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_others_are_served_while_a_large_request_is_appended(acks: int) -> None:
    broker = SteppedBroker()
    done = broker.ask(LARGE, frame_of(0, MANY, MB, acks))
    looks = []
    while not done:
        looks.append(written(broker))
        (served,) = broker.ask(SMALL, frame_of(MANY, 1, 10, 1))
        assert errors(served) == [ErrorCode.NONE]
        assert written(broker) == looks[-1]  # who is served waits for no part of it
        done = broker.elapse()
        assert written(broker) - looks[-1] <= 5
    (last,) = done
    assert last.connection == LARGE
    assert written(broker) == MANY
    assert len(looks) >= MANY // 5
    if acks:
        assert errors(last) == [ErrorCode.NONE] * MANY
    else:
        assert isinstance(last, NoResponse)


def test_what_is_left_of_a_request_is_dropped_with_its_connection() -> None:
    broker = SteppedBroker()
    assert broker.ask(LARGE, frame_of(0, MANY, MB, 1)) == []
    before = written(broker)
    assert 0 < before < MANY
    assert broker.step(ConnectionClosed(connection=LARGE)) == []
    assert broker.elapse() == []
    assert written(broker) == before


def test_small_requests_to_many_partitions_are_parts_as_well() -> None:
    broker = SteppedBroker()
    assert broker.ask(LARGE, frame_of(0, 100, 1, 1)) == []
    (done,) = broker.elapse()
    assert errors(done) == [ErrorCode.NONE] * 100


def test_who_asked_for_no_answer_hears_of_a_refusal_in_any_part() -> None:
    broker = SteppedBroker()
    done = broker.ask(LARGE, frame_of(70, MANY, MB, 0))  # ten of them are nobody's
    while not done:
        done = broker.elapse()
    (last,) = done
    assert isinstance(last, CloseConnection)
    assert "UNKNOWN_TOPIC" in last.reason
