"""Offsets that are called out of range, and sequences that are called out of order, by what clients
were told before, by metadata log, disks and faults."""

import pytest

from checkers.partitions.refused_offsets import (
    OUT_OF_ORDER,
    OUT_OF_RANGE,
    out_of_order_does_not_follow,
    out_of_range_is_outside,
)
from checkers.verdict import Verdict
from tests.support.histories import MS, op
from tests.support.kafka_runs import ALL, Cluster, change, started

SECOND = 1000  # ms
WHOLE = {"isr": ALL, "elr": []}
KEY = "t-0"
STORED = [(0, 100, 5, 0)]  # offsets 0 to 4


def asked(cluster: Cluster, at: int, leader: int = 1, epoch: int = 0, **state: object) -> None:
    """All brokers are asked at a time (ms) and say the same."""
    for node in ALL:
        told = {"kind": "partition", "key": KEY, **(state or WHOLE)}
        cluster.told(node, leader, epoch, at, **told)


def at(cluster: Cluster, time: int, **fields: object) -> None:
    """The last operation took a millisecond from then on."""
    row = {"t0": time * MS, "t1": (time + 1) * MS, "node": 1, **fields}
    number = len(cluster.rows["ops"])
    cluster.rows["ops"][-1] |= row | {"invoke_index": 2 * number, "complete_index": 2 * number + 1}


def acknowledged(cluster: Cluster, time: int, offset: int, **fields: object) -> None:
    """One record; its value is a hundred more than its offset."""
    cluster.sent(KEY, offset, 100 + offset)
    cluster.rows["spans"][-1]["idempotent"] = True
    at(cluster, time, **fields)


def told_mark(cluster: Cluster, time: int, mark: int) -> None:
    """By an answer that brings one record."""
    cluster.polled(KEY, 0, 100)
    cluster.rows["spans"][-1]["high_watermark"] = mark
    at(cluster, time)


def polls(cluster: Cluster, time: int, position: int | None, node: int = 1) -> None:
    """Out of range."""
    number = len(cluster.rows["ops"])
    cluster.add("ops", op("poll", position, 0, 1, key=KEY) | {"op_id": number})
    at(cluster, time, outcome="fail", error=OUT_OF_RANGE, node=node)


def refused(cluster: Cluster, time: int, *, idempotent: bool = True, **fields: object) -> None:
    """A send, as out of order."""
    cluster.sent(KEY, 0, 999)
    cluster.rows["spans"][-1] |= {"offset": None, "idempotent": idempotent}
    at(cluster, time, **{"outcome": "fail", "error": OUT_OF_ORDER, **fields})


def whole() -> Cluster:
    """Led by broker 1 all along; five records stand on all disks."""
    cluster = started()
    asked(cluster, 0)
    asked(cluster, 9 * SECOND)
    for node in ALL:
        cluster.replica(node, KEY, STORED)
    return cluster


def of_range(cluster: Cluster) -> tuple[Verdict, int]:
    found = out_of_range_is_outside(cluster.run())
    return found.verdict, found.count


def of_order(cluster: Cluster) -> tuple[Verdict, int]:
    found = out_of_order_does_not_follow(cluster.run())
    return found.verdict, found.count


UNTRUE, MAY_BE_TRUE = (Verdict.INVALID, 1), (Verdict.VALID, 0)


# --- out of range ---


@pytest.mark.parametrize(
    ("position", "expected"),
    [(0, UNTRUE), (3, UNTRUE), (4, UNTRUE), (5, MAY_BE_TRUE), (None, MAY_BE_TRUE)],
)
def test_an_offset_up_to_a_told_high_watermark_is_not_out_of_range(
    position: int | None, expected: tuple[Verdict, int]
) -> None:
    cluster = whole()
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 5 * SECOND, position)
    assert of_range(cluster) == expected


def test_an_acknowledgement_of_all_in_sync_replicas_tells_a_high_watermark() -> None:
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 3)
    polls(cluster, 5 * SECOND, 4)
    assert of_range(cluster) == UNTRUE


def test_what_the_leader_alone_acknowledged_is_not_committed() -> None:
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 3)
    cluster.rows["spans"][-1]["acks"] = 1
    polls(cluster, 5 * SECOND, 4)
    assert of_range(cluster) == MAY_BE_TRUE


@pytest.mark.parametrize(("told_at", "expected"), [(4998, UNTRUE), (5000, MAY_BE_TRUE)])
def test_what_is_told_while_it_is_asked_may_have_come_about_meanwhile(
    told_at: int, expected: tuple[Verdict, int]
) -> None:
    """Each takes a millisecond."""
    cluster = whole()
    told_mark(cluster, told_at, 4)
    polls(cluster, 5 * SECOND, 4)
    assert of_range(cluster) == expected


@pytest.mark.parametrize(
    ("isr", "node", "expected"),
    [
        ([1, 2], 2, UNTRUE),  # it does not lead, and has what is committed
        ([1, 2], 3, MAY_BE_TRUE),  # it lags
    ],
)
def test_a_member_of_the_isr_has_what_is_committed(
    isr: list[int], node: int, expected: tuple[Verdict, int]
) -> None:
    cluster = started().commit(change(KEY, isr=isr))
    asked(cluster, 0, isr=isr, elr=[])
    for each in ALL:
        cluster.replica(each, KEY, STORED)
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 5 * SECOND, 4, node)
    assert of_range(cluster) == expected


def test_a_broker_that_may_have_left_the_isr_by_then_may_lag() -> None:
    cluster = started().commit(change(KEY, isr=[1, 2]))
    asked(cluster, 0)
    asked(cluster, 9 * SECOND, isr=[1, 2], elr=[])
    for each in ALL:
        cluster.replica(each, KEY, STORED)
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 8 * SECOND, 4, node=3)
    assert of_range(cluster) == MAY_BE_TRUE


@pytest.mark.parametrize(
    ("kind", "when", "expected"),
    [
        ("power-off", 4, MAY_BE_TRUE),
        ("power-off", 6, UNTRUE),  # later
        ("kill", 4, UNTRUE),  # loses nothing
    ],
)
def test_a_fault_that_may_take_bytes_excuses_what_is_said_after_it(
    kind: str, when: int, expected: tuple[Verdict, int]
) -> None:
    cluster = whole().ended(kind, 2, when * SECOND)
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 5 * SECOND, 4)
    assert of_range(cluster) == expected


def test_what_was_deleted_is_out_of_range() -> None:
    cluster = whole()
    told_mark(cluster, 1 * SECOND, 4)
    number = len(cluster.rows["ops"])
    cluster.add("ops", op("delete-records", 2, 0, 1, key=KEY) | {"op_id": number})
    at(cluster, 3 * SECOND)
    polls(cluster, 5 * SECOND, 1)
    assert of_range(cluster) == MAY_BE_TRUE
    polls(cluster, 6 * SECOND, 2)
    assert of_range(cluster) == UNTRUE


@pytest.mark.parametrize(
    "replica", [{"log_start": 4}, {"log_end": 2}, {"whole": False}, {"node": 2}]
)
def test_a_log_that_does_not_have_it_on_the_disk_is_for_others_to_judge(
    replica: dict[str, object],
) -> None:
    cluster = whole()
    cluster.rows["replicas"][0] |= replica
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 5 * SECOND, 3)
    assert of_range(cluster) == MAY_BE_TRUE


def test_unclean_elections_that_were_asked_for_may_end_a_log_sooner() -> None:
    cluster = whole()
    cluster.info["settings"] = {"min_isr": "2", "unclean.leader.election.enable": "true"}
    told_mark(cluster, 3 * SECOND, 4)
    polls(cluster, 5 * SECOND, 4)
    assert of_range(cluster) == MAY_BE_TRUE


# --- out of order ---


def test_what_follows_an_acknowledged_batch_is_in_order() -> None:
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 3)
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == UNTRUE
    found = out_of_order_does_not_follow(cluster.run())
    assert "t-0: node 1 answered OUT_OF_ORDER_SEQUENCE_NUMBER" in found.message
    assert found.witness[0]["what"] == "answered OUT_OF_ORDER_SEQUENCE_NUMBER"


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_the_first_batch_of_a_producer_is_in_order(outcome: str) -> None:
    cluster = whole()
    refused(cluster, 5 * SECOND, outcome=outcome)
    assert of_order(cluster) == UNTRUE


def test_who_sends_without_a_sequence_is_not_judged_by_one() -> None:
    cluster = whole()
    refused(cluster, 5 * SECOND, idempotent=False)
    assert of_order(cluster) == MAY_BE_TRUE


def test_a_leader_whose_disk_lacks_what_came_before_may_say_so() -> None:
    """What is lost is for others to judge."""
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 7)
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == MAY_BE_TRUE


def test_what_a_producer_sent_under_another_id_counts_no_more() -> None:
    """One that did not succeed lies between: then the batch is the first of its id."""
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 7)
    cluster.sent(KEY, 0, 998)
    at(cluster, 4 * SECOND, outcome="fail", error="NOT_ENOUGH_REPLICAS")
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == UNTRUE


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (2, MAY_BE_TRUE),  # when it was sent broker 1 may not have heard that 2 leads
        (1, MAY_BE_TRUE),  # 2 leads by the end
    ],
)
def test_a_leader_that_was_deposed_may_lack_what_its_successor_has(
    told: int, expected: tuple[Verdict, int]
) -> None:
    cluster = started().commit(change(KEY, leader=2))
    for node in ALL:
        cluster.replica(node, KEY, STORED)
    asked(cluster, 0)
    asked(cluster, 4 * SECOND if told == 2 else 9 * SECOND, leader=2, epoch=1)
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == expected


def test_a_new_leader_knows_the_producers_of_its_log() -> None:
    """All have heard of it, long ago."""
    cluster = started().commit(change(KEY, leader=2))
    for node in ALL:
        cluster.replica(node, KEY, STORED)
    asked(cluster, 0, leader=2, epoch=1)
    asked(cluster, 9 * SECOND, leader=2, epoch=1)
    acknowledged(cluster, 3 * SECOND, 3, node=1)
    refused(cluster, 5 * SECOND, node=2)
    assert of_order(cluster) == UNTRUE


@pytest.mark.parametrize(
    ("kind", "when", "expected"),
    [
        ("power-off", 4, MAY_BE_TRUE),
        ("wipe", 4, MAY_BE_TRUE),
        ("power-off", 6, UNTRUE),
        ("kill", 4, UNTRUE),
        ("partition", 4, UNTRUE),
    ],
)
def test_a_fault_that_may_take_bytes_excuses_what_a_leader_forgot(
    kind: str, when: int, expected: tuple[Verdict, int]
) -> None:
    cluster = whole().ended(kind, 2, when * SECOND)
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == expected


@pytest.mark.parametrize(
    "settings",
    [{"producer.id.expiration.ms": "1000"}, {"unclean.leader.election.enable": "true"}],
)
def test_settings_by_which_producers_are_forgotten_excuse_it(settings: dict[str, str]) -> None:
    cluster = whole()
    cluster.info["settings"] = {"min_isr": "2", **settings}
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == MAY_BE_TRUE


def test_where_the_beginning_may_be_deleted_producers_may_be_forgotten() -> None:
    cluster = whole()
    cluster.add("ops", op("delete-records", 2, 0, 1, key=KEY, outcome="info") | {"op_id": 0})
    at(cluster, 3 * SECOND, outcome="info")
    refused(cluster, 5 * SECOND)
    assert of_order(cluster) == MAY_BE_TRUE


# --- nothing ---


def test_nobody_asked_anything() -> None:
    for check in (out_of_range_is_outside, out_of_order_does_not_follow):
        found = check(whole().run())
        assert (found.verdict, found.looked_at) == (Verdict.VALID, 0)
        assert "nothing to judge: no " in found.message


def test_what_was_answered_well_is_looked_at() -> None:
    cluster = whole()
    acknowledged(cluster, 3 * SECOND, 3)
    told_mark(cluster, 4 * SECOND, 4)
    at(cluster, 4 * SECOND, value=0)
    for check in (out_of_range_is_outside, out_of_order_does_not_follow):
        found = check(cluster.run())
        assert (found.verdict, found.looked_at) == (Verdict.VALID, 1)
        assert "0 were answered " in found.message
