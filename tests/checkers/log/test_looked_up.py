"""Look-ups by time, in histories by hand."""

from checkers.log.looked_up import NONE, look_ups_find_records
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import op
from tests.support.kafka_runs import Cluster

Told = tuple[str, int | None, str]  # what was asked, what was answered, how it ended

PUT: Told = ("put", None, "ok")
FOUND: Told = ("look-up", 7, "ok")
BLIND: Told = ("look-up", NONE, "ok")


def history(*told: Told) -> Cluster:
    """Operations one after another."""
    cluster = Cluster()
    for at, (f, value, outcome) in enumerate(told):
        row = op(f, value, 2 * at, 2 * at + 1, key="t-0", outcome=outcome)
        cluster.add("ops", row | {"op_id": at})
    return cluster


def judged(*told: Told) -> CheckResult:
    return look_ups_find_records(history(*told).run())


def test_a_record_that_was_acknowledged_and_is_not_found() -> None:
    found = judged(BLIND, PUT, FOUND, BLIND, FOUND, BLIND)
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 2, 4)
    assert found.message.startswith("lost timestamps in t-0: node 1 finds no record")
    assert [event["what"] for event in found.witness] == ["put", "look-up"]
    assert found.witness[1]["op_id"] == 3


def test_nobody_is_blamed_before_a_record_was_acknowledged() -> None:
    for told in (
        [BLIND, PUT, FOUND],
        [("put", None, "info"), BLIND, PUT, FOUND],
        [("put", None, "fail"), BLIND, PUT, FOUND],
        [PUT, ("look-up", None, "fail"), FOUND],
    ):
        found = judged(*told)
        assert (found.verdict, found.looked_at) == (Verdict.VALID, 1), told


def test_a_look_up_that_was_under_way_when_the_record_was_acknowledged_binds_nobody() -> None:
    cluster = Cluster()
    cluster.add("ops", op("look-up", NONE, 0, 3, key="t-0"))
    cluster.add("ops", op("put", None, 1, 2, key="t-0", process=1))
    assert look_ups_find_records(cluster.run()).verdict is Verdict.UNKNOWN


def test_of_another_log_nothing_is_known() -> None:
    cluster = history(PUT, BLIND)
    cluster.rows["ops"][1]["key"] = "t-1"
    assert look_ups_find_records(cluster.run()).verdict is Verdict.UNKNOWN


def test_what_may_be_lost_or_dropped_need_not_be_found() -> None:
    lossy = history(PUT, FOUND, BLIND).ended("power-off", 1, 0)
    assert look_ups_find_records(lossy.run()).verdict is Verdict.UNKNOWN
    harmless = history(PUT, FOUND, BLIND).ended("pause", 1, 0)
    assert look_ups_find_records(harmless.run()).verdict is Verdict.INVALID
    dropped = history(PUT, BLIND).run(settings={"log.retention.ms": "1000"})
    assert look_ups_find_records(dropped).verdict is Verdict.UNKNOWN
