"""Fetches that clients make up: what they may not have of a broker."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from node import limits
from node.effects import SendResponse, TimeoutElapsed
from node.errors import ErrorCode
from node.ids import MS, ConnectionId, NodeId, Offset
from node.records.batch import read_header
from node.records.metadata import MetadataRecord, TopicRecord
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_membership import HeartbeatRequest, HeartbeatResponse
from node.wire.group_offsets import CommittedOffset, OffsetCommitRequest
from node.wire.partition_fetch import (
    CONSUMER,
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from tests.node.broker.test_gone_offsets import replicated
from tests.support.batches import timed_batch
from tests.support.stepped_broker import (
    FIRST_TOPIC,
    ME,
    OFFSETS_TOPIC_ID,
    SteppedBroker,
    partition_of,
    registered,
)

FOLLOWER = NodeId(5)
MOST = 2**31 - 1
AT = TopicPartition(name="t", id=FIRST_TOPIC, index=0)
FOLLOWED = TopicPartition(name="t", id=FIRST_TOPIC, index=1)
OFFSETS = TopicPartition(name="__consumer_offsets", id=OFFSETS_TOPIC_ID, index=0)
VERSION = 12  # the last one that names topics


def followed() -> Iterator[MetadataRecord]:
    for broker in (ME, FOLLOWER):
        yield registered(broker)
    for at in (AT, OFFSETS):
        yield TopicRecord(name=at.name, topic_id=at.id)
        yield partition_of(at.id, 0, (ME, FOLLOWER))
    yield partition_of(AT.id, 1, (FOLLOWER, ME))


class Client:
    def __init__(self) -> None:
        self.broker = SteppedBroker(told=followed())

    def fetch(
        self,
        *at: TopicPartition,
        offset: int = 0,
        replica: NodeId = CONSUMER,
        max_bytes: int = MOST,
        in_all: int = MOST,
        last_epoch: int = -1,
        version: int = VERSION,
    ) -> PartitionsFetchResponse:
        request = PartitionsFetchRequest(
            replica=replica,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=in_all,
            partitions=tuple(
                FetchedPartition(
                    partition=each, offset=offset, last_epoch=last_epoch, max_bytes=max_bytes
                )
                for each in at
            ),
        )
        header, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
        answer = decode_response(header, self._serve(frame))
        assert isinstance(answer, PartitionsFetchResponse)
        return answer

    def produce(self, records: bytes) -> None:
        request = ProduceRequest(
            acks=1,
            timeout_ms=1000,
            partitions=(ProducedPartition(partition=AT, records=records),),
        )
        header, frame = encode_request(request, correlation_id=1, client_id="c")
        answer = decode_response(header, self._serve(frame))
        assert isinstance(answer, ProduceResponse)
        assert answer.results[0].error is ErrorCode.NONE

    def _serve(self, frame: bytes) -> bytes:
        done = self.broker.serve(frame)
        assert isinstance(done, SendResponse)
        return done.frame


def remembered(client: Client) -> list[NodeId]:
    """Those who were told something, by any of its replicas."""
    replicas = [held.replica for held in client.broker.node.core.role.replicas.all()]
    known = [each.leading.followers for each in replicas if each.leading is not None]
    return [who for followers in known for who, each in followers.items() if each.told is not None]


def test_no_follower_is_remembered_that_is_none() -> None:
    client = Client()
    for number in range(100):
        unknown = TopicPartition(name=f"u{number}", id=UUID(int=number), index=number)
        answer = client.fetch(AT, unknown, replica=NodeId(100 + number))
        assert all(each.error for each in answer.partitions)
        client.fetch(unknown, replica=FOLLOWER)
    assert remembered(client) == []
    assert client.fetch(AT, replica=FOLLOWER).partitions[0].error is ErrorCode.NONE
    assert remembered(client) == [FOLLOWER]


def test_a_follower_that_goes_back_leaves_the_isr_in_time() -> None:
    """Nothing else happens to the partition meanwhile, which had all that its leader has."""
    client = Client()
    broker, lag_ns = client.broker, 30_000 * MS  # replica.lag.time.max.ms
    held = broker.node.core.role.replicas.find(AT)
    assert held is not None
    assert held.replica.leading is not None
    client.produce(timed_batch(100, 200))
    client.fetch(AT, offset=2, replica=FOLLOWER)
    began = broker.now_ns
    while broker.now_ns < began + 2 * lag_ns:
        broker.elapse()
    assert held not in broker.node.core.role.replicas.take_ahead()
    assert held.replica.leading.isr.pending is None, "it has all, however long ago it asked"
    client.fetch(AT, offset=1, replica=FOLLOWER)
    began = broker.now_ns
    while held.replica.leading.isr.pending is None:
        assert broker.now_ns <= began + 2 * lag_ns
        broker.elapse()
    assert held.replica.leading.isr.pending.brokers == (ME,)


def test_an_answer_is_no_larger_than_others_take(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    batch = timed_batch(100, 200)
    for _ in range(3):
        client.produce(batch)
    client.fetch(AT, offset=6, replica=FOLLOWER)
    assert len(client.fetch(AT).partitions[0].records) == 3 * len(batch)
    monkeypatch.setattr(limits, "MAX_PARTITIONS_FETCH_BYTES", 2 * len(batch))
    assert len(client.fetch(AT).partitions[0].records) == 2 * len(batch)
    first, second = client.fetch(AT, AT).partitions
    assert (len(first.records), second.records) == (2 * len(batch), b"")


def test_what_is_read_while_it_is_sent_is_what_is_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()
    batch = timed_batch(100, 200)
    for _ in range(3):
        client.produce(batch)
    client.fetch(AT, offset=6, replica=FOLLOWER)
    monkeypatch.setattr(limits, "MAX_READ_AT_ONCE", 3 * len(batch))
    at_once = client.fetch(AT)
    monkeypatch.setattr(limits, "MAX_READ_AT_ONCE", 3 * len(batch) - 1)
    assert client.fetch(AT) == at_once
    assert len(at_once.partitions[0].records) == 3 * len(batch)


def test_consumers_get_whole_batches_below_the_high_watermark() -> None:
    """Also where somebody says that a follower has half of one."""
    client = Client()
    batch = timed_batch(100, 200)
    client.produce(batch)
    client.produce(batch)
    client.fetch(AT, offset=3, replica=FOLLOWER)
    (told,) = client.fetch(AT).partitions
    assert (told.high_watermark, len(told.records)) == (3, len(batch))


def test_the_first_batch_is_returned_whatever_the_limits_are() -> None:
    client = Client()
    batch = timed_batch(100, 200)
    for _ in range(2):
        client.produce(batch)
    client.fetch(AT, offset=4, replica=FOLLOWER)
    first, second = client.fetch(AT, AT, in_all=0).partitions
    assert (len(first.records), second.records) == (len(batch), b"")


def test_nothing_is_known_of_an_epoch_above_the_leaders() -> None:
    client = Client()
    client.produce(timed_batch(100))
    client.fetch(AT, offset=1, replica=FOLLOWER)
    for epoch, error in ((0, ErrorCode.NONE), (1, ErrorCode.OFFSET_OUT_OF_RANGE)):
        assert client.fetch(AT, last_epoch=epoch).partitions[0].error is error


@pytest.mark.parametrize(
    ("version", "error"), [(10, ErrorCode.NOT_LEADER_OR_FOLLOWER), (11, ErrorCode.NONE)]
)
def test_consumers_fetch_from_followers_what_these_know_to_be_committed(
    version: int, error: ErrorCode
) -> None:
    client = Client()
    replicas = client.broker.node.core.role.replicas
    held = replicas.find(FOLLOWED)
    assert held is not None
    for base in range(2):
        batch = _in_log(timed_batch(100), base)
        replicas.append(held, batch, [read_header(batch)], 0)
    held.replica.told_high_watermark(Offset(1))
    client.broker.elapse()
    (told,) = client.fetch(FOLLOWED, version=version).partitions
    is_given = error is ErrorCode.NONE
    assert (told.error, len(told.records)) == (error, len(batch) if is_given else 0)


def _in_log(batch: bytes, base: int) -> bytes:
    """With an offset, and epoch 0, which the CRC does not cover."""
    return base.to_bytes(8) + batch[8:12] + bytes(4) + batch[16:]


def test_a_high_watermark_within_a_batch_of_groups_is_waited_out() -> None:
    """Nothing is due at once for ever, whoever committed is told when it is all there, and others
    are answered meanwhile."""
    client = Client()
    offsets = tuple(
        CommittedOffset(partition=TopicPartition(name="t", index=0), offset=1) for _ in range(2)
    )
    request = OffsetCommitRequest(group="g", offsets=offsets)
    _, frame = encode_request(request, correlation_id=1, client_id="c")
    assert client.broker.ask(ConnectionId(7), frame) == []
    client.fetch(OFFSETS, offset=1, replica=FOLLOWER)
    at_once = client.broker.now_ns
    for _ in range(3):
        client.broker.step(TimeoutElapsed())
    assert client.broker.node.next_deadline_ns() > at_once
    assert _heartbeat(client) is ErrorCode.UNKNOWN_MEMBER_ID
    assert ConnectionId(7) in {each.connection for each in replicated(client.broker)}


def _heartbeat(client: Client) -> ErrorCode:
    request = HeartbeatRequest(group="g", generation=0, member="m")
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    answer = decode_response(header, client._serve(frame))
    assert isinstance(answer, HeartbeatResponse)
    return answer.error
