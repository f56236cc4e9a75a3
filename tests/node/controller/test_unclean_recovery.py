"""Unclean recovery (KIP-966, part two): when it is held, who is asked, and who leads."""

import pytest

from node.config import RecoveryStrategy
from node.controller.controller import partition_gauges
from node.controller.decision import recovery_strategy
from node.controller.image.topics import RECOVERED, RECOVERING
from node.ids import MS
from node.records.metadata import ConfigRecord
from node.records.schemas import NO_LEADER
from node.wire.topic_changes import DeletedTopic, DeleteTopicsRequest
from tests.support.recovering import REQUEST_MS, TIMEOUT_MS, Recovering


def three(strategy: str = "Balanced", *, manager: bool = True) -> Recovering:
    brokers = Recovering(manager=manager)
    brokers.come_up(1, 2, 3)
    configs = {"min_insync_replicas": "2", "unclean_recovery_strategy": strategy}
    brokers.create("t", (1, 2, 3), **configs)
    return brokers


def lost(strategy: str = "Balanced") -> Recovering:
    """3 left the ISR long ago; then power failed for 1 and 2, and both lost what they had."""
    brokers = three(strategy)
    brokers.propose(1, 2)
    for broker in (3, 2, 1):
        brokers.fence(broker)
    assert brokers.state() == ((), (1, 2), NO_LEADER)
    brokers.register(1)
    brokers.register(2)
    assert brokers.state() == ((), (), NO_LEADER)
    assert brokers.partition().last_known_elr == (1, 2)
    assert brokers.partition().last_known_leader == 1
    return brokers


def test_balanced_waits_for_all_that_may_have_everything() -> None:
    brokers = lost()
    brokers.logs = {1: (0, 10), 2: (0, 30), 3: (0, 20)}
    brokers.come_up(3)
    brokers.beat(1)
    brokers.poll()
    brokers.pass_quietly(10 * TIMEOUT_MS)
    brokers.poll()
    assert brokers.asked == {}, "2 may have the most, and is not there"
    brokers.beat(2)
    brokers.settle()
    assert brokers.state() == ((2,), (), 2)
    assert brokers.partition().recovery == RECOVERING
    assert brokers.partition().last_known_leader == NO_LEADER
    assert brokers.recovery.finished == 1


def test_last_known_members_are_known_until_the_isr_has_the_minimum() -> None:
    brokers = lost()
    brokers.beat(1)
    brokers.beat(2)
    brokers.settle()
    assert brokers.state() == ((1,), (), 1)
    assert brokers.partition().last_known_elr == (2,)
    brokers.propose(1, recovery=RECOVERED)
    brokers.propose(1, 2)
    assert brokers.partition().last_known_elr == ()


def test_aggressive_takes_the_best_of_those_that_are_there() -> None:
    brokers = lost("Aggressive")
    brokers.logs = {1: (0, 10), 2: (0, 30), 3: (0, 20)}
    brokers.come_up(3)
    brokers.beat(1)
    brokers.settle()
    assert brokers.state() == ((3,), (), 3)
    assert brokers.partition().last_known_elr == (1, 2)


def test_aggressive_does_not_wait_for_a_fenced_member_of_the_elr() -> None:
    brokers = three("Aggressive")
    brokers.propose(1, 2)
    brokers.fence(2)
    brokers.fence(1)
    assert brokers.state() == ((), (1, 2), NO_LEADER)
    brokers.settle()
    assert brokers.state() == ((3,), (), 3)
    assert brokers.partition().last_known_elr == (1, 2), "they may have more"


def test_balanced_waits_for_a_fenced_member_of_the_elr() -> None:
    brokers = three()
    brokers.propose(1, 2)
    brokers.fence(2)
    brokers.fence(1)
    brokers.settle()
    assert brokers.state() == ((), (1, 2), NO_LEADER)
    brokers.come_up(2, clean=True)
    assert brokers.state() == ((2,), (1,), 2)
    assert brokers.partition().recovery == RECOVERED


def test_none_waits_for_an_operator() -> None:
    brokers = lost("None")
    brokers.come_up(3)
    brokers.beat(1)
    brokers.beat(2)
    brokers.settle()
    assert brokers.state() == ((), (), NO_LEADER)


def gauges(brokers: Recovering) -> tuple[int, int]:
    """Partitions under recovery, and those that wait for an operator (KIP-966, "Metrics")."""
    told = partition_gauges(brokers.image, brokers.settings)
    return (
        told["unclean-recovery-partitions-count"],
        told["manual-leader-election-required-partition-count"],
    )


@pytest.mark.parametrize(
    ("strategy", "waiting"), [("Balanced", (1, 0)), ("Aggressive", (1, 0)), ("None", (0, 1))]
)
def test_metrics_count_what_is_recovered_and_what_waits_for_an_operator(
    strategy: str, waiting: tuple[int, int]
) -> None:
    brokers = lost(strategy)
    assert gauges(brokers) == waiting, "also while a last known member is fenced"
    for broker in (1, 2):
        brokers.beat(broker)
    brokers.settle()
    if strategy != "None":
        assert gauges(brokers) == (0, 0)
        assert brokers.recovery.finished == 1
        brokers.fail_over()
        assert brokers.recovery.finished == 0, "another controller counts anew"


def test_a_later_epoch_counts_for_more_than_a_longer_log() -> None:
    brokers = lost()
    brokers.logs = {1: (3, 100), 2: (4, 7)}
    brokers.beat(1)
    brokers.beat(2)
    brokers.settle()
    assert brokers.partition().leader == 2


def test_of_equal_logs_the_first_in_replica_order_leads() -> None:
    brokers = lost()
    brokers.logs = {1: (0, 7), 2: (0, 7)}
    brokers.beat(2)
    brokers.beat(1)
    brokers.settle()
    assert brokers.partition().leader == 1


def test_all_that_are_there_are_waited_for_until_the_time_is_over() -> None:
    brokers = lost()
    brokers.logs = {1: (0, 10), 2: (0, 20), 3: (0, 30)}
    brokers.come_up(3)
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(1)
    brokers.answer(2)
    brokers.pass_quietly(TIMEOUT_MS - 1)
    assert brokers.poll() == []
    brokers.pass_quietly(1)
    brokers.poll()
    assert brokers.partition().leader == 2


def test_after_the_time_aggressive_takes_the_first_that_answers() -> None:
    brokers = lost("Aggressive")
    brokers.come_up(3)
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.pass_quietly(TIMEOUT_MS)
    assert brokers.poll() == []
    brokers.pass_quietly(1000)
    brokers.poll()
    brokers.answer(3)
    brokers.poll()
    assert brokers.partition().leader == 3


def test_an_answer_from_before_a_restart_is_not_used() -> None:
    brokers = lost()
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(2)
    brokers.fence(2)
    brokers.register(2)
    brokers.logs[2] = (0, 3)
    brokers.beat(2)
    brokers.answer(1)
    assert brokers.poll() == []
    brokers.settle()
    assert brokers.partition().leader == 1, "2 has lost what it said that it had"


def test_an_answer_that_comes_late_is_not_used() -> None:
    """It is of the life before."""
    brokers = lost()
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    ask, epoch = brokers.asked[2], brokers.epoch(2)
    brokers.fence(2)
    brokers.register(2)
    brokers.beat(2)
    brokers.answer(1)
    brokers.answer(2, ask=ask, broker_epoch=epoch)
    assert brokers.poll() == []


def test_an_answer_of_another_leader_epoch_is_asked_for_again() -> None:
    brokers = lost()
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(1)
    brokers.answer(2, leader_epoch=brokers.partition().leader_epoch - 1)
    assert brokers.poll() == []
    assert brokers.asked == {}, "it is asked again after a pause"
    brokers.pass_quietly(1000)
    brokers.settle()
    assert brokers.partition().has_leader


def test_a_broker_that_dies_in_the_middle_is_not_waited_for_under_aggressive() -> None:
    brokers = lost("Aggressive")
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(1)
    brokers.fence(2)
    brokers.settle()
    assert brokers.partition().leader == 1


def test_a_needed_broker_that_dies_in_the_middle_is_waited_for_under_balanced() -> None:
    brokers = lost()
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(1)
    brokers.fence(2)
    brokers.settle()
    assert not brokers.partition().has_leader
    brokers.come_up(2)
    brokers.settle()
    assert brokers.partition().leader == 2


def test_another_controller_begins_anew() -> None:
    brokers = lost()
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    late = brokers.asked[2]
    brokers.answer(1)
    brokers.fail_over()
    brokers.poll()
    assert sorted(brokers.asked) == [1, 2]
    brokers.recovery.on_lost(late.channel, brokers.now_ns)
    brokers.pass_quietly(1000)
    brokers.settle()
    assert brokers.partition().has_leader


def test_a_topic_that_is_deleted_in_the_middle_is_forgotten() -> None:
    brokers = lost()
    brokers.beat(1)
    brokers.beat(2)
    brokers.poll()
    brokers.answer(1)
    gone = brokers.image.topics.named("t")
    assert gone is not None
    brokers.ask(DeleteTopicsRequest(topics=(DeletedTopic(id=gone.id),)))
    assert brokers.poll() == []
    assert brokers.asked == {}, "the connections are closed"


def test_a_lost_connection_is_tried_again_after_a_pause() -> None:
    brokers = lost("Aggressive")
    brokers.beat(1)
    brokers.poll()
    brokers.recovery.on_lost(brokers.asked.pop(1).channel, brokers.now_ns)
    brokers.poll()
    assert brokers.asked == {}
    assert brokers.recovery.deadline_ns() <= brokers.now_ns + 1000 * MS
    brokers.pass_quietly(1000)
    brokers.settle()
    assert brokers.partition().leader == 1


def test_a_request_that_is_not_answered_is_given_up() -> None:
    brokers = lost("Aggressive")
    brokers.beat(1)
    brokers.poll()
    first = brokers.asked[1]
    brokers.pass_quietly(REQUEST_MS)
    brokers.poll()
    assert brokers.asked == {}
    brokers.answer(1, ask=first)
    assert brokers.poll() == [], "its answer is of a connection that was dropped"
    brokers.pass_quietly(1000)
    brokers.settle()
    assert brokers.partition().leader == 1


# --- settings ---


AGGRESSIVE, BALANCED, NONE = RecoveryStrategy


@pytest.mark.parametrize(
    ("entries", "brokers", "expected"),
    [
        ({}, Recovering(), BALANCED),
        ({}, Recovering(unclean=True), AGGRESSIVE),
        ({}, Recovering(unclean=True, strategy=NONE), NONE),
        ({"unclean_leader_election_enable": "true"}, Recovering(), AGGRESSIVE),
        (
            {"unclean_leader_election_enable": "false"},
            Recovering(strategy=AGGRESSIVE),
            BALANCED,
        ),
        (
            {"unclean_leader_election_enable": "true", "unclean_recovery_strategy": "none"},
            Recovering(),
            NONE,
        ),
    ],
)
def test_the_narrower_level_holds_and_the_deprecated_key_stands_for_a_strategy(
    entries: dict[str, str], brokers: Recovering, expected: RecoveryStrategy
) -> None:
    brokers.come_up(1)
    brokers.create("t", (1,), **entries)
    topic = brokers.image.topics.named("t")
    assert topic is not None
    assert recovery_strategy(brokers.image, topic, brokers.settings) is expected


def test_a_strategy_that_is_set_for_the_cluster_takes_effect_at_once() -> None:
    brokers = Recovering(strategy=RecoveryStrategy.NONE)
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    for broker in (3, 2, 1):
        brokers.fence(broker)
    for broker in (1, 2, 3):
        brokers.register(broker)
    brokers.beat(2)
    brokers.settle()
    assert not brokers.partition().has_leader
    cluster = ConfigRecord(
        resource_type=4, resource_name="", name="unclean.recovery.strategy", value="Aggressive"
    )
    brokers.apply([cluster])
    brokers.settle()
    assert brokers.partition().leader == 2


# --- the manager is switched ---


def test_without_a_manager_nothing_is_asked_and_the_last_leader_alone_is_known() -> None:
    brokers = three("Aggressive", manager=False)
    brokers.propose(1, 2)
    for broker in (3, 2, 1):
        brokers.fence(broker)
    brokers.come_up(2)
    brokers.come_up(3)
    brokers.settle()
    assert brokers.partition().last_known_elr == (1,)
    assert brokers.partition().last_known_leader == NO_LEADER
    assert not brokers.partition().has_leader
    brokers.come_up(1)
    assert brokers.state() == ((1,), (), 1)


def test_a_manager_that_is_switched_off_leaves_the_last_leader() -> None:
    brokers = lost()
    brokers.settings = Recovering(manager=False).settings
    brokers.beat(2)
    brokers.settle()
    assert not brokers.partition().has_leader, "2 was in the ELR; 1 led last"
    brokers.beat(1)
    assert brokers.state() == ((1,), (), 1)
    assert brokers.partition().last_known_elr == ()
    assert brokers.partition().last_known_leader == NO_LEADER


def test_members_that_a_manager_recorded_are_no_last_leader_once_it_is_off() -> None:
    """2 lost its place while 1 led; then the manager is switched off, and 1 is lost too."""
    brokers = three()
    brokers.propose(1, 2)
    brokers.fence(3)
    brokers.fence(2)
    brokers.register(2)
    assert brokers.partition().last_known_elr == (2,)
    brokers.settings = Recovering(manager=False).settings
    brokers.fence(1)
    assert brokers.partition().last_known_elr == (1,)


def test_a_manager_that_is_switched_on_waits_for_the_last_leader() -> None:
    brokers = three(manager=False)
    brokers.propose(1, 2)
    for broker in (3, 2, 1):
        brokers.fence(broker)
    brokers.register(1)
    brokers.register(2)
    brokers.settings = Recovering().settings
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(2)
    brokers.settle()
    assert not brokers.partition().has_leader
    brokers.beat(1)
    brokers.settle()
    assert brokers.partition().leader == 2


# --- many ---


def test_a_thousand_partitions_are_recovered_by_one_request_a_broker() -> None:
    brokers = Recovering(strategy=RecoveryStrategy.BALANCED)
    brokers.come_up(1, 2)
    count = 1500
    brokers.create("t", *[(1, 2)] * count, min_insync_replicas="1")
    for broker in (2, 1):
        brokers.fence(broker)
    for broker in (1, 2):
        brokers.register(broker)
    brokers.logs = {1: (0, 10), 2: (0, 20)}
    brokers.beat(1)
    brokers.beat(2)
    rounds = 0
    while brokers.poll() or brokers.asked:
        rounds += 1
        for broker in sorted(brokers.asked):
            brokers.answer(broker)
    assert {brokers.partition(index=each).leader for each in range(count)} == {1, 2} - {1}
    assert rounds < 10
