"""ElectLeaders 3 (KIP-966, part two): what operators ask for, and how each refusal is named."""

from node.config import RecoveryStrategy
from node.controller.image.topics import RECOVERING
from node.errors import ErrorCode
from node.ids import ConnectionId
from node.wire.reassignments import (
    DESIGNATED,
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    MOST_ELECTIONS,
    UNCLEAN,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)
from tests.support.recovering import Recovering

AT = NamedPartition(topic="t", index=0)
OPERATOR = ConnectionId(1)
TIMEOUT_MS = 3000


def lost(*, manager: bool = True) -> Recovering:
    """No replica may lead t-0, nor is any back; nothing is done by itself."""
    brokers = Recovering(manager=manager, strategy=RecoveryStrategy.NONE)
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    brokers.propose(1, 2)
    for broker in (3, 2, 1):
        brokers.fence(broker)
    brokers.register(1)
    brokers.register(2)
    brokers.logs = {1: (0, 10), 2: (0, 30), 3: (0, 20)}
    return brokers


def designate(
    brokers: Recovering, *leaders: int | None, has_recovery: bool = True
) -> tuple[ErrorCode, ...]:
    """The errors for t-0, once for each."""
    response = brokers.ask(
        ElectLeadersRequest(
            kind=DESIGNATED,
            partitions=(AT,) * len(leaders),
            desired=leaders if any(each is not None for each in leaders) else (),
            has_recovery=has_recovery,
        )
    )
    assert isinstance(response, ElectLeadersResponse)
    return tuple(each.error for each in response.results)


def request(brokers: Recovering, kind: int, *partitions: NamedPartition) -> None:
    asked = ElectLeadersRequest(
        kind=kind, partitions=partitions or None, timeout_ms=TIMEOUT_MS, has_recovery=True
    )
    brokers.recovery.request(OPERATOR, asked, brokers.context())


def answered(brokers: Recovering) -> list[tuple[ElectionResult, ...]]:
    found = brokers.recovery.take_answered(brokers.context())
    return [each.response.results for each in found]


# --- designation ---


def test_an_operator_names_the_leader_of_a_partition_that_has_none() -> None:
    brokers = lost()
    brokers.come_up(3)
    assert designate(brokers, 3) == (ErrorCode.NONE,)
    assert brokers.state() == ((3,), (), 3)
    assert brokers.partition().recovery == RECOVERING
    assert brokers.partition().last_known_elr == (1, 2)


def test_no_manager_is_needed_for_that() -> None:
    brokers = lost(manager=False)
    brokers.come_up(3)
    assert designate(brokers, 3) == (ErrorCode.NONE,)
    assert brokers.state() == ((3,), (), 3)
    assert brokers.partition().last_known_elr == ()


def test_a_leader_is_not_replaced() -> None:
    brokers = lost()
    brokers.come_up(3)
    designate(brokers, 3)
    brokers.beat(2)
    assert designate(brokers, 2) == (ErrorCode.ELECTION_NOT_NEEDED,)
    assert brokers.partition().leader == 3


def test_each_refusal_has_its_own_error() -> None:
    brokers = lost()
    brokers.come_up(4)
    assert designate(brokers, 3) == (ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,), "it is fenced"
    assert designate(brokers, 4) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT,), "it has no replica"
    assert designate(brokers, None) == (ErrorCode.INVALID_REQUEST,), "none is named"
    nothing = NamedPartition(topic="t", index=7)
    response = brokers.ask(
        ElectLeadersRequest(kind=DESIGNATED, partitions=(nothing,), desired=(3,), has_recovery=True)
    )
    assert isinstance(response, ElectLeadersResponse)
    assert response.results[0].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    whole = ElectLeadersRequest(kind=DESIGNATED, partitions=None, has_recovery=True)
    response = brokers.ask(whole)
    assert isinstance(response, ElectLeadersResponse)
    assert response.error is ErrorCode.INVALID_REQUEST, "all partitions, and no leader of any"


def test_older_versions_know_neither_these_elections_nor_a_limit() -> None:
    brokers = lost()
    brokers.come_up(3)
    assert designate(brokers, 3, has_recovery=False) == (ErrorCode.INVALID_REQUEST,)
    many = tuple(NamedPartition(topic="none", index=each) for each in range(MOST_ELECTIONS + 1))
    response = brokers.ask(ElectLeadersRequest(kind=UNCLEAN, partitions=many))
    assert isinstance(response, ElectLeadersResponse)
    assert {each.error for each in response.results} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_thousand_partitions_of_a_request_are_served() -> None:
    brokers = lost()
    brokers.come_up(3)
    others = tuple(NamedPartition(topic="none", index=each) for each in range(MOST_ELECTIONS))
    partitions = (*others, AT)
    response = brokers.ask(
        ElectLeadersRequest(
            kind=DESIGNATED, partitions=partitions, desired=(3,) * 1001, has_recovery=True
        )
    )
    assert isinstance(response, ElectLeadersResponse)
    assert [each.partition for each in response.results] == list(partitions)
    assert response.results[-1].error is ErrorCode.REQUEST_LIMIT_REACHED
    assert not brokers.partition().has_leader


# --- the longest log ---


def test_an_operator_asks_for_the_longest_log_of_those_that_are_there() -> None:
    brokers = lost()
    brokers.come_up(3)
    brokers.beat(1)
    brokers.settle()
    assert not brokers.partition().has_leader, "the strategy is None"
    request(brokers, LONGEST_AGGRESSIVE, AT)
    brokers.poll()
    assert answered(brokers) == [], "no replica has answered yet"
    brokers.settle()
    assert answered(brokers) == [(ElectionResult(partition=AT),)]
    assert brokers.partition().leader == 3


def test_a_balanced_one_waits_for_the_last_known_until_the_operators_time_is_over() -> None:
    brokers = lost()
    brokers.come_up(3)
    brokers.beat(1)
    request(brokers, LONGEST_BALANCED)
    brokers.settle()
    assert answered(brokers) == []
    brokers.pass_quietly(TIMEOUT_MS)
    ((result,),) = answered(brokers)
    assert (result.partition, result.error) == (AT, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    brokers.beat(2)
    brokers.settle()
    assert not brokers.partition().has_leader, "what was asked for is over"
    request(brokers, LONGEST_BALANCED)
    brokers.settle()
    assert answered(brokers) == [(ElectionResult(partition=AT),)]
    assert brokers.partition().leader == 2


def test_replicas_that_do_not_answer_in_the_operators_time() -> None:
    brokers = lost()
    brokers.come_up(3)
    request(brokers, LONGEST_AGGRESSIVE, AT)
    brokers.poll()
    brokers.pass_quietly(TIMEOUT_MS)
    brokers.poll()
    ((result,),) = answered(brokers)
    assert result.error is ErrorCode.REQUEST_TIMED_OUT
    brokers.poll()
    assert brokers.recovery.deadline_ns() > brokers.now_ns


def test_refusals_of_recoveries() -> None:
    brokers = lost()
    brokers.come_up(3)
    designate(brokers, 3)
    nothing = NamedPartition(topic="t", index=7)
    request(brokers, LONGEST_AGGRESSIVE, AT, nothing)
    brokers.poll()
    ((led, unknown),) = answered(brokers)
    assert led.error is ErrorCode.ELECTION_NOT_NEEDED
    assert unknown.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_without_a_manager_no_recovery_is_held() -> None:
    brokers = lost(manager=False)
    brokers.come_up(3)
    request(brokers, LONGEST_AGGRESSIVE, AT)
    brokers.poll()
    ((result,),) = answered(brokers)
    assert result.error is ErrorCode.POLICY_VIOLATION
