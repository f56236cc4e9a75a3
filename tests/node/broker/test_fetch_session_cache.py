"""Which fetch sessions there are: their number, what they hold, and which goes for a new one."""

import random
from uuid import UUID

import pytest

from node import limits
from node.broker.requests.fetch_sessions import FetchClock, FetchSessions, place_of
from node.ids import MS, NodeId
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import (
    CONSUMER,
    FIRST_SESSION_EPOCH,
    FetchedPartition,
    PartitionsFetchRequest,
)
from tests.support.stepped_broker import (
    FIRST_TOPIC,
)

FOLLOWER = NodeId(5)


def at(index: int, topic: UUID = FIRST_TOPIC) -> TopicPartition:
    return TopicPartition(id=topic, index=index)


def wanted(replica: NodeId, size: int, first: int = 0, epoch: int = 7) -> PartitionsFetchRequest:
    return PartitionsFetchRequest(
        replica=replica,
        broker_epoch=epoch,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1,
        session_epoch=FIRST_SESSION_EPOCH,
        partitions=tuple(
            FetchedPartition(partition=at(first + index), offset=0, max_bytes=1)
            for index in range(size)
        ),
    )


def sessions() -> FetchSessions:
    return FetchSessions(random.Random(1), lambda *_: None)


def clock(seconds: float) -> FetchClock:
    return FetchClock(fetched_ns=int(seconds * 1000) * MS)


@pytest.mark.parametrize(
    ("replica", "size", "after_s", "is_given"),
    [
        (CONSUMER, 9, 1, False),  # as large as the others, or smaller, and these are young
        (CONSUMER, 99, 1, False),  # a consumer takes the place of none that is young
        (FOLLOWER, 1, 1, True),  # a follower that of any consumer
        (CONSUMER, 9, 121, True),  # nobody went on with it for two minutes
    ],
)
def test_who_takes_whose_place(
    replica: NodeId, size: int, after_s: float, is_given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_FETCH_SESSIONS", 3)
    cache = sessions()
    for _ in range(3):
        assert cache.open(wanted(CONSUMER, 10), clock(0)) is not None
    found = cache.open(wanted(replica, size), clock(after_s))
    assert (found is not None) is is_given
    assert len(cache) == 3


def test_what_is_in_use_for_long_goes_if_it_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FETCH_SESSIONS", 3)
    cache = sessions()
    opened = [cache.open(wanted(who, 10), clock(0)) for who in (FOLLOWER, CONSUMER, CONSUMER)]
    for each in opened:
        assert each is not None
        each.clock.fetched_ns = clock(130).fetched_ns
    assert cache.open(wanted(CONSUMER, 9), clock(131)) is None
    larger = cache.open(wanted(CONSUMER, 11), clock(131))
    assert larger is not None
    left = {each.id for each in opened if each is not None and cache.find(each.id) is each}
    assert len(left) == 2
    assert opened[0] is not None
    assert opened[0].id in left, "a follower goes last"


def test_what_all_sessions_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FETCH_SESSION_PARTITIONS", 100)
    cache = sessions()
    assert cache.open(wanted(CONSUMER, 101), clock(0)) is None
    first = cache.open(wanted(CONSUMER, 60), clock(0))
    assert first is not None
    assert cache.open(wanted(CONSUMER, 41), clock(1)) is None
    second = cache.open(wanted(FOLLOWER, 41), clock(1))
    assert second is not None
    assert cache.find(first.id) is None
    grown = wanted(FOLLOWER, 59, first=41)
    assert cache.go_on(_in(second.id, grown), clock(2).fetched_ns) is second
    assert cache.go_on(_in(second.id, wanted(FOLLOWER, 1, first=100)), 0) is None
    assert len(cache) == 0
    assert cache.moved(place_of(at(0))) == ()


def _in(session: int, request: PartitionsFetchRequest) -> PartitionsFetchRequest:
    return PartitionsFetchRequest(
        replica=request.replica,
        broker_epoch=request.broker_epoch,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1,
        session=session,
        session_epoch=1,
        partitions=request.partitions,
    )
