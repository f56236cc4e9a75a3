"""`fail` only where nothing can have happened."""

import pytest
from kio.schema.errors import ErrorCode as Kafkas

from checkers.history.events import EventType
from workloads.wire.error_codes import (
    ErrorCode,
    admin_outcome,
    error_name,
    is_retriable_send,
    send_outcome,
)
from workloads.wire.produce import Produced

IN_DOUBT = {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


def test_errors_have_kafkas_numbers_and_names() -> None:
    kafkas = {int(each): each.name.upper() for each in Kafkas}
    assert {int(each): each.name for each in ErrorCode}.items() <= kafkas.items()
    assert error_name(6) == "NOT_LEADER_OR_FOLLOWER"
    assert error_name(12345) == "error-12345"


@pytest.mark.parametrize("code", [*range(-1, 134), 999])
def test_an_error_that_came_with_an_offset_came_after_the_append(code: int) -> None:
    outcome = send_outcome(Produced(error=code, base_offset=17))
    assert outcome is (EventType.OK if code == 0 else EventType.INFO)


@pytest.mark.parametrize("code", [*sorted(IN_DOUBT), -1, 5, 8, 9, 72, 133, 999])
def test_what_may_follow_an_append_is_in_doubt(code: int) -> None:
    assert send_outcome(Produced(error=code, base_offset=-1)) is EventType.INFO


@pytest.mark.parametrize("code", [3, 6, 10, 19, 45, 47])
def test_what_is_refused_before_the_append_failed(code: int) -> None:
    assert send_outcome(Produced(error=code, base_offset=-1)) is EventType.FAIL


@pytest.mark.parametrize("code", [7, 20, 6, 3, 19])
def test_an_idempotent_producer_tries_again_what_may_pass(code: int) -> None:
    assert is_retriable_send(code)
    assert not is_retriable_send(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, EventType.OK),
        (38, EventType.FAIL),
        (17, EventType.FAIL),
        (36, EventType.INFO),  # perhaps created by the first of two forwarded requests
        (3, EventType.INFO),
        (7, EventType.INFO),
        (41, EventType.INFO),
        (-1, EventType.INFO),
        (999, EventType.INFO),
    ],
)
def test_topics_are_refused_only_by_what_finds_the_request_wanting(
    code: int, outcome: EventType
) -> None:
    assert admin_outcome(code) is outcome
