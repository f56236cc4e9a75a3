"""What groups are told to have committed, in histories by hand."""

import pytest

from checkers.log.committed_offsets import committed_offsets_are_kept
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import op
from tests.support.kafka_runs import Cluster

Told = tuple[str, int | None, str]


def commit(offset: int, outcome: str = "ok") -> Told:
    return ("commit-offset", offset, outcome)


def told(offset: int | None, outcome: str = "ok") -> Told:
    return ("committed-offset", offset, outcome)


def history(*done: Told) -> Cluster:
    cluster = Cluster()
    for at, (f, value, outcome) in enumerate(done):
        row = op(f, value, 2 * at, 2 * at + 1, key="g", outcome=outcome)
        cluster.add("ops", row | {"op_id": at})
    return cluster


def judged(*done: Told) -> CheckResult:
    return committed_offsets_are_kept(history(*done).run())


def test_an_offset_that_was_acknowledged_and_is_gone() -> None:
    found = judged(commit(1), told(1), commit(2), told(None, "fail"), told(1))
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 1, 2)
    assert found.message.startswith("lost commit of g: offset 2 was acknowledged by node ")
    assert [event["op_id"] for event in found.witness] == [2, 4]


@pytest.mark.parametrize(
    "done",
    [
        [commit(1), commit(2), told(2)],
        [commit(1), commit(2, "info"), told(1), told(2)],
        [commit(1, "info"), commit(2), told(1)],  # the first may take effect late
        [commit(1), commit(2, "fail"), told(1)],
        [commit(1), commit(3, "info"), told(3)],
    ],
)
def test_what_may_be_committed(done: list[Told]) -> None:
    assert judged(*done).verdict is Verdict.VALID


@pytest.mark.parametrize("done", [[told(-1), commit(1)], [commit(1, "info"), told(-1)], []])
def test_without_an_acknowledged_commit_and_an_answer_nobody_is_blamed(done: list[Told]) -> None:
    assert judged(*done).verdict is Verdict.UNKNOWN


def test_what_may_be_lost_with_the_disk_is_not_held_against_anybody() -> None:
    lossy = history(commit(1), told(-1)).ended("power-off", 1, 0)
    assert committed_offsets_are_kept(lossy.run()).verdict is Verdict.UNKNOWN
