"""M3, M5 and M6 against metadata logs by hand."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.history.sealed_run import Run
from checkers.history.tables import LOST_RECORDS
from checkers.partitions.acknowledged_topics import (
    acknowledged_topics_are_committed,
    broker_epochs_rise,
    deleted_topics_are_gone,
    producer_ids_are_unique,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import batch, make_run
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    ALL,
    Cluster,
    Record,
    change,
    partition,
    producer_ids,
    register,
    registration_change,
    remove_topic,
    started,
    topic,
    unregister,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
Check = Callable[[Run], CheckResult | None]


def judged(check: Check, cluster: Cluster) -> CheckResult:
    result = check(cluster.run())
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ([register(2, 40), registration_change(2, 40, fenced=-1)], VALID),
        ([register(2, 12)], VALID),  # the same process again
        ([register(2, 12, "another process")], INVALID),
        ([register(2, 40, "process-12")], INVALID),  # and keeps its epoch
        ([register(3, 12)], INVALID),
        ([register(2, 40), registration_change(2, 12, fenced=-1)], INVALID),
        ([unregister(2, 12)], VALID),
        ([unregister(2, 11)], INVALID),
        ([Record(type="FenceBroker", detail={"id": 2, "epoch": 12})], VALID),
        ([Record(type="UnfenceBroker", detail={"id": 2, "epoch": 11})], INVALID),
        ([registration_change(7, 12, fenced=1)], INVALID),
    ],
)
def test_broker_epochs(records: list[Record], verdict: Verdict) -> None:
    assert judged(broker_epochs_rise, started().commit(*records)).verdict is verdict


def test_blocks_of_producer_ids() -> None:
    assert saw_nothing(producer_ids_are_unique(started().run()))
    good = started().commit(producer_ids(1000)).commit(producer_ids(2000))
    assert judged(producer_ids_are_unique, good).verdict is VALID
    again = started().commit(producer_ids(1000)).commit(producer_ids(1000))
    result = judged(producer_ids_are_unique, again)
    assert result.verdict is INVALID
    assert "overlaps with one up to 1000" in result.message


@pytest.mark.parametrize(("producer", "verdict"), [(1999, VALID), (2000, INVALID), (-1, VALID)])
def test_a_producer_that_was_never_given_its_id(producer: int, verdict: Verdict) -> None:
    cluster = started().commit(producer_ids(2000))
    row = batch(1, 0, 0, 0) | {"key": "t-0", "producer_id": producer}
    cluster.add("replica_batches", row)
    assert judged(producer_ids_are_unique, cluster).verdict is verdict


# --- M6 ---


def test_acknowledged_topics() -> None:
    assert saw_nothing(acknowledged_topics_are_committed(started().run()))
    assert saw_nothing(acknowledged_topics_are_committed(make_run()))
    good = started().topic_operation("create-topic", "t")
    good.topic_operation("create-topic", "u", "info").topic_operation("delete-topic", "t", "fail")
    assert judged(acknowledged_topics_are_committed, good).verdict is VALID


def test_an_acknowledged_topic_that_was_forgotten() -> None:
    result = judged(
        acknowledged_topics_are_committed, started().topic_operation("create-topic", "precious")
    )
    assert result.verdict is INVALID
    assert result.message == (
        "topic precious was acknowledged as created by node 1, and no such record is committed"
    )


def test_a_lost_disk_that_has_the_topic_is_named() -> None:
    run = started().topic_operation("create-topic", "precious").run()
    record = {"node": 3, "directory": "old-3", "type": "Topic", "detail": '{"name": "precious"}'}
    lost = pa.Table.from_pylist([record], schema=LOST_RECORDS)
    result = acknowledged_topics_are_committed(
        replace(run, tables={**run.tables, "lost_records": lost})
    )
    assert result.verdict is INVALID
    assert result.message.endswith("no such record is committed; a lost disk of node 3 has it")


def test_a_topic_created_and_deleted_and_created_again() -> None:
    cluster = started().commit(remove_topic("t")).commit(topic("t"), partition("t-0", ALL, 1))
    for f in ("create-topic", "delete-topic", "create-topic"):
        cluster.topic_operation(f, "t")
    assert judged(acknowledged_topics_are_committed, cluster).verdict is VALID
    cluster.topic_operation("delete-topic", "t")
    assert judged(acknowledged_topics_are_committed, cluster).verdict is INVALID


@pytest.mark.parametrize(
    ("operations", "exists", "expected"),
    [
        (["create"], True, (VALID, 1)),
        (["create"], False, (INVALID, 1)),
        (["create", "delete"], False, (VALID, 0)),
        (["create", "delete"], True, (INVALID, 2)),
        (["create", "delete", "create"], True, (VALID, 0)),
        (["create", "delete", "create"], False, (INVALID, 2)),
        (["create", "delete?"], False, (VALID, 0)),  # it may have happened, at any time
        (["create", "delete?"], True, (VALID, 1)),
        (["create", "delete", "create?"], True, (VALID, 1)),
    ],
)
def test_below_a_snapshot_the_last_operation_on_a_topic_counts(
    operations: list[str], exists: bool, expected: tuple[Verdict, int]
) -> None:
    cluster = started()
    for word in operations:
        outcome = "info" if word.endswith("?") else "ok"
        cluster.topic_operation(f"{word.rstrip('?')}-topic", "u", outcome)
    for at, row in enumerate(cluster.rows["ops"]):
        row |= {"t0": 10 * at, "t1": 10 * at + 5}
    cluster.hide_head(topic("t"), partition("t-0", ALL, 1), *[topic("u")] * exists)
    result = acknowledged_topics_are_committed(cluster.run())
    assert (result.verdict, result.looked_at) == expected, result.message


def test_what_only_one_of_three_controllers_has_is_not_committed() -> None:
    cluster = started().commit(topic("u"), partition("u-0", ALL, 1), nodes=[2])
    cluster.topic_operation("create-topic", "u")
    assert judged(acknowledged_topics_are_committed, cluster).verdict is INVALID


def test_without_a_log_nothing_is_known() -> None:
    cluster = Cluster().topic_operation("create-topic", "t")
    assert judged(acknowledged_topics_are_committed, cluster).verdict is UNKNOWN


def test_nothing_changes_a_topic_that_was_deleted() -> None:
    assert saw_nothing(deleted_topics_are_gone(started().run()))
    gone = started().commit(remove_topic("t"))
    assert judged(deleted_topics_are_gone, gone).verdict is VALID
    result = judged(deleted_topics_are_gone, gone.commit(change("t-0", isr=[1])))
    assert result.verdict is INVALID
    assert "changes a partition of topic id-of-t, which was deleted" in result.message
