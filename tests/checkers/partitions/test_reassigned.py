"""Reassignments against metadata logs by hand."""

import pytest

from checkers.partitions.leaderless import reassigned_when_in_sync, reassignments_end
from checkers.verdict import Verdict
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import Record, change, register, registration_change, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
BEGUN = change("t-0", replicas=[1, 2, 4, 3], addingReplicas=[4], removingReplicas=[3])


def over(replicas: list[int], isr: list[int], **rest: object) -> Record:
    return change("t-0", replicas=replicas, isr=isr, addingReplicas=[], removingReplicas=[], **rest)


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (over([1, 2, 4], [1, 2, 4]), VALID),
        (over([1, 2, 4], [1, 2]), INVALID),
        (over([1, 2, 4], [1, 4]), INVALID),
        (over([1, 2, 4], [4], leader=4), INVALID),
    ],
)
def test_who_is_left_is_in_sync(done: Record, verdict: Verdict) -> None:
    cluster = started().commit(register(4, 14)).commit(registration_change(4, 14, fenced=-1))
    assert reassigned_when_in_sync(cluster.commit(BEGUN).commit(done).run()).verdict is verdict


@pytest.mark.parametrize(
    ("done", "verdict"),
    [
        (change("t-0", replicas=[1, 2], isr=[1, 2]), VALID),
        (change("t-0", replicas=[1, 3], isr=[1]), INVALID),
        (change("t-0", replicas=[1, 2, 4], isr=[1, 2]), INVALID),
        (change("t-0", replicas=[4], isr=[4], leader=4), VALID),
    ],
)
def test_what_is_done_as_it_begins_is_in_sync_too(done: Record, verdict: Verdict) -> None:
    cluster = started().commit(register(4, 14)).commit(registration_change(4, 14, fenced=-1))
    run = cluster.commit(done).run(finished=True)
    assert reassigned_when_in_sync(run).verdict is verdict
    assert reassignments_end(run).verdict is VALID


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ([BEGUN], INVALID),
        ([BEGUN, over([1, 2, 4], [1, 2, 4])], VALID),
        ([BEGUN, over([1, 2, 3], [1, 2])], VALID),
    ],
)
def test_each_is_over_once_all_is_whole(records: list[Record], verdict: Verdict) -> None:
    cluster = started()
    for record in records:
        cluster.commit(record)
    assert reassignments_end(cluster.run(finished=True)).verdict is verdict
    assert saw_nothing(reassignments_end(cluster.run(finished=False)))
    assert saw_nothing(reassignments_end(cluster.run(finished=True, stuck="it is not whole")))


@pytest.mark.parametrize("records", [[], [BEGUN], [BEGUN, over([1, 2, 3], [1, 2])]])
def test_what_goes_on_or_is_cancelled_is_not_done(records: list[Record]) -> None:
    cluster = started()
    for record in records:
        cluster.commit(record)
    assert saw_nothing(reassigned_when_in_sync(cluster.run()))
