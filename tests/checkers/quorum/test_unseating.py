"""Requests that unseat a leader, and such that do not, in histories by hand."""

from checkers.quorum.agreement import UNEXPECTED, no_request_unseats
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import op
from tests.support.kafka_runs import Cluster

Told = tuple[str, int | None, str | None]  # what was asked, what was answered, and the error

FALLS: Told = ("alter-configs", 9, UNEXPECTED)
REFUSED: Told = ("alter-configs", 9, "INVALID_REQUEST")
DONE: Told = ("alter-configs", 0, None)
NO_NODE: Told = ("quorum-epoch", None, "no leader found")


def epoch(value: int) -> Told:
    return ("quorum-epoch", value, None)


def history(*told: Told) -> Cluster:
    """Operations one after another."""
    cluster = Cluster()
    for at, (f, value, error) in enumerate(told):
        outcome = "ok" if error is None else "info" if f == "alter-configs" else "fail"
        cluster.add("ops", op(f, value, 2 * at, 2 * at + 1, key="x", outcome=outcome, error=error))
    return cluster


def judged(*told: Told) -> CheckResult:
    return no_request_unseats(history(*told).run())


def test_each_request_after_which_a_failed_controller_leads_no_more_is_accused() -> None:
    found = judged(epoch(3), FALLS, NO_NODE, epoch(5), DONE, epoch(5), FALLS, epoch(6))
    assert (found.verdict, found.count, found.looked_at) == (Verdict.INVALID, 2, 3)
    assert found.message.startswith("unseated controller: node 1 answered a request with")
    assert "from epoch 3 to 5" in found.message
    assert [event["value"] for event in found.witness[:3]] == [3, 9, 5]


def test_nobody_is_blamed_for_an_election_of_another_cause() -> None:
    for request in (REFUSED, DONE, ("alter-configs", 9, "REQUEST_TIMED_OUT")):
        found = judged(epoch(3), request, epoch(4))
        assert (found.verdict, found.looked_at) == (Verdict.VALID, 1), request


def test_a_controller_that_fails_and_goes_on_leading_unseats_nobody() -> None:
    assert judged(epoch(3), FALLS, epoch(3)).verdict is Verdict.VALID


def test_without_an_answer_on_each_side_nothing_is_known() -> None:
    for told in ([FALLS, epoch(4)], [epoch(3), FALLS], [epoch(3), FALLS, NO_NODE], [epoch(3)]):
        assert judged(*told).verdict is Verdict.UNKNOWN, told


def test_a_question_under_way_at_the_request_proves_nothing() -> None:
    cluster = Cluster()
    cluster.add("ops", op("quorum-epoch", 3, 0, 3, key="x"))
    cluster.add("ops", op("alter-configs", 9, 1, 4, key="x", error=UNEXPECTED, outcome="info"))
    cluster.add("ops", op("quorum-epoch", 4, 5, 6, key="x"))
    assert no_request_unseats(cluster.run()).verdict is Verdict.UNKNOWN


def test_a_fault_may_have_unseated_it() -> None:
    for at in (0, 2, 5):
        cluster = history(epoch(3), FALLS, epoch(4)).ended("pause", 1, at)
        assert no_request_unseats(cluster.run()).verdict is Verdict.UNKNOWN, at
    later = history(epoch(3), FALLS, epoch(4)).ended("pause", 1, 6)
    assert no_request_unseats(later.run()).verdict is Verdict.INVALID
