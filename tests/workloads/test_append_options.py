"""How many clients append, and how, as values."""

from collections.abc import Mapping

import pytest

from workloads.append import AppendOptions


def test_acks_are_mixed_as_told() -> None:
    options = AppendOptions(producers=20)
    ways = [(each.acks, each.idempotent) for each in options.sendings()]
    assert [ways.count(way) for way in ((0, False), (1, False), (-1, True), (-1, False))] == [
        2, 4, 7, 7,
    ]  # fmt: skip


@pytest.mark.parametrize("size", [0, 4, 12])
def test_records_that_cannot_show_damage_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        AppendOptions(record_bytes=size)


@pytest.mark.parametrize(
    ("settings", "replication"),
    [
        ({}, 3),
        ({"replication": "2"}, 2),
        ({"brokers": "1"}, 1),
        ({"brokers": "2", "replication": "3"}, 2),
        ({"brokers": "5"}, 3),
        ({"brokers": "5", "replication": "5"}, 5),
        ({"brokers": "many", "replication": "-1"}, 3),  # for the target to refuse
    ],
)
def test_topics_have_the_replicas_that_the_target_is_asked_for_of_its_brokers_at_most(
    settings: Mapping[str, str], replication: int
) -> None:
    adjusted = AppendOptions().adjusted(concurrency=None, rate=0.0, settings=settings)
    assert adjusted.replication == replication


@pytest.mark.parametrize(("idle", "partitions"), [(0, 0), (2_000, 450)])
def test_the_partitions_of_an_idle_topic_are_the_users(idle: int, partitions: int) -> None:
    settings = {"num.partitions": "450"}
    options = AppendOptions(idle_partitions=idle)
    assert options.adjusted(concurrency=None, rate=0.0, settings=settings).idle_partitions == (
        partitions
    )
    assert options.adjusted(concurrency=None, rate=0.0, settings={}) == options


@pytest.mark.parametrize(
    ("settings", "configs"),
    [
        ({}, {"min.insync.replicas": "2"}),
        ({"min_isr": "1"}, {"min.insync.replicas": "1"}),
        ({"min_isr": "2", "broker_min_isr": "1"}, {}),
    ],
)
def test_topics_have_no_min_isr_of_their_own_where_the_files_of_brokers_differ(
    settings: Mapping[str, str], configs: Mapping[str, str]
) -> None:
    adjusted = AppendOptions().adjusted(concurrency=None, rate=0.0, settings=settings)
    assert adjusted.configs == configs
