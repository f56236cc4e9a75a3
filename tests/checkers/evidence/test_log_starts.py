"""How far the beginning of a log may have moved, at every limit of what a run may say of it."""

from typing import Any

import pytest

from checkers.evidence.evidence import Evidence
from checkers.evidence.log_starts import ANYWHERE, AskedStarts
from tests.support.histories import MS, fault, op
from tests.support.kafka_runs import Cluster, started

SECOND = 1_000_000_000
WEEK = 168 * 3600 * SECOND
LOAD = {"prefix": "t", "topics": 1, "partitions": 1, "replication": 3}


def sent_at(*seconds: int) -> Cluster:
    """Ten records each time, one after the other, to t-0-0; a batch of 1,000 bytes each."""
    cluster = started()
    for number, at in enumerate(seconds):
        cluster.sent("t-0-0", 10 * number, 100 * number, 10)
        cluster.rows["ops"][-1] |= {"t0": at * SECOND, "t1": at * SECOND + MS}
    spans = [(10 * number, 100 * number, 10, 0) for number in range(len(seconds))]
    cluster.replica(1, "t-0-0", spans)
    for row in cluster.rows["replica_batches"]:
        row["size"] = 1000
    return cluster


def start(
    cluster: Cluster,
    settings: dict[str, str] | None = None,
    configs: dict[str, str] | None = None,
    *,
    duration_ns: int = 100 * SECOND,
    key: str = "t-0-0",
    **info: Any,
) -> int:
    load = {**LOAD, "configs": configs or {}}
    run = cluster.run(settings=settings or {}, load=load, duration_ns=duration_ns, **info)
    return Evidence(run).once(AskedStarts).at_the_end(key)


def test_where_nothing_is_said_records_stay_for_a_week() -> None:
    cluster = sent_at(0, 1)
    assert start(cluster, duration_ns=WEEK - 1) == 0
    assert start(cluster, duration_ns=WEEK) == 10
    assert start(cluster, duration_ns=WEEK + 2 * SECOND) == ANYWHERE
    assert start(cluster, duration_ns=0, finished=False) == 0


@pytest.mark.parametrize(
    ("name", "value", "kept_s"),
    [
        ("log.retention.ms", "5000", 5),
        ("log.retention.minutes", "1", 60),
        ("log.retention.hours", "1", 3600),
        ("retention.ms", "0", 0),
    ],
)
def test_a_record_goes_once_it_is_too_old(name: str, value: str, kept_s: int) -> None:
    cluster = sent_at(1, 2, 3)
    for said in ({name: value}, None), (None, {name: value}):
        for over_s, first in ((0, 0), (1, 10), (2, 20), (3, ANYWHERE)):
            assert start(cluster, *said, duration_ns=(kept_s + over_s) * SECOND) == first
        late = start(cluster, *said, duration_ns=0, finished=False)
        assert late == ANYWHERE, "nobody knows how long it took"


@pytest.mark.parametrize(
    "said",
    [
        {"log.retention.ms": "-1"},
        {"log.retention.hours": "-1"},
        {"retention.ms": "-1", "log.retention.ms": "5"},  # that of the topic holds
        {"log.retention.hours": "1", "log.retention.ms": "-1"},  # the finest unit holds
    ],
)
def test_no_limit_of_time_is_none(said: dict[str, str]) -> None:
    for finished in (True, False):
        assert start(sent_at(0), said, duration_ns=2 * WEEK, finished=finished) == 0
        assert start(sent_at(0), {}, said, duration_ns=2 * WEEK, finished=finished) == 0


def test_who_has_another_clock_finds_other_records_too_old() -> None:
    cluster = sent_at(99)
    assert start(cluster, {"log.retention.ms": "5000"}) == 0
    cluster.add("faults", fault(0, "clock-jump", 1000, 2000))
    assert start(cluster, {"log.retention.ms": "5000"}) == ANYWHERE
    assert start(cluster) == 0, "no clock jumps for a week"


@pytest.mark.parametrize(
    ("kept", "first"),
    [("0", ANYWHERE), ("1", 20), ("1000", 20), ("1001", 10), ("2001", 0), ("3001", 0), ("-1", 0)],
)
def test_by_size_as_much_is_left_as_is_to_be_kept(kept: str, first: int) -> None:
    assert start(sent_at(0, 1, 2), {"log.retention.bytes": kept}) == first
    assert start(sent_at(0, 1, 2), {}, {"retention.bytes": kept}) == first


@pytest.mark.parametrize(
    ("name", "value", "first"),
    [
        ("cleanup.policy", "compact", ANYWHERE),
        ("log.cleanup.policy", "compact,delete", ANYWHERE),
        ("cleanup.policy", "delete", 0),
    ],
)
def test_of_what_is_to_be_compacted_no_record_need_be_there(
    name: str, value: str, first: int
) -> None:
    assert start(sent_at(0), {}, {name: value}) == first
    assert start(sent_at(0), {name: value}) == first


def test_what_clients_delete() -> None:
    cluster = sent_at(0, 1)
    for number, (value, outcome) in enumerate([(4, "ok"), (6, "info"), (9, "fail"), (5, "ok")]):
        row = op("delete-records", value, 10 + 2 * number, 11 + 2 * number, key="t-0-0")
        cluster.add("ops", row | {"op_id": 2 + number, "outcome": outcome})
    assert start(cluster) == 6
    assert start(cluster, key="t-0-1") == 0
    load = {**LOAD, "configs": {}}
    asked = Evidence(cluster.run(load=load)).once(AskedStarts)
    assert [asked.by("t-0-0", at * MS) for at in (9, 10, 12, 14)] == [0, 4, 6, 6]


def test_of_a_chores_log_no_offset_is_told() -> None:
    cluster = Cluster()
    for number in range(6):
        row = op("put", None, 2 * number, 2 * number + 1, key="t-shortened-0")
        outcome = "fail" if number == 1 else "ok"
        row |= {"op_id": number, "outcome": outcome, "t0": number * SECOND}
        cluster.add("ops", row)
    kept = {"log.retention.ms": "7000"}
    assert start(cluster, kept, key="t-shortened-0", duration_ns=10 * SECOND) == 3


def test_topics_of_the_brokers_own() -> None:
    groups, look = "__consumer_offsets-3", "offsets.retention.check.interval.ms"
    assert start(sent_at(0), key=groups, target="kafka 4.3.1") == 0, "compaction moves no start"
    assert start(sent_at(0), key=groups, target="kafka 4.3.1", duration_ns=WEEK) == 0
    assert start(sent_at(0), key=groups, target="node") == 0, "no broker has looked yet"
    assert start(sent_at(0), key=groups, target="node", duration_ns=600 * SECOND) == ANYWHERE
    assert start(sent_at(0), {look: "100001"}, key=groups, target="node (simulated)") == 0
    assert start(sent_at(0), {look: "100000"}, key=groups, target="node") == ANYWHERE
    assert start(sent_at(0), key="__share_group_state-3") == ANYWHERE


def test_where_requests_were_not_recorded_nobody_knows_what_was_asked_for() -> None:
    assert start(sent_at(0)) == 0
    assert start(sent_at(0), gives=("metadata-logs", "partition-logs")) == ANYWHERE
    two = {"invoked": 2}
    assert start(sent_at(0), gives=("operations",), recorded=two) == ANYWHERE, "one is missing"
