"""Topics, configurations and features in metadata logs by hand, against what was asked for."""

from typing import Any

import pytest

from checkers.check import Check
from checkers.partitions.as_asked_for import (
    configs_as_asked_for,
    features_as_asked_for,
    topics_as_asked_for,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import fault, op
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    NODES,
    Cluster,
    Record,
    clear_elr,
    config,
    elr,
    feature,
    leader_change,
    partition,
    register,
    registration_change,
    remove_topic,
    topic,
)

VALID, INVALID = Verdict.VALID, Verdict.INVALID
MINIMUM = "min.insync.replicas"
LOAD = {
    "prefix": "append",
    "topics": 1,
    "partitions": 2,
    "replication": 3,
    "configs": {MINIMUM: "2"},
}
SETTINGS = {"min_isr": "1", "replication": "3", "elr": "on"}
MADE = (
    topic("append-0"),
    config(2, "append-0", MINIMUM, "2"),
    partition("append-0-0", [1, 2, 3], 1),
    partition("append-0-1", [2, 3, 1], 2),
)


def formatted(*levels: Record) -> Cluster:
    cluster = Cluster().commit(leader_change(1, [1, 2])).commit(*levels or (elr(1),))
    for node in NODES:
        cluster.commit(register(node, 10 + node))
        cluster.commit(registration_change(node, 10 + node, fenced=-1))
    return cluster


def asked(cluster: Cluster, f: str, key: str, value: int | None = None, **rest: Any) -> Cluster:
    number = len(cluster.rows["ops"])
    row = op(f, value, 2 * number, 2 * number + 1, key=key, **rest)
    return cluster.add("ops", row | {"op_id": number})


def made(*records: Record) -> Cluster:
    """The load's topic was asked for, and became this."""
    return asked(formatted(), "create-topic", "append-0").commit(*records or MADE)


def judged(check: Check, cluster: Cluster, **info: Any) -> CheckResult:
    return check(cluster.run(**{"settings": SETTINGS, "load": LOAD, **info}))


CHECKS = (topics_as_asked_for, configs_as_asked_for, features_as_asked_for)


@pytest.mark.parametrize("check", CHECKS)
def test_what_was_asked_for(check: Check) -> None:
    result = judged(check, made())
    assert result.verdict is VALID, result.message
    assert result.looked_at
    assert saw_nothing(judged(check, Cluster()))


# --- topics ---


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((*MADE, topic("strange"), partition("strange-0", [1, 2, 3], 1)), "topic strange was cre"),
        (MADE[:2], "topic append-0 was requested with 2 partitions, but has none"),
        (MADE[:3], "topic append-0 was requested with 2 partitions, but has those numbered"),
        (
            (*MADE, partition("append-0-2", [1, 2, 3], 1)),
            "topic append-0 was requested with 2 part",
        ),
        (
            (*MADE[:3], partition("append-0-1", [1], 1, replicas=[1])),
            "append-0-1 was requested with 3 replicas, but has those on [1]",
        ),
        ((*MADE, remove_topic("append-0")), "topic append-0 was deleted at offset 12, but no cl"),
    ],
)
def test_topics_that_nobody_asked_for(records: tuple[Record, ...], message: str) -> None:
    result = judged(topics_as_asked_for, made(*records))
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message.startswith(message)


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_what_may_have_been_asked_for(outcome: str) -> None:
    cluster = asked(made(), "create-topic", "append-admin-0", outcome=outcome)
    one = (topic("append-admin-0"), partition("append-admin-0-0", [1, 2, 3], 1))
    cluster.commit(*one)
    assert judged(topics_as_asked_for, cluster).verdict is VALID
    asked(cluster, "delete-topic", "append-admin-0", outcome=outcome)
    cluster.commit(remove_topic("append-admin-0"))
    assert judged(topics_as_asked_for, cluster).verdict is VALID
    again = judged(topics_as_asked_for, cluster.commit(*one))
    assert again.verdict is INVALID
    assert again.message.endswith("but clients asked for that 1 time")


def test_what_surely_failed_was_not_asked_for() -> None:
    cluster = asked(made(), "create-topic", "append-admin-0", outcome="fail")
    cluster.commit(topic("append-admin-0"), partition("append-admin-0-0", [1, 2, 3], 1))
    assert judged(topics_as_asked_for, cluster).verdict is INVALID


def test_topics_that_brokers_make_for_themselves() -> None:
    groups = "__consumer_offsets"
    cluster = made().commit(topic(groups), partition(f"{groups}-0", [1, 2, 3], 1))
    assert judged(topics_as_asked_for, cluster).verdict is VALID
    few = made().commit(topic(groups), partition(f"{groups}-0", [1], 1, replicas=[1]))
    assert judged(topics_as_asked_for, few).verdict is INVALID
    one = {**SETTINGS, "offsets.topic.replication.factor": "1"}
    assert judged(topics_as_asked_for, few, settings=one).verdict is VALID
    assert judged(topics_as_asked_for, made().commit(topic(groups))).verdict is INVALID


def test_where_nobody_told_how_many_replicas_there_are_to_be() -> None:
    cluster = asked(formatted(), "create-topic", "t")
    cluster.commit(topic("t"), partition("t-0", [1], 1, replicas=[1]))
    assert judged(topics_as_asked_for, cluster, load={}, settings={}).verdict is VALID


# --- configurations ---


@pytest.mark.parametrize(
    "one",
    [
        config(2, "append-0", MINIMUM, "1"),
        config(2, "append-0", MINIMUM, None),
        config(2, "append-0", "unclean.leader.election.enable", "true"),
        config(4, "", MINIMUM, "2"),
        config(4, "", MINIMUM, None),
        config(4, "", "log.retention.ms", "1"),
        config(4, "2", MINIMUM, "1"),
        config(4, "2", "log.retention.ms", None),
        config(8, "2", "kafka", "DEBUG"),
        config(2, "__consumer_offsets", "unclean.leader.election.enable", "true"),
        config(2, "__consumer_offsets", "flush.messages", "1"),
    ],
)
def test_a_configuration_that_nobody_asked_for(one: Record) -> None:
    result = judged(configs_as_asked_for, made().commit(one))
    assert result.verdict is INVALID
    assert result.message.endswith("at offset 12, but no client had asked for that")


@pytest.mark.parametrize(
    "one",
    [
        config(2, "append-0", MINIMUM, "2"),
        config(4, "", MINIMUM, "1"),  # with ELR, as the brokers were set to
        config(4, "2", MINIMUM, None),
        config(16, "r-0", "interval.ms", "100"),
        config(2, "__consumer_offsets", "cleanup.policy", "compact"),
        config(2, "__transaction_state", "unclean.leader.election.enable", "false"),
        clear_elr(""),
    ],
)
def test_what_controllers_and_brokers_write_by_themselves(one: Record) -> None:
    assert judged(configs_as_asked_for, made().commit(one)).verdict is VALID


@pytest.mark.parametrize(
    "records",
    [(MADE[0], *MADE[2:]), (MADE[0], config(2, "append-0", MINIMUM, "1"), *MADE[2:])],
)
def test_a_configuration_that_was_forgotten(records: tuple[Record, ...]) -> None:
    result = judged(configs_as_asked_for, made(*records))
    assert result.verdict is INVALID


def test_a_topic_has_its_configuration_from_the_first() -> None:
    late = made(MADE[0], *MADE[2:]).commit(MADE[1])
    result = judged(configs_as_asked_for, late)
    assert result.message == (
        "topic append-0 was requested with min.insync.replicas=2, but was created without"
    )


def changed(*values: str, asks: tuple[tuple[int, str], ...]) -> CheckResult:
    """All brokers' min ISR, as it was asked for and as the log has it."""
    cluster = made()
    for number, outcome in asks:
        asked(cluster, "set-min-isr", "cluster", number, outcome=outcome)
    for value in values:
        cluster.commit(config(4, "", MINIMUM, value))
    return judged(configs_as_asked_for, cluster)


@pytest.mark.parametrize(
    ("values", "asks", "verdict"),
    [
        (("2",), ((2, "ok"),), VALID),
        (("2", "1"), ((2, "ok"), (1, "ok")), VALID),
        (("2",), ((2, "info"),), VALID),
        ((), ((2, "info"),), VALID),
        ((), ((2, "ok"), (1, "ok")), VALID),  # what is so already need not be written
        ((), ((2, "ok"),), INVALID),
        (("2",), ((2, "ok"), (1, "ok")), INVALID),
        (("2",), ((2, "fail"),), INVALID),
        (("2", "1", "2"), ((2, "ok"), (1, "info")), INVALID),
        (("2", "1", "2"), ((2, "ok"), (1, "info"), (2, "info")), VALID),
        (("2", "1", "2"), ((2, "info"), (1, "ok")), VALID),
        (("2", "2"), ((2, "ok"),), VALID),
    ],
)
def test_what_clients_ask_of_all_brokers(
    values: tuple[str, ...], asks: tuple[tuple[int, str], ...], verdict: Verdict
) -> None:
    result = changed(*values, asks=asks)
    assert result.verdict is verdict, result.message


def test_what_clients_ask_of_a_topic() -> None:
    flush = config(2, "__transaction_state", "flush.messages", "1")
    assert judged(configs_as_asked_for, made().commit(flush)).verdict is INVALID
    cluster = asked(made().commit(flush), "set-config", "__transaction_state", 1)
    assert judged(configs_as_asked_for, cluster).verdict is VALID


# --- features ---


METADATA = feature("metadata.version", 30)


def downgraded(bit: bool | None) -> Cluster:
    row = fault(0, "set-elr-level", 10, 20, bit=bit) | {"params": '{"level": "0"}'}
    return made().add("faults", row)


@pytest.mark.parametrize(
    ("cluster", "settings", "verdict"),
    [
        (made().commit(elr(1)), {}, VALID),
        (made().commit(elr(0)), {}, INVALID),
        (formatted(elr(0)), {}, INVALID),
        (formatted(elr(0), elr(1)), {}, INVALID),
        (formatted(feature("metadata.version", 30)), {}, INVALID),
        (formatted(feature("metadata.version", 30)), {"elr": "off"}, VALID),
        (formatted(elr(0)), {"elr": "off"}, VALID),
        (formatted(elr(1)), {"elr": "off"}, INVALID),
        (formatted(feature("metadata.version", 30)).commit(elr(1)), {"elr": "off"}, INVALID),
        (formatted(elr(1), feature("share.version", 1)), {}, VALID),
        (made().commit(feature("metadata.version", 29)), {}, INVALID),
        (formatted(elr(1), METADATA).commit(METADATA), {}, VALID),
        (downgraded(bit=True).commit(elr(0)), {}, VALID),
        (downgraded(bit=True), {}, INVALID),
        (downgraded(bit=None), {}, VALID),
        (downgraded(bit=None).commit(elr(0)), {}, VALID),
        (downgraded(bit=False).commit(elr(0)), {}, INVALID),
    ],
)
def test_levels_of_features(cluster: Cluster, settings: dict[str, str], verdict: Verdict) -> None:
    result = judged(features_as_asked_for, cluster, settings={**SETTINGS, **settings})
    assert result.verdict is verdict, result.message


def test_a_level_of_which_nobody_said_anything() -> None:
    assert judged(features_as_asked_for, formatted(elr(0)), settings={}).verdict is VALID
