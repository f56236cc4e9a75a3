"""Offsets and groups that nobody needs any more, and the log that tells of them."""

from collections.abc import Iterable
from random import Random
from struct import pack

import pytest

from node.broker.coordinators import led_groups
from node.broker.coordinators.group import MAX_FORGOTTEN
from node.config import GroupSettings
from node.effects import AppendBatches
from node.ids import MS, Epoch, Offset
from node.records.batch import encode_batch
from node.records.group_records import (
    GroupKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    encode_versioned,
)
from node.records.metadata import ConfigRecord
from node.storage.log import perform
from tests.node.broker.test_gone_offsets import led, log_of
from tests.node.broker.test_lone_coordinator import AT, LOG, commit, committed
from tests.support.stepped_broker import FIRST_TOPIC, SteppedBroker

MINUTE_MS = 60_000
CHECK_MS = GroupSettings().retention_check_ms
WEEK_MS = GroupSettings().retention_minutes * MINUTE_MS
START_MS = 2 * WEEK_MS
FOREVER_MS = 10 * WEEK_MS
Records = Iterable[tuple[GroupKey, GroupValue]]


def offset_of(
    group: str, time_ms: int, *, topic: str = AT.name, offset: int = 5
) -> tuple[OffsetCommitKey, OffsetCommitValue]:
    key = OffsetCommitKey(group=group, topic=topic, partition=AT.index)
    value = OffsetCommitValue(
        offset=offset, metadata="", commit_timestamp=time_ms, topic_id=FIRST_TOPIC
    )
    return key, value


def group_of(
    group: str, *members: tuple[str, ...], since_ms: int = -1, kind: str = "consumer"
) -> tuple[GroupMetadataKey, GroupMetadataValue]:
    """Each member reads the topics of these names."""
    value = GroupMetadataValue(
        protocol_type=kind,
        generation=3,
        protocol="range" if members else None,
        leader="m0" if members else None,
        current_state_timestamp=since_ms,
        members=tuple(
            MemberMetadata(
                member_id=f"m{number}",
                client_id="c",
                client_host="",
                rebalance_timeout=2**31 - 1,
                session_timeout=2**31 - 1,
                subscription=subscribed(topics),
                assignment=b"",
            )
            for number, topics in enumerate(members)
        ),
    )
    return GroupMetadataKey(group=group), value


def subscribed(topics: tuple[str, ...]) -> bytes:
    names = b"".join(pack(">h", len(name)) + name.encode() for name in topics)
    return pack(">hi", 1, len(topics)) + names + pack(">i", -1)


def with_records(
    records: Records, segment_bytes: int | None = None, settings: GroupSettings | None = None
) -> SteppedBroker:
    """Which another coordinator has written; its clock shows `START_MS`."""
    before = SteppedBroker(told=led(FIRST_TOPIC))
    write(before, records)
    broker = SteppedBroker(told=led(FIRST_TOPIC), disk=before.disk, groups=settings)
    if segment_bytes is not None:
        limit(broker, segment_bytes)
    broker.now_ns = START_MS * MS
    run(broker, 0)
    return broker


def write(broker: SteppedBroker, records: Records) -> None:
    log = broker.replicas[LOG]
    pairs = [(encode_versioned(key), encode_versioned(value)) for key, value in records]
    data = encode_batch(
        pairs, base_offset=log.next_offset, leader_epoch=Epoch(0), timestamp_ms=START_MS
    )
    perform(AppendBatches(log=LOG, data=data), log)


def limit(broker: SteppedBroker, segment_bytes: int) -> None:
    broker.tell(
        ConfigRecord(
            resource_type=2,
            resource_name="__consumer_offsets",
            name="segment.bytes",
            value=str(segment_bytes),
        ),
        groups=False,
    )


def run(broker: SteppedBroker, for_ms: int) -> list[int]:
    """How many records each step appended until all that is due by then is done."""
    end_ns, appended = broker.now_ns + for_ms * MS, []
    while broker.node.next_deadline_ns() <= end_ns:
        before = broker.replicas[LOG].next_offset
        broker.elapse()
        appended.append(broker.replicas[LOG].next_offset - before)
    broker.now_ns = end_ns
    return appended


def left(broker: SteppedBroker) -> set[str]:
    """Which groups anything is known of, also to whoever coordinates them next."""
    log = log_of(broker)
    found = set(log.offsets) | set(log.groups)
    assert {key.group for key in log.kept_at} == found
    after = SteppedBroker(told=led(FIRST_TOPIC), disk=broker.disk)
    run(after, 0)
    assert set(log_of(after).offsets) | set(log_of(after).groups) == found
    return found


@pytest.mark.parametrize("late_ms", [0, 1])
def test_offsets_of_nobodys_group_expire_after_their_commit(late_ms: int) -> None:
    at_ms = START_MS + CHECK_MS - WEEK_MS
    broker = with_records([offset_of("g", at_ms + 1 - late_ms), offset_of("h", START_MS)])
    run(broker, CHECK_MS)
    assert left(broker) == {"h"} | ({"g"} if late_ms == 0 else set())


def test_of_a_group_without_members_they_expire_after_the_last_went() -> None:
    """However old the commit is, and with them the group."""
    old, long_ago = offset_of("g", 1), START_MS + CHECK_MS - WEEK_MS
    broker = with_records([old, group_of("g", since_ms=long_ago + 1)])
    run(broker, CHECK_MS)
    assert left(broker) == {"g"}
    run(broker, CHECK_MS)
    assert left(broker) == set()
    assert committed(broker, "g") == -1


def test_a_group_without_members_and_offsets_goes() -> None:
    broker = with_records([group_of("g", since_ms=START_MS), group_of("h", ("t",))])
    run(broker, CHECK_MS)
    assert left(broker) == {"h"}


@pytest.mark.parametrize(
    ("kind", "reads", "kept"),
    [
        ("consumer", (AT.name,), True),
        ("consumer", ("other", AT.name), True),
        ("consumer", ("other",), False),
        ("connect", ("other",), True),
    ],
)
def test_of_a_group_with_members_only_what_none_reads_expires(
    kind: str, reads: tuple[str, ...], *, kept: bool
) -> None:
    broker = with_records([offset_of("g", 1), group_of("g", reads, ("another",), kind=kind)])
    run(broker, CHECK_MS)
    assert left(broker) == {"g"}
    assert committed(broker, "g") == (5 if kept else -1)


def test_what_is_committed_again_does_not_expire() -> None:
    """Nor is it a week that is kept where another time is set."""
    day_ms = WEEK_MS // 7
    settings = GroupSettings(retention_minutes=day_ms // MINUTE_MS)
    broker = with_records([offset_of("g", START_MS - day_ms + 1)], settings=settings)
    commit(broker, "g", 9)
    run(broker, CHECK_MS)
    assert committed(broker, "g") == 9
    run(broker, day_ms - CHECK_MS - 1)
    assert committed(broker, "g") == 9
    run(broker, 2 * CHECK_MS)
    assert left(broker) == set()


def test_no_step_forgets_more_than_a_piece() -> None:
    groups = [f"g{number}" for number in range(2500)]
    broker = with_records([offset_of(each, 1) for each in groups])
    run(broker, CHECK_MS)
    _, *pieces = [each.record_count for each in broker.replicas[LOG].headers()]
    assert max(pieces) <= MAX_FORGOTTEN
    assert sum(pieces) == len(groups)
    assert left(broker) == set()


# --- the log's front ---


def filled(broker: SteppedBroker, rng: Random, commits: int, groups: int) -> dict[str, int]:
    told = {}
    for number in range(commits):
        group = f"g{rng.randrange(groups)}"
        commit(broker, group, number)
        told[group] = number
    return told


def test_the_log_does_not_grow_without_end() -> None:
    """Also where one offset stays for ever: it is written again."""
    broker = with_records([offset_of("old", FOREVER_MS)], segment_bytes=1000)
    rng, sizes = Random(1), []
    for _ in range(12):
        told = filled(broker, rng, 40, 5)
        run(broker, CHECK_MS)
        log = broker.replicas[LOG]
        sizes.append(sum(each.size for each in log.segments))
        assert {group: committed(broker, group) for group in told} == told
        assert committed(broker, "old") == 5
    assert max(sizes) <= 5000, sizes
    assert broker.replicas[LOG].start > 200
    assert left(broker) >= {"old", *told}


def test_where_most_of_it_means_something_nothing_is_written_again() -> None:
    broker = with_records(
        [offset_of(f"g{number}", FOREVER_MS) for number in range(10)], segment_bytes=300
    )
    for number in range(10, 60):
        commit(broker, f"g{number}", number)
    end = broker.replicas[LOG].next_offset
    run(broker, CHECK_MS)
    assert (broker.replicas[LOG].start, broker.replicas[LOG].next_offset) == (0, end)


def test_of_what_is_written_again_no_step_writes_more_than_a_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(led_groups, "MAX_FORGOTTEN", 10)
    broker = with_records(
        [offset_of(f"old{number}", FOREVER_MS) for number in range(55)], segment_bytes=2000
    )
    filled(broker, Random(1), 300, 3)
    appended = run(broker, CHECK_MS)
    assert 1 < max(appended) <= 10
    assert broker.replicas[LOG].start > 0
    assert all(committed(broker, f"old{number}") == 5 for number in range(55))


def test_a_member_of_a_group_is_written_again_as_it_was() -> None:
    broker = with_records([group_of("g", ("t",))], segment_bytes=1000)
    before = log_of(broker).groups["g"]
    filled(broker, Random(1), 100, 3)
    run(broker, CHECK_MS)
    assert broker.replicas[LOG].start > 0
    assert log_of(broker).groups["g"] == before
    assert log_of(broker).kept_at[GroupMetadataKey(group="g")] >= broker.replicas[LOG].start


@pytest.mark.parametrize("seed", range(8))
def test_whoever_leads_next_knows_all_that_was_committed(seed: int) -> None:
    """Whatever expired, was written again and went meanwhile."""
    rng = Random(seed)
    broker = with_records([offset_of("old", FOREVER_MS)], segment_bytes=rng.choice([300, 1000]))
    told: dict[str, int] = {"old": 5}
    for _ in range(6):
        told |= filled(broker, rng, rng.randrange(60), 4)
        if rng.random() < 0.5:
            run(broker, CHECK_MS)
        if rng.random() < 0.3:
            broker = SteppedBroker(told=led(FIRST_TOPIC), disk=broker.disk)
            limit(broker, 500)
            broker.now_ns = START_MS * MS
            run(broker, 0)
        assert {group: committed(broker, group) for group in told} == told
    assert broker.replicas[LOG].start <= min(log_of(broker).kept_at.values(), default=Offset(0))
