"""What groups are told to have committed, in histories by hand."""

import pytest

from checkers.log.committed_offsets import committed_offsets_are_kept
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, op
from tests.support.kafka_runs import Cluster

Told = tuple[str, int | None, str]


def commit(offset: int, outcome: str = "ok") -> Told:
    return ("commit-offset", offset, outcome)


def told(offset: int | None, outcome: str = "ok") -> Told:
    return ("committed-offset", offset, outcome)


def history(*done: Told) -> Cluster:
    """The last answer is that to the question at the end."""
    cluster = Cluster()
    last = max((at for at, (f, *_) in enumerate(done) if f == "committed-offset"), default=-1)
    for at, (f, value, outcome) in enumerate(done):
        phase = "final" if at == last else "main"
        row = op(f, value, 2 * at, 2 * at + 1, key="g", outcome=outcome, phase=phase)
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
    found = committed_offsets_are_kept(lossy.run())
    assert (found.verdict, found.looked_at) == (Verdict.VALID, 0)
    assert found.message == "nothing to judge: records may have been lost before each answer"


def test_an_offset_that_nobody_committed() -> None:
    found = judged(commit(1), told(1), told(7), commit(7), commit(8), told(8))
    assert (found.verdict, found.count) == (Verdict.INVALID, 1)
    assert found.message == "made-up commit of g: node 1 answers 7, which no client had committed"
    assert judged(commit(1), commit(2, "fail"), told(2)).verdict is Verdict.INVALID
    assert judged(told(5), commit(1), told(1)).verdict is Verdict.INVALID


def test_what_was_lost_with_a_disk_was_committed_once() -> None:
    lossy = history(commit(3), told(9)).ended("power-off", 1, 0)
    assert committed_offsets_are_kept(lossy.run()).verdict is Verdict.INVALID


def settled(error: str | None, *, faults: tuple[tuple[int, int], ...] = ()) -> Verdict:
    """Of a commit at 0 s of which nobody knows, and which is told at 20 s, after a newer one that
    was asked for at 15 s. `faults` last from and to these seconds."""
    cluster = history(commit(1, "info"), commit(2), told(1))
    times = ((0, 1), (15, 16), (20, 21))
    for row, (t0, t1) in zip(cluster.rows["ops"], times, strict=True):
        row |= {"t0": t0 * 1000 * MS, "t1": t1 * 1000 * MS}
    cluster.rows["ops"][0]["error"] = error
    for t0, t1 in faults:
        cluster.ended("partition", 1, t0 * 1000)
        cluster.rows["faults"][-1]["t_healed"] = t1 * 1000 * MS
    return committed_offsets_are_kept(cluster.run()).verdict


def test_a_commit_of_which_nobody_knows_is_done_late_only_while_something_holds_it_up() -> None:
    assert settled("timed out") is Verdict.INVALID
    assert settled("timed out", faults=((0, 14),)) is Verdict.VALID
    assert settled("timed out", faults=((0, 6), (7, 14))) is Verdict.VALID
    assert settled("timed out", faults=((0, 6), (10, 14))) is Verdict.INVALID
    assert settled("timed out", faults=((10, 18),)) is Verdict.INVALID


def test_what_was_answered_was_in_the_log_before() -> None:
    assert settled("error-16", faults=((0, 14),)) is Verdict.INVALID


def test_an_unclean_election_that_was_asked_for_may_forget() -> None:
    cut = history(commit(1), commit(2), told(1)).ended("partition", 1, 0)
    assert committed_offsets_are_kept(cut.run()).verdict is Verdict.INVALID
    asked = {"min_isr": "2", "unclean": "on"}
    assert committed_offsets_are_kept(cut.run(settings=asked)).looked_at == 0


def test_commits_that_are_refused_for_ever_show_nothing() -> None:
    refused = [commit(at, "info") for at in range(2, 8)]
    found = judged(commit(1), told(1), *refused, told(1))
    assert found.verdict is Verdict.VALID, "one succeeded"
    cluster = history(commit(1), told(1), *refused, told(1)).ended("kill", 1, 2)
    found = committed_offsets_are_kept(cluster.run())
    assert found.verdict is Verdict.UNKNOWN
    assert "none of 6 commits succeeded that were tried when all was well again" in found.message


def test_who_asks_nobody_at_the_end_knows_nothing() -> None:
    cluster = history(commit(1), told(1))
    cluster.rows["ops"][1]["phase"] = "main"
    assert committed_offsets_are_kept(cluster.run()).verdict is Verdict.UNKNOWN
