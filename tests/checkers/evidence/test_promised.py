"""What was promised at any time, by the plan and by requests whose times are known."""

from typing import Any

import numpy as np
import pytest

from checkers.evidence.evidence import Evidence
from checkers.evidence.promised import AskedFor, InForce
from tests.support.histories import MS, Row, fault, op
from tests.support.kafka_runs import Cluster

LOAD = {
    "prefix": "append",
    "topics": 1,
    "partitions": 3,
    "replication": 3,
    "configs": {"min.insync.replicas": "2"},
}


def promised(*operations: Row, faults: tuple[Row, ...] = (), **info: Any) -> AskedFor:
    cluster = Cluster().add("faults", *faults)
    for number, row in enumerate(operations):
        cluster.add("ops", row | {"op_id": number})
    told = {"settings": {"min_isr": "2"}, "load": LOAD}
    return Evidence(cluster.run(**{**told, **info})).promised


def asked(value: int, begin: int, end: int | None, outcome: str = "ok") -> Row:
    return op("set-min-isr", value, begin, end, key="cluster", outcome=outcome)


def over(found: InForce, *moments: int) -> list[tuple[int, int]]:
    at = np.array(moments, np.int64) * MS
    return list(zip(*(each.tolist() for each in found.between(at, at)), strict=True))


def test_what_was_asked_for_may_be_in_force_from_then_on_and_is_once_it_is_acknowledged() -> None:
    found = promised(asked(1, 10, 20), asked(3, 30, 40)).min_isr_of_all_brokers
    assert over(found, 9, 10, 20, 29, 30, 40) == [(2, 2), (1, 2), (1, 1), (1, 1), (1, 3), (3, 3)]
    begin, end = (np.array(at) * MS for at in ([0, 5, 25], [9, 15, 45]))
    low, high = found.between(begin, end)
    assert (low.tolist(), high.tolist()) == ([2, 1, 1], [2, 2, 3])
    assert found.lowest == 1
    assert found.last == {3}


@pytest.mark.parametrize(
    ("operations", "last"),
    [
        ([asked(1, 10, 20, "fail")], {2}),
        ([asked(1, 10, 20, "info")], {1, 2}),
        ([asked(1, 10, None, "info")], {1, 2}),
        ([asked(1, 10, 20, "info"), asked(3, 30, 40)], {1, 3}),
        ([asked(1, 10, 30), asked(3, 20, 40)], {1, 3}),  # in either order
        ([asked(1, 10, 40), asked(3, 20, 30)], {1, 3}),
        ([asked(1, 10, 20), asked(3, 20, 30)], {1, 3}),
        ([asked(1, 10, 20), asked(3, 21, 30)], {3}),
    ],
)
def test_of_requests_that_overlap_any_may_be_the_last(
    operations: list[Row], last: set[int]
) -> None:
    assert promised(*operations).min_isr_of_all_brokers.last == last


def test_a_topic_has_what_it_was_asked_for_with() -> None:
    found = promised(asked(1, 10, 20))
    assert found.min_isr("append-0").last == {2}
    assert found.min_isr("append-admin-3").last == {1}, "it has what all brokers have"
    few = promised(load={**LOAD, "replication": 1})
    assert few.min_isr("append-0").last == {1}, "no more than there are replicas"
    assert promised(settings={"min.insync.replicas": "3"}).min_isr("append-admin-3").last == {3}
    assert promised(settings={}).min_isr("append-admin-3").last == {1}
    own = {"min_isr": "3", "transaction.state.log.min.isr": "2"}
    assert promised(settings=own).min_isr("__transaction_state").last == {2}
    assert promised(settings=own).min_isr("__consumer_offsets").last == {3}


@pytest.mark.parametrize(
    ("value", "bit", "last"),
    [("3", True, {3}), ("3", None, {2, 3}), ("1", True, {1}), ("3", False, {2})],
)
def test_an_operator_alters_the_min_isr_of_clients_topics(
    value: str, bit: bool | None, last: set[int]
) -> None:
    row = fault(0, "set-min-isr", 10, 20, bit=bit) | {"params": f'{{"min_isr": "{value}"}}'}
    found = promised(faults=(row,))
    assert found.min_isr("append-0").last == last
    assert over(found.min_isr("append-0"), 9) == [(2, 2)]
    assert found.min_isr("append-admin-3").last == last, "those without a value of their own too"
    assert found.min_isr("__consumer_offsets").last == {2}
    asked_for = [("min.insync.replicas", value)] * (bit is not False)
    assert list(found.configs_of("append-0")) == asked_for


def test_who_leaves_the_min_isr_untouched_asks_for_nothing() -> None:
    row = fault(0, "set-min-isr", 10, 20) | {"params": '{"min_isr": "untouched"}'}
    found = promised(faults=(row,))
    assert found.min_isr("append-0").last == {2}
    assert not list(found.configs_of("append-0"))


def test_shapes_of_topics() -> None:
    found = promised()
    shapes = [found.shape(f"append-{name}") for name in ("0", "1", "deleted-7", "looked-up")]
    assert [shape and shape.partitions for shape in shapes] == [3, 1, 1, 1]
    assert shapes[3] is not None
    assert shapes[3].configs["message.timestamp.type"] == "LogAppendTime"
    assert found.shape("__consumer_offsets") is None
    idle = promised(load={**LOAD, "idle_partitions": 7}).shape("append-idle")
    assert idle is not None
    assert (idle.partitions, idle.configs) == (7, LOAD["configs"])
    assert promised(load={}).shape("append-0") is None


@pytest.mark.parametrize(
    ("settings", "topic", "replicas"),
    [
        ({}, "append-0", 3),
        ({}, "__consumer_offsets", None),
        ({"replication": "2"}, "__consumer_offsets", 2),
        (
            {"replication": "2", "offsets.topic.replication.factor": "1"},
            "__consumer_offsets",
            1,
        ),
    ],
)
def test_replicas(settings: dict[str, str], topic: str, replicas: int | None) -> None:
    assert promised(settings=settings).asked_replication(topic) == replicas


def test_unclean_elections() -> None:
    assert not promised().unclean("append-0")
    assert promised(settings={"unclean": "on"}).unclean("append-0")
    assert promised(settings={"unclean.leader.election.enable": "true"}).unclean("append-0")
    own = {**LOAD, "configs": {"unclean.leader.election.enable": "false"}}
    assert not promised(settings={"unclean": "on"}, load=own).unclean("append-0")
    assert promised(settings={"unclean": "on"}, load=own).unclean("append-admin-3")


@pytest.mark.parametrize(
    ("bit", "cured", "last"),
    [(True, True, {0}), (None, True, {0, 1}), (False, True, {1}), (False, False, {0, 1})],
)
def test_levels_of_eligible_leader_replicas(bit: bool, cured: bool, last: set[int]) -> None:
    row = fault(0, "set-elr-level", 10, 20, bit=bit) | {"params": '{"level": "0"}'}
    row |= {} if cured else {"t_healed": None}
    levels = promised(settings={"elr": "on"}, faults=(row,)).elr_levels
    assert levels is not None
    assert levels.values[0] == {1}
    assert levels.last == last


def test_a_level_of_which_nobody_said_anything() -> None:
    assert promised(settings={}).elr_levels is None
    off = promised(settings={"elr": "off"}).elr_levels
    assert off is not None
    assert off.last == {0}


@pytest.mark.parametrize(("elr", "least"), [("on", 2), ("off", 1)])
def test_by_the_files_the_min_isr_is_the_controllers_and_the_leaders_own_without_an_elr(
    elr: str, least: int
) -> None:
    settings = {"min_isr": "2", "broker_min_isr": "1", "elr": elr}
    found = promised(settings=settings, load={**LOAD, "configs": {}})
    assert found.min_isr_of_files == found.min_isr("append-0").lowest == least
    assert promised(settings=settings).min_isr("append-0").lowest == 2  # the topic's own
