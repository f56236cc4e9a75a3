"""Fetch sessions (KIP-227): who asks in one is told what is new, all of it, and nothing else."""

import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from node.broker.requests.fetch import FetchRequests
from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import MS, ConnectionId, NodeId, Offset
from node.records.metadata import (
    FenceBrokerRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from node.records.schemas import NO_LEADER_CHANGE
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import (
    CONSUMER,
    FIRST_SESSION_EPOCH,
    NO_SESSION,
    NO_SESSION_EPOCH,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest
from tests.support.batches import timed_batch
from tests.support.stepped_broker import (
    FIRST_TOPIC,
    ME,
    SteppedBroker,
    partition_of,
    registered,
)

FOLLOWER = NodeId(5)
MANY = 5
MOST = 2**31 - 1
NONE = ErrorCode.NONE


def at(index: int, topic: UUID = FIRST_TOPIC) -> TopicPartition:
    return TopicPartition(id=topic, index=index)


def led(replicas: tuple[NodeId, ...] = (ME,), count: int = MANY) -> Iterator[MetadataRecord]:
    for broker in (ME, FOLLOWER):
        yield registered(broker)
    yield TopicRecord(name="t", topic_id=FIRST_TOPIC)
    for index in range(count):
        yield partition_of(FIRST_TOPIC, index, replicas)


class Cluster:
    """A broker that leads some partitions, and what is done to it."""

    def __init__(self, replicas: tuple[NodeId, ...] = (ME,), count: int = MANY) -> None:
        self.broker = SteppedBroker(told=led(replicas, count))
        self._connections = 100

    @property
    def fetches(self) -> FetchRequests:
        return self.broker.node.core.role._fetched

    def told(self, *records: MetadataRecord) -> None:
        """By the metadata log."""
        self.broker.tell(*records, groups=False)
        self.broker.elapse()

    def produce(self, index: int, count: int = 1) -> None:
        for _ in range(count):
            produced = ProducedPartition(partition=at(index), records=timed_batch(10))
            request = ProduceRequest(acks=1, timeout_ms=1000, partitions=(produced,))
            _, frame = encode_request(request, correlation_id=1, client_id="c")
            self.broker.serve(frame)
        self.broker.elapse()

    def delete(self, index: int, start: int) -> None:
        replicas = self.broker.node.core.role.replicas
        held = replicas.find(at(index))
        assert held is not None
        replicas.begin_at(held, Offset(start))
        self.broker.elapse()

    def ask(
        self, request: PartitionsFetchRequest, version: int = 18
    ) -> PartitionsFetchResponse | ConnectionId:
        """The answer, or the connection on which it waits for one."""
        self._connections += 1
        connection = ConnectionId(self._connections)
        self._header, frame = encode_request(
            request, correlation_id=1, client_id="c", version=version
        )
        done = self.broker.ask(connection, frame)
        return self._read(done[0]) if done else connection

    def until_answered(self) -> PartitionsFetchResponse:
        done = self.broker.elapse()
        while not done:
            done = self.broker.elapse()
        return self._read(done[0])

    def _read(self, done: object) -> PartitionsFetchResponse:
        assert isinstance(done, SendResponse)
        read = decode_response(self._header, done.frame)
        assert isinstance(read, PartitionsFetchResponse)
        return read


class Asking:
    """Who asks in a session, and goes on where what it was told ends."""

    def __init__(self, cluster: Cluster, replica: NodeId = CONSUMER, max_bytes: int = MOST) -> None:
        self.cluster = cluster
        self.replica = replica
        self.max_bytes = max_bytes
        self.session, self.epoch = NO_SESSION, FIRST_SESSION_EPOCH
        self.known: dict[TopicPartition, FetchedRecords] = {}
        self.ends: dict[TopicPartition, int] = {}
        self._sent: dict[TopicPartition, FetchedPartition] = {}

    def request(
        self, *forgotten: TopicPartition, wait_ms: int = 0, min_bytes: int = 1
    ) -> PartitionsFetchRequest:
        named = []
        for each in forgotten:
            self.ends.pop(each)
            self._sent.pop(each)
        for each, end in self.ends.items():
            asked = FetchedPartition(
                partition=each, offset=end, epoch=0, log_start=0, max_bytes=MOST
            )
            if self._sent.get(each) != asked or self.epoch == FIRST_SESSION_EPOCH:
                named.append(asked)
                self._sent[each] = asked
        return PartitionsFetchRequest(
            replica=self.replica,
            broker_epoch=7 if self.replica != CONSUMER else -1,
            max_wait_ms=wait_ms,
            min_bytes=min_bytes,
            max_bytes=self.max_bytes,
            session=self.session,
            session_epoch=self.epoch,
            partitions=tuple(named),
            forgotten=forgotten,
        )

    def fetch(
        self, *forgotten: TopicPartition, wait_ms: int = 0
    ) -> dict[TopicPartition, FetchedRecords]:
        """What is told; it is heeded."""
        answer = self.cluster.ask(self.request(*forgotten, wait_ms=wait_ms))
        if not isinstance(answer, PartitionsFetchResponse):
            answer = self.cluster.until_answered()
        return self.heed(answer)

    def heed(self, answer: PartitionsFetchResponse) -> dict[TopicPartition, FetchedRecords]:
        assert answer.error is NONE, answer.error
        self.session, self.epoch = answer.session, self.epoch + 1
        told = {each.partition: each for each in answer.partitions}
        for each in answer.partitions:
            self.known[each.partition] = each
            self.ends[each.partition] += len(each.records) // len(timed_batch(10))
        return told


def consumer(cluster: Cluster, *indexes: int, max_bytes: int = MOST) -> Asking:
    asking = Asking(cluster, max_bytes=max_bytes)
    asking.ends = {at(index): 0 for index in indexes or range(MANY)}
    return asking


def follower(cluster: Cluster) -> Asking:
    asking = Asking(cluster, replica=FOLLOWER)
    asking.ends = {at(index): 0 for index in range(MANY)}
    return asking


def test_the_first_answer_has_all_and_the_next_ones_what_is_new() -> None:
    cluster = Cluster()
    cluster.produce(1)
    asking = consumer(cluster)
    assert len(asking.fetch()) == MANY
    assert asking.session != NO_SESSION
    assert asking.fetch() == {}
    cluster.produce(3, 2)
    told = asking.fetch()
    assert [(each, told[each].high_watermark, bool(told[each].records)) for each in told] == [
        (at(3), 2, True)
    ]
    assert asking.fetch() == {}


def test_who_has_nothing_new_to_hear_waits_for_it() -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    began_ns = cluster.broker.now_ns
    assert asking.fetch(wait_ms=500) == {}
    assert cluster.broker.now_ns - began_ns == 500 * MS
    waiting = cluster.ask(asking.request(wait_ms=500))
    assert not isinstance(waiting, PartitionsFetchResponse)
    produced = ProducedPartition(partition=at(2), records=timed_batch(10))
    request = ProduceRequest(acks=1, timeout_ms=1000, partitions=(produced,))
    _, frame = encode_request(request, correlation_id=1, client_id="c")
    done = cluster.broker.ask(ConnectionId(7), frame) + cluster.broker.elapse()
    assert {each.connection for each in done} == {ConnectionId(7), waiting}
    assert cluster.broker.now_ns - began_ns == 500 * MS


def test_what_does_not_fit_is_told_next_and_keeps_nobody_waiting() -> None:
    cluster = Cluster()
    for index in range(MANY):
        cluster.produce(index, 3)
    asking = consumer(cluster, max_bytes=len(timed_batch(10)))
    first = []
    for _ in range(3 * MANY):
        told = [each for each, found in asking.fetch().items() if found.records]
        assert len(told) == 1
        first.append(told[0])
    assert set(first[:MANY]) == set(asking.ends), "each has its turn"
    assert set(asking.ends.values()) == {3}
    assert asking.fetch() == {}


def test_what_is_forgotten_is_not_told_of() -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    cluster.produce(1)
    cluster.produce(2)
    assert list(asking.fetch(at(1))) == [at(2)]
    left = [each for each in asking.ends if each != at(0)]
    assert asking.fetch(*left) == {}
    last = cluster.ask(asking.request(at(0)))
    assert isinstance(last, PartitionsFetchResponse)
    assert (last.error, last.session, last.partitions) == (NONE, NO_SESSION, ())
    assert len(cluster.fetches.sessions) == 0, "it asks for nothing any more"


def test_what_is_added_is_told_of_whether_it_is_new_or_not() -> None:
    cluster = Cluster()
    asking = consumer(cluster, 0)
    asking.fetch()
    asking.ends[at(1)] = 0
    assert list(asking.fetch()) == [at(1)]
    assert asking.fetch() == {}


def test_errors_are_told_as_long_as_there_are_any_and_their_end_as_well() -> None:
    cluster = Cluster()
    other = UUID(int=FIRST_TOPIC.int + 1)
    asking = consumer(cluster, 0)
    asking.ends[at(0, other)] = 0
    for _ in range(3):
        told = asking.fetch()
        assert told[at(0, other)].error is ErrorCode.UNKNOWN_TOPIC_ID
    cluster.told(TopicRecord(name="u", topic_id=other), partition_of(other, 0))
    told = asking.fetch()
    assert [(each.partition, each.error) for each in told.values()] == [(at(0, other), NONE)]
    assert asking.fetch() == {}
    cluster.told(RemoveTopicRecord(topic_id=other))
    assert asking.fetch()[at(0, other)].error is ErrorCode.UNKNOWN_TOPIC_ID


def test_where_a_log_begins_is_news() -> None:
    cluster = Cluster()
    cluster.produce(0, 3)
    asking = consumer(cluster)
    asking.fetch()
    asking.fetch()
    cluster.delete(0, 2)
    told = asking.fetch()
    assert [(each, told[each].log_start) for each in told] == [(at(0), 2)]


def refused(cluster: Cluster, request: PartitionsFetchRequest, version: int = 18) -> ErrorCode:
    answer = cluster.ask(request, version)
    assert isinstance(answer, PartitionsFetchResponse)
    assert answer.partitions == ()
    return answer.error


def test_who_goes_on_with_another_session_is_told_so() -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    asking.fetch()
    known, epoch = asking.session, asking.epoch
    asking.session += 1
    assert refused(cluster, asking.request()) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    asking.session = known
    for wrong in (epoch - 1, epoch + 1, MOST):
        asking.epoch = wrong
        assert refused(cluster, asking.request()) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    asking.epoch, asking.replica = epoch, FOLLOWER
    assert refused(cluster, asking.request()) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    asking.replica = CONSUMER
    by_name = refused(cluster, asking.request(), version=12)
    assert by_name is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert asking.fetch() == {}, "no mistake has ended it"


def test_epochs_begin_again_at_1() -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    found = cluster.fetches.sessions.find(asking.session)
    assert found is not None
    asking.epoch = found.epoch = MOST
    asking.fetch()
    asking.epoch = 1
    assert asking.fetch() == {}


@pytest.mark.parametrize("epoch", [FIRST_SESSION_EPOCH, NO_SESSION_EPOCH])
def test_who_asks_for_everything_closes_the_session_that_it_names(epoch: int) -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    before, asking.epoch = asking.session, epoch
    assert len(asking.fetch()) == (MANY if epoch == FIRST_SESSION_EPOCH else 0)
    assert cluster.fetches.sessions.find(before) is None
    assert len(cluster.fetches.sessions) == (epoch == FIRST_SESSION_EPOCH)


def test_who_waits_in_a_session_that_others_go_on_with_is_told_so() -> None:
    cluster = Cluster()
    asking = consumer(cluster)
    asking.fetch()
    assert not isinstance(cluster.ask(asking.request(wait_ms=300)), PartitionsFetchResponse)
    asking.epoch += 1
    assert asking.fetch() == {}
    assert cluster.until_answered().error is ErrorCode.INVALID_FETCH_SESSION_EPOCH


# --- followers ---


def leaves(cluster: Cluster, index: int) -> bool:
    """Is the follower to leave the ISR, or on its way out?"""
    held = cluster.broker.node.core.role.replicas.find(at(index))
    assert held is not None
    leading = held.replica.leading
    assert leading is not None
    assert set(leading.isr.committed) == {ME, FOLLOWER}
    is_asked = leading.isr.pending is not None
    return is_asked or held.replica.shrinking(cluster.broker.now_ns) is not None


def test_a_follower_that_names_nothing_has_all_the_same_all_that_there_is() -> None:
    """It stays in the ISR, however long there was nothing to say of a partition."""
    cluster = Cluster((ME, FOLLOWER))
    following = follower(cluster)
    for _ in range(200):
        following.fetch(wait_ms=500)
    assert cluster.broker.now_ns > 90_000 * MS, "replica.lag.time.max.ms, and more"
    cluster.produce(0)
    assert not leaves(cluster, 0)
    held = cluster.broker.node.core.role.replicas.find(at(0))
    assert held is not None
    told = following.fetch()
    assert [each for each in told if told[each].records] == [at(0)]
    assert (held.replica.high_watermark, held.replica.end) == (0, 1)
    told = following.fetch()
    assert held.replica.high_watermark == 1
    assert [(each, told[each].high_watermark) for each in told] == [(at(0), 1)]


def test_a_follower_that_fetches_no_more_leaves_the_isr() -> None:
    cluster = Cluster((ME, FOLLOWER))
    following = follower(cluster)
    following.fetch()
    following.fetch()
    cluster.broker.now_ns += 31_000 * MS
    cluster.produce(0)
    assert leaves(cluster, 0)


def test_what_a_follower_forgets_it_does_not_have_by_later_fetches() -> None:
    cluster = Cluster((ME, FOLLOWER))
    following = follower(cluster)
    following.fetch()
    following.fetch(at(0))
    for _ in range(70):
        following.fetch(wait_ms=500)
    for index, is_left in ((0, True), (1, False)):
        cluster.produce(index)
        assert leaves(cluster, index) is is_left


def test_a_follower_that_may_join_again_does_so_without_naming_anything() -> None:
    """Its broker was fenced, and left out of the ISR; now it is not, and nothing else has moved."""
    cluster = Cluster((ME, FOLLOWER))
    following = follower(cluster)
    following.fetch()
    following.fetch()
    left = PartitionChangeRecord(
        partition_id=0, topic_id=FIRST_TOPIC, isr=(ME,), leader=NO_LEADER_CHANGE
    )
    active = cluster.broker.node.core.role.follower.image.brokers
    assert active.is_active(FOLLOWER)
    cluster.told(left)
    held = cluster.broker.node.core.role.replicas.find(at(0))
    assert held is not None
    assert held.replica.leading is not None
    assert held.replica.leading.isr.pending is None
    following.fetch()
    pending = held.replica.leading.isr.pending
    assert pending is not None
    assert set(pending.brokers) == {ME, FOLLOWER}


@pytest.mark.parametrize("fetches", [0, 1, 3])
@pytest.mark.parametrize("waits", [True, False])
def test_a_follower_whose_broker_is_fenced_no_more_joins_with_its_next_fetch(
    waits: bool, fetches: int
) -> None:
    """Also where it was waiting when that was told, and is answered that there is no news."""
    cluster = Cluster((ME, FOLLOWER))
    cluster.told(
        PartitionChangeRecord(
            partition_id=0, topic_id=FIRST_TOPIC, isr=(ME,), leader=NO_LEADER_CHANGE
        ),
        FenceBrokerRecord(id=FOLLOWER, epoch=7),
    )
    follower(cluster).fetch()  # of the leader's high watermark and start it was told once
    following = follower(cluster)
    for _ in range(fetches):
        following.fetch()
    held = cluster.broker.node.core.role.replicas.find(at(0))
    assert held is not None
    assert held.replica.leading is not None
    assert held.replica.leading.isr.pending is None
    if waits:
        request = following.request(wait_ms=500)
        assert not isinstance(cluster.ask(request), PartitionsFetchResponse)
    cluster.told(UnfenceBrokerRecord(id=FOLLOWER, epoch=7))
    if waits:
        told = following.heed(cluster.until_answered())
        assert len(told) == (MANY if fetches == 0 else 0)
    assert held.replica.leading.isr.pending is None
    following.fetch()
    assert held.replica.leading.isr.pending is not None


def test_a_session_of_an_earlier_life_is_closed() -> None:
    cluster = Cluster((ME, FOLLOWER))
    follower(cluster).fetch()
    follower(cluster).fetch()
    assert len(cluster.fetches.sessions) == 2, "one follower may have several, as Kafka's have"
    again = follower(cluster)
    newer = again.request()
    newer = PartitionsFetchRequest(
        replica=FOLLOWER,
        broker_epoch=8,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=MOST,
        session_epoch=FIRST_SESSION_EPOCH,
        partitions=newer.partitions,
    )
    cluster.ask(newer)
    assert len(cluster.fetches.sessions) == 1


# --- the work ---


def test_a_fetch_is_the_work_of_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 3_000
    cluster = Cluster((ME, FOLLOWER), count=many)
    looked = 0
    look_at = FetchRequests._look_at

    def counted(self: FetchRequests, *what: object) -> object:
        nonlocal looked
        looked += 1
        return look_at(self, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(FetchRequests, "_look_at", counted)
    following = Asking(cluster, replica=FOLLOWER)
    following.ends = {at(index): 0 for index in range(many)}
    following.fetch()
    following.fetch()
    looked = 0
    for index in range(10):
        cluster.produce(index)
        for _ in range(3):
            following.fetch(wait_ms=20)
    assert looked < 10 * 10


# --- against who asks for everything each time ---


@pytest.mark.parametrize("seed", range(12))
def test_who_asks_in_a_session_knows_what_others_are_told(seed: int) -> None:
    """Whatever happens: after a Fetch in a session one that asks for everything has nothing new."""
    rng = random.Random(seed)
    replica = rng.choice((CONSUMER, FOLLOWER))
    cluster = Cluster((ME, FOLLOWER) if replica == FOLLOWER else (ME,))
    asking = Asking(cluster, replica, max_bytes=rng.choice((1, 200, MOST)))
    asking.ends = {at(index): 0 for index in range(rng.randint(1, MANY))}
    asking.fetch()
    for _ in range(60):
        index = rng.randrange(MANY)
        match rng.choice(("produce", "produce", "delete", "forget", "ask", "wait")):
            case "produce":
                cluster.produce(index, rng.randint(1, 3))
            case "delete":
                held = cluster.broker.node.core.role.replicas.find(at(index))
                assert held is not None
                start, mark = held.replica.start, held.replica.high_watermark
                if start < mark:
                    cluster.delete(index, rng.randint(start + 1, mark))
            case "forget" if at(index) in asking.ends and len(asking.ends) > 1:
                asking.fetch(at(index))
            case "ask":
                asking.ends.setdefault(at(index), 0)
            case "wait":
                asking.fetch(wait_ms=20)
            case _:
                pass
        _until_it_knows_all(asking)
        _compare(cluster, asking)


def _until_it_knows_all(asking: Asking) -> None:
    for _ in range(200):
        told = asking.fetch()
        for each, found in told.items():
            if found.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                asking.ends[each] = found.log_start
        if not told:
            return
    raise AssertionError("it is told of something new for ever")


def _compare(cluster: Cluster, asking: Asking) -> None:
    """With what a consumer is told by a Fetch without a session."""
    request = PartitionsFetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=MOST,
        partitions=tuple(
            FetchedPartition(partition=each, offset=end, max_bytes=MOST)
            for each, end in asking.ends.items()
        ),
    )
    answer = cluster.ask(request)
    assert isinstance(answer, PartitionsFetchResponse)
    for each in answer.partitions:
        known = asking.known[each.partition]
        assert (known.high_watermark, known.log_start) == (each.high_watermark, each.log_start)
        assert (known.error, each.error, each.records) == (NONE, NONE, b"")
