"""Where logs begin whose records were deleted, in histories by hand."""

import pytest

from checkers.log.committed_offsets import deleted_records_stay_deleted
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import op
from tests.support.kafka_runs import Cluster

Told = tuple[str, int | None, str]

DELETED: Told = ("delete-records", 10, "ok")
KEPT: Told = ("log-start", 10, "ok")
BACK: Told = ("log-start", 0, "ok")


def history(*told: Told) -> Cluster:
    cluster = Cluster()
    for at, (f, value, outcome) in enumerate(told):
        row = op(f, value, 2 * at, 2 * at + 1, key="t-0", outcome=outcome)
        cluster.add("ops", row | {"op_id": at})
    return cluster


def judged(*told: Told) -> CheckResult:
    return deleted_records_stay_deleted(history(*told).run())


def test_records_that_are_back() -> None:
    found = judged(BACK, DELETED, KEPT, BACK)
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 1, 2)
    assert found.message == (
        "deleted records are back in t-0: they were deleted before offset 10, but the log begins "
        "at 0"
    )
    assert [event["op_id"] for event in found.witness] == [1, 3]


def test_the_furthest_of_several_deletions_counts() -> None:
    again: Told = ("delete-records", 7, "ok")
    assert judged(DELETED, again, ("log-start", 8, "ok")).verdict is Verdict.INVALID
    assert judged(again, DELETED, KEPT).verdict is Verdict.VALID


@pytest.mark.parametrize(
    "told",
    [
        [BACK, DELETED],
        [("delete-records", 10, "info"), BACK],
        [("delete-records", 10, "fail"), BACK],
        [DELETED, ("log-start", None, "fail")],
        [],
    ],
)
def test_without_an_acknowledged_deletion_and_an_answer_nobody_is_blamed(told: list[Told]) -> None:
    assert judged(*told).verdict is Verdict.UNKNOWN


def test_a_deletion_that_may_be_lost_with_the_disk_is_not_held_against_anybody() -> None:
    lossy = history(DELETED, BACK).ended("power-off", 1, 0)
    found = deleted_records_stay_deleted(lossy.run())
    assert (found.verdict, found.looked_at) == (Verdict.VALID, 0)
    assert found.message == ("nothing to judge: records may have been lost before each answer")
    harmless = history(DELETED, BACK).ended("kill", 1, 0)
    assert deleted_records_stay_deleted(harmless.run()).verdict is Verdict.INVALID


def test_what_is_back_before_a_fault_is_held_against_the_node_whatever_is_lost_later() -> None:
    lossy = history(DELETED, BACK, KEPT, BACK).ended("power-off", 1, 4)
    found = deleted_records_stay_deleted(lossy.run())
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 1, 1)


def test_another_log_is_another_matter() -> None:
    cluster = history(DELETED, BACK)
    cluster.rows["ops"][1]["key"] = "t-1"
    assert deleted_records_stay_deleted(cluster.run()).verdict is Verdict.UNKNOWN


def test_more_is_deleted_than_anybody_asked_for() -> None:
    found = judged(DELETED, ("log-start", 12, "ok"))
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)
    assert found.message == (
        "records of t-0 are lost: the log begins at 12, but none from offset 10 on was asked to be "
        "deleted"
    )
    assert judged(("log-start", 1, "ok"), DELETED).verdict is Verdict.INVALID, (
        "nobody had asked yet"
    )


def test_a_deletion_of_which_nobody_knows_may_have_been_done() -> None:
    further: Told = ("delete-records", 12, "info")
    assert judged(DELETED, further, ("log-start", 12, "ok")).verdict is Verdict.VALID
    assert judged(DELETED, further, KEPT).verdict is Verdict.VALID
    failed: Told = ("delete-records", 12, "fail")
    assert judged(DELETED, failed, ("log-start", 12, "ok")).verdict is Verdict.INVALID


def test_retention_drops_what_is_too_old() -> None:
    puts: list[Told] = [("put", None, "ok")] * 20
    cluster = history(*puts, DELETED, ("log-start", 14, "ok"))
    kept = {"log.retention.ms": "20"}  # at the end 43 ms have passed, and the tenth was put at 18
    assert deleted_records_stay_deleted(cluster.run(settings=kept)).verdict is Verdict.INVALID
    kept = {"log.retention.ms": "15"}
    assert deleted_records_stay_deleted(cluster.run(settings=kept)).verdict is Verdict.VALID
