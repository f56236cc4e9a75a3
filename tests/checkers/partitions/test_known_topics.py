"""Topics that a broker knows or does not, in histories by hand."""

import pytest

from checkers.partitions.as_asked_for import brokers_know_the_topics
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, op
from tests.support.kafka_runs import Cluster

Told = tuple[str, str, int | None, str, int]  # f, topic, answer, outcome, node


def create(topic: str, outcome: str = "ok") -> Told:
    return ("create-topic", topic, None, outcome, 1)


def delete(topic: str, outcome: str = "ok") -> Told:
    return ("delete-topic", topic, None, outcome, 1)


def told(topic: str, answer: int = 1, node: int = 1) -> Told:
    return ("describe-topic", topic, answer, "ok", node)


def judged(*operations: Told, late: int = 0, cluster: Cluster | None = None) -> CheckResult:
    """Brokers are asked `late` seconds after all else."""
    cluster = cluster or Cluster()
    for at, (f, topic, answer, outcome, node) in enumerate(operations):
        phase = "final" if f == "describe-topic" else "main"
        row = op(f, answer, 2 * at, 2 * at + 1, key=topic, outcome=outcome, node=node, phase=phase)
        if phase == "final":
            row |= {"t0": (late * 1000 + 2 * at) * MS, "t1": (late * 1000 + 2 * at + 1) * MS}
        cluster.add("ops", row | {"op_id": at})
    return brokers_know_the_topics(cluster.run())


def test_a_broker_that_knows_the_later_topic_and_one_that_is_gone() -> None:
    found = judged(create("gone"), delete("gone"), create("last"), told("last"), told("gone"))
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 1, 1)
    assert found.message == (
        "ghost topic: node 1 knows gone, which was deleted, yet last, which was created afterwards"
    )
    assert [event["op_id"] for event in found.witness] == [0, 1, 2, 4]


def test_a_broker_that_knows_the_later_topic_and_not_an_earlier_one() -> None:
    found = judged(create("there"), create("last"), told("last"), told("there", 0))
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)
    assert found.message == (
        "missing topic: node 1 does not know there, which exists, but last, which was created "
        "afterwards"
    )


def test_a_broker_that_knows_what_there_is_and_nothing_else() -> None:
    found = judged(
        create("there"),
        create("gone"),
        delete("gone"),
        create("last", "info"),  # the broker knows it, so it was created
        told("last"),
        told("gone", 0),
        told("there"),
    )
    assert (found.verdict, found.looked_at) == (Verdict.VALID, 2)


@pytest.mark.parametrize(
    "operations",
    [
        # It may not have come so far in the log.
        [create("gone"), delete("gone"), create("last"), told("gone")],
        [create("gone"), delete("gone"), create("last"), told("last", 0), told("gone")],
        [create("gone"), delete("gone"), create("last"), told("last", node=2), told("gone")],
        [create("there"), create("last"), told("last", 0), told("there", 0)],
        # The other topic may have been there before.
        [create("gone"), create("last"), delete("gone"), told("last"), told("gone")],
        [create("last"), create("there"), told("last"), told("there", 0)],
        # Nobody was told what became of it, or it was made anew.
        [create("gone"), delete("gone", "info"), create("last"), told("last"), told("gone")],
        [create("gone"), delete("gone", "info"), create("last"), told("last"), told("gone", 0)],
        [create("there", "info"), create("last"), told("last"), told("there", 0)],
        [create("gone"), delete("gone"), create("gone"), create("last"), told("last")],
    ],
)
def test_nobody_is_blamed_where_nobody_knows(operations: list[Told]) -> None:
    found = judged(*operations)
    assert found.verdict is Verdict.UNKNOWN, found.message


def test_a_deletion_that_surely_failed_is_none() -> None:
    told_all = [create("there"), delete("there", "fail"), create("last"), told("last")]
    assert judged(*told_all, told("there")).verdict is Verdict.VALID
    assert judged(*told_all, told("there", 0)).verdict is Verdict.INVALID


def test_a_broker_that_knows_no_topic_at_all() -> None:
    operations = [create("there"), create("last"), told("last", 0), told("there", 0)]
    found = judged(*operations, late=3)
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)
    assert found.message == (
        "missing topic: node 1 knows no topic at all, 3.0 s after last was created"
    )
    assert judged(*operations, late=1).verdict is Verdict.UNKNOWN, "it may not have heard of them"


def test_a_broker_that_something_was_wrong_with_may_not_have_heard_of_any() -> None:
    operations = [create("there"), told("there", 0)]
    assert judged(*operations, late=9).verdict is Verdict.INVALID
    hurt = Cluster().ended("pause", 1, 8_000)
    assert judged(*operations, late=9, cluster=hurt).verdict is Verdict.UNKNOWN


def test_a_broker_that_knows_a_topic_is_no_further_than_that() -> None:
    operations = [create("first"), create("last"), told("last", 0), told("first")]
    assert judged(*operations, late=9).verdict is Verdict.UNKNOWN


def test_a_topic_that_is_deleted_need_not_be_known() -> None:
    operations = [create("gone"), delete("gone", "info"), told("gone", 0)]
    assert judged(*operations, late=9).verdict is Verdict.UNKNOWN
