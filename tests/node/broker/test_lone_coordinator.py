"""A coordinator whose log does not begin at 0, and ids of producers that nobody gives."""

from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import MS, LogId, Offset
from node.records.metadata import RemoveTopicRecord
from node.wire.apis import Request, Response
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_offsets import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SoughtOffsets,
)
from node.wire.produce import InitProducerIdRequest, InitProducerIdResponse
from tests.support.stepped_broker import FIRST_TOPIC, SteppedBroker

LOG = LogId("__consumer_offsets-0")
AT = TopicPartition(name="topic-0", index=0)


def ask(broker: SteppedBroker, request: Request) -> Response:
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    done = broker.serve(frame)
    assert isinstance(done, SendResponse)
    return decode_response(header, done.frame)


def commit(broker: SteppedBroker, group: str, offset: int) -> None:
    offsets = (CommittedOffset(partition=AT, offset=offset),)
    answer = ask(broker, OffsetCommitRequest(group=group, offsets=offsets))
    assert isinstance(answer, OffsetCommitResponse)
    assert answer.results[0].error is ErrorCode.NONE


def committed(broker: SteppedBroker, group: str) -> int:
    sought = SoughtOffsets(group=group, partitions=(AT,))
    answer = ask(broker, OffsetFetchRequest(groups=(sought,)))
    assert isinstance(answer, OffsetFetchResponse)
    (found,) = answer.groups
    assert found.error is ErrorCode.NONE
    return found.offsets[0].offset


def test_what_was_deleted_before_it_led_is_not_waited_for() -> None:
    """Whoever may configure topics may have the first records of groups deleted: by age."""
    before = SteppedBroker(partitions=1)
    for number in range(3):
        commit(before, f"g{number}", number)
    before.replicas.raise_starts({LOG: Offset(2)})
    broker = SteppedBroker(partitions=1, disk=before.disk)
    assert [committed(broker, f"g{number}") for number in range(3)] == [-1, -1, 2]
    assert broker.node.next_deadline_ns() > broker.now_ns


def test_what_was_committed_goes_with_its_topic() -> None:
    broker = SteppedBroker(partitions=1)
    commit(broker, "g", 5)
    broker.tell(RemoveTopicRecord(topic_id=FIRST_TOPIC))
    broker.elapse()
    assert committed(broker, "g") == -1


def test_an_id_is_not_waited_for_without_end() -> None:
    """Where no controller is known."""
    broker = SteppedBroker(partitions=1)
    began_ns = broker.now_ns
    answer = ask(broker, InitProducerIdRequest(transactional_id=None))
    assert isinstance(answer, InitProducerIdResponse)
    assert answer.error is ErrorCode.REQUEST_TIMED_OUT
    assert broker.now_ns - began_ns == 30_000 * MS
