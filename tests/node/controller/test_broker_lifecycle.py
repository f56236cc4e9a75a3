"""Registrations, sessions, fencing, and controlled shutdown (KIP-631, KIP-841)."""

from dataclasses import replace
from uuid import UUID

import pytest

from node import limits
from node.errors import ErrorCode
from node.ids import Endpoint, NodeId
from node.records.metadata import BrokerRegistrationChangeRecord
from node.wire.produce import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    FeatureRange,
    RegisteredListener,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from tests.support.brokers import FEATURES, Brokers

DIRECTORY = UUID(int=(1 << 91) + 1)  # broker 1's


def test_a_broker_is_fenced_until_it_knows_its_own_registration() -> None:
    brokers = Brokers()
    epoch = brokers.register(1).epoch
    early = brokers.beat(1, offset=epoch - 1)
    assert early == BrokerHeartbeatResponse(is_caught_up=False, is_fenced=True)
    asked = brokers.beat(1, offset=epoch, fence=True)
    assert asked == BrokerHeartbeatResponse(is_caught_up=True, is_fenced=True)
    assert brokers.beat(1, offset=epoch) == replace(asked, is_fenced=False)
    assert brokers.image.brokers.is_active(1)


def test_each_life_has_a_greater_epoch_and_the_same_life_keeps_its_own() -> None:
    """M3."""
    brokers = Brokers()
    epochs = [brokers.register(broker).epoch for broker in (1, 2, 1, 3, 2)]
    assert epochs == sorted(set(epochs))
    life = UUID(int=5 << 80)
    first = brokers.register(1, incarnation=life).epoch
    brokers.beat(1)
    assert brokers.register(1, incarnation=life).epoch == first
    assert brokers.image.brokers.is_active(1), "it is as it was"


def test_two_lives_of_a_broker_are_not_served_at_once() -> None:
    brokers = Brokers()
    brokers.come_up(1)
    assert brokers.register(1).error == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    brokers.pass_ms(9_001)
    assert brokers.register(1).error == ErrorCode.NONE


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"directories": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (UUID(int=99),)}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (UUID(int=1 << 90),) * 2}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (DIRECTORY,)}, ErrorCode.INVALID_REGISTRATION),
        ({"features": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"features": FEATURES[:1]}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": (FeatureRange(name="metadata.version", lowest=7, highest=29),)},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_a_registration_that_is_refused_changes_nothing(
    changes: dict[str, object], error: ErrorCode
) -> None:
    brokers = Brokers()
    brokers.come_up(1)
    digest = brokers.image.digest
    assert brokers.register(2, **changes).error == error  # type: ignore[arg-type]
    assert brokers.image.digest == digest


def test_before_directories_were_known_none_is_kept() -> None:
    brokers = Brokers(elr=False, level=16)
    assert brokers.register(1, directories=()).error == ErrorCode.NONE
    brokers.register(2)
    assert [each.log_dirs for each in brokers.image.brokers.all()] == [(), ()]


def test_who_speaks_in_another_epoch_is_told_so() -> None:
    brokers = Brokers()
    assert brokers.beat(1).error == ErrorCode.BROKER_ID_NOT_REGISTERED
    brokers.come_up(1)
    ask = AllocateProducerIdsRequest(broker=NodeId(1), epoch=brokers.epoch(1) - 1)
    assert brokers.ask(ask) == AllocateProducerIdsResponse(error=ErrorCode.STALE_BROKER_EPOCH)


def test_each_block_of_producer_ids_is_given_away_once() -> None:
    """M5."""
    brokers = Brokers()
    brokers.come_up(1)
    ask = AllocateProducerIdsRequest(broker=NodeId(1), epoch=brokers.epoch(1))
    given = [brokers.ask(ask) for _ in range(3)]
    assert given == [
        AllocateProducerIdsResponse(first=first, count=1000) for first in (0, 1000, 2000)
    ]


def test_who_is_silent_for_a_session_is_fenced_and_heard_of_again() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.pass_ms(6_000)
    brokers.beat(1)
    brokers.pass_ms(4_000)
    assert [each.fenced for each in brokers.image.brokers.all()] == [False, True]
    brokers.beat(2)
    assert brokers.image.brokers.is_active(2)


def test_a_new_controller_gives_everybody_a_whole_session() -> None:
    """KAFKA-18138."""
    brokers = Brokers()
    brokers.come_up(1)
    brokers.pass_ms(8_000)
    brokers.fail_over()
    brokers.pass_ms(8_000)
    assert brokers.image.brokers.is_active(1)
    brokers.pass_ms(2_000)
    assert not brokers.image.brokers.is_active(1)


def test_a_deadline_is_that_of_who_was_silent_longest() -> None:
    brokers = Brokers()
    brokers.come_up(1)
    brokers.pass_ms(1_000)
    brokers.come_up(2)
    sessions = brokers.sessions
    assert sessions.expired(sessions.deadline_ns() - 1) is None
    assert sessions.expired(sessions.deadline_ns()) == 1


# --- controlled shutdown ---


def two_and_a_topic() -> Brokers:
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2))
    return brokers


def test_a_broker_may_end_once_all_others_know_that_it_leads_nothing() -> None:
    brokers = two_and_a_topic()
    entered = brokers.beat(1, shutdown=True)
    assert entered == BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)
    assert brokers.state() == ((2,), (), 2)
    moved = brokers.offset - 1
    brokers.beat(2, offset=moved - 1)
    assert not brokers.beat(1, shutdown=True).should_shut_down
    brokers.beat(2, offset=moved)
    assert brokers.beat(1, shutdown=True).should_shut_down
    assert not brokers.image.brokers.is_active(1)


def test_that_it_is_about_to_end_is_left_by_another_life_alone() -> None:
    """KIP-841: in the log, so that every controller and leader knows it."""
    brokers = two_and_a_topic()
    brokers.beat(1, shutdown=True)
    brokers.fail_over()
    brokers.beat(1)
    assert not brokers.image.brokers.is_active(1)
    brokers.pass_ms(9_001)
    brokers.come_up(2)
    brokers.beat(1)
    found = brokers.image.brokers.find(1)
    assert found is not None
    assert (found.fenced, found.in_controlled_shutdown) == (False, True)
    brokers.fence(1)
    brokers.come_up(1, clean=True)
    assert brokers.image.brokers.is_active(1)


def test_who_leads_nothing_or_is_fenced_may_end_at_once() -> None:
    brokers = two_and_a_topic()
    assert brokers.beat(2, shutdown=True).should_shut_down
    brokers.register(3)
    assert brokers.beat(3, shutdown=True).should_shut_down


# --- and the rest ---


def test_a_failed_directory_takes_its_replicas_out_of_their_isr() -> None:
    """KIP-858: what lies on the broker's other directory stays."""
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2))
    other = UUID(int=1 << 95)
    grown = BrokerRegistrationChangeRecord(
        broker_id=1, broker_epoch=brokers.epoch(1), log_dirs=(DIRECTORY, other)
    )
    brokers.image.replay(grown)
    brokers.create("u", (1, 2))
    brokers.ask(
        BrokerHeartbeatRequest(
            broker=NodeId(1),
            epoch=brokers.epoch(1),
            metadata_offset=brokers.offset,
            want_fence=False,
            want_shutdown=False,
            offline=(DIRECTORY,),
        )
    )
    assert brokers.state() == ((2,), (), 2)
    assert brokers.partition("u").isr == (1, 2)
    found = brokers.image.brokers.find(1)
    assert found is not None
    assert found.log_dirs == (other,)


def test_who_is_forgotten_is_in_no_isr_and_no_elr() -> None:
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1, 2), min_insync_replicas="2")
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    request = UnregisterBrokerRequest(broker=NodeId(2))
    assert brokers.ask(request) == UnregisterBrokerResponse()
    assert brokers.state() == ((1,), (), 1)
    again = brokers.ask(request)
    assert isinstance(again, UnregisterBrokerResponse)
    assert again.error == ErrorCode.BROKER_ID_NOT_REGISTERED


# --- how much one node may say of itself ---

LONGEST_HOST = ".".join(["h" * 63] * 4)


def listener(name: str = "A", host: str = "h", port: int = 1) -> RegisteredListener:
    return RegisteredListener(endpoint=Endpoint(name=name, host=host, port=port))


TOO_MUCH = [
    ("listeners", tuple(listener(str(n)) for n in range(limits.MAX_ENDPOINTS + 1))),
    ("listeners", (listener("A" * (limits.MAX_HOST_CHARACTERS + 1)),)),
    ("listeners", (listener(host=LONGEST_HOST + "h"),)),
    ("listeners", (listener(host="not a host"),)),
    (
        "features",
        tuple(
            FeatureRange(name=f"f{n}", lowest=0, highest=1) for n in range(limits.MAX_FEATURES + 1)
        ),
    ),
]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *TOO_MUCH,
        ("directories", tuple(UUID(int=500 + n) for n in range(limits.MAX_DIRECTORIES + 1))),
    ],
)
def test_a_broker_that_says_too_much_is_not_registered(field: str, value: object) -> None:
    brokers = Brokers()
    told = brokers.register(1, **{field: value})  # type: ignore[arg-type]
    assert told.error == ErrorCode.INVALID_REGISTRATION
    assert brokers.register(1, listeners=(listener(host=LONGEST_HOST),)).error == ErrorCode.NONE


@pytest.mark.parametrize(("field", "value"), TOO_MUCH)
def test_nor_is_a_controller(field: str, value: object) -> None:
    assert registered_controller(Brokers(), 1, **{field: value}) == ErrorCode.INVALID_REGISTRATION


def registered_controller(brokers: Brokers, controller: int, **changes: object) -> ErrorCode:
    request = ControllerRegistrationRequest(
        controller=NodeId(controller),
        incarnation=UUID(int=controller),
        listeners=(listener(host=LONGEST_HOST),),
        features=(),
    )
    answer = brokers.ask(replace(request, **changes))  # type: ignore[arg-type]
    assert isinstance(answer, ControllerRegistrationResponse)
    return answer.error


def test_so_many_are_registered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_REGISTERED", 2)
    brokers = Brokers()
    told = [brokers.register(broker).error for broker in (1, 2, 3)]
    assert told == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.INVALID_REGISTRATION]
    assert brokers.register(2, clean=True).error == ErrorCode.NONE
    assert [registered_controller(brokers, each) for each in (1, 2, 3, 1)] == [
        *told,
        ErrorCode.NONE,
    ]
