"""What may be set on a CLIENT_METRICS resource, and what is refused with which error."""

from dataclasses import replace
from time import process_time
from uuid import UUID

import pytest

from node import limits
from node.config import Own
from node.controller.image import Image
from node.controller.resource_configs import alter, alter_all, describe, describe_all, replace_all
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import ConfigRecord, TopicRecord
from node.wire.configs import (
    ConfigChange,
    ConfigSource,
    ConfigType,
    ResourceChange,
    ResourceQuery,
)

SET, DELETE, APPEND, SUBTRACT = range(4)
OWN = Own(node=NodeId(4), started_with={"log.retention.ms": "5", "node.id": "4"})


def change(
    key: str, value: str | None, operation: int = SET, *, resource_type: int = 16, name: str = "r"
) -> ResourceChange:
    return ResourceChange(
        type=resource_type,
        name=name,
        changes=(ConfigChange(name=key, operation=operation, value=value),),
    )


def image_with(key: str, value: str) -> Image:
    image = Image()
    image.replay(ConfigRecord(resource_type=16, resource_name="r", name=key, value=value))
    return image


@pytest.mark.parametrize("value", ["100", "3600000", " 5000 "])
def test_a_legal_interval_becomes_one_record(value: str) -> None:
    records, result = alter(Image(), change("interval.ms", value))
    assert result.error == ErrorCode.NONE
    assert records == [
        ConfigRecord(resource_type=16, resource_name="r", name="interval.ms", value=value)
    ]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (change("interval.ms", "99"), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", "3600001"), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", "9" * 5000), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", "soon"), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", ""), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", "5", APPEND), ErrorCode.INVALID_CONFIG),
        (change("interval", "1000"), ErrorCode.INVALID_CONFIG),
        (change("match", "client=x"), ErrorCode.INVALID_CONFIG),
        (change("match", "client_id=("), ErrorCode.INVALID_CONFIG),
        (change("interval.ms", None), ErrorCode.INVALID_REQUEST),
        (change("interval.ms", "1000", 9), ErrorCode.INVALID_REQUEST),
        (change("interval.ms", "1000", name=""), ErrorCode.INVALID_REQUEST),
        (change("interval.ms", "1000", resource_type=2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (change("interval.ms", "1000", resource_type=4), ErrorCode.INVALID_REQUEST),
        (
            change("interval.ms", "1000", resource_type=4, name="7"),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
        ),
        (change("interval.ms", "1000", resource_type=8), ErrorCode.INVALID_REQUEST),
        (
            change("min.insync.replicas", "many", resource_type=4, name=""),
            ErrorCode.INVALID_CONFIG,
        ),
    ],
)
def test_what_is_wrong_is_refused_without_a_record(wrong: ResourceChange, error: ErrorCode) -> None:
    records, result = alter(Image(), wrong)
    assert (records, result.error) == ([], error)
    assert result.message


def test_a_resource_is_altered_whole_or_not_at_all() -> None:
    both = ResourceChange(
        type=16,
        name="r",
        changes=(
            ConfigChange(name="interval.ms", operation=SET, value="1000"),
            ConfigChange(name="nonsense", operation=SET, value="1"),
        ),
    )
    assert alter(Image(), both)[0] == []
    twice = ResourceChange(type=16, name="r", changes=(both.changes[0], both.changes[0]))
    assert alter(Image(), twice)[1].error == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("operation", "value", "expected"),
    [(APPEND, "c,a", "a,b,c"), (SUBTRACT, "a", "b"), (SET, "z", "z"), (DELETE, None, None)],
)
def test_lists_are_appended_to_and_subtracted_from(
    operation: int, value: str | None, expected: str | None
) -> None:
    (record,), _ = alter(image_with("metrics", "a,b"), change("metrics", value, operation))
    assert record.value == expected


def test_description_tells_what_is_set_and_what_is_default() -> None:
    image = image_with("interval.ms", "1000")
    everything = describe(image, ResourceQuery(type=16, name="r", keys=None), OWN)
    assert [(e.name, e.value, e.is_default) for e in everything.entries] == [
        ("interval.ms", "1000", False),
        ("match", "", True),
        ("metrics", "", True),
    ]
    one = describe(image, ResourceQuery(type=16, name="other", keys=("interval.ms", "x")), OWN)
    assert [(e.name, e.value, e.is_default) for e in one.entries] == [
        ("interval.ms", "300000", True)
    ]
    refused = describe(image, ResourceQuery(type=2, name="t", keys=None), OWN)
    assert refused.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_is_described_by_the_first_who_says_anything() -> None:
    image = Image()
    image.replay(TopicRecord(name="t", topic_id=UUID(int=1)))
    asked = ResourceQuery(type=2, name="t", keys=("retention.ms",))

    def told() -> tuple[str | None, ConfigSource, ConfigType]:
        (entry,) = describe(image, asked, OWN).entries
        return entry.value, entry.source, entry.type

    assert told() == ("5", ConfigSource.STARTED_WITH, ConfigType.LONG)
    for kind, name, key, source in (
        (4, "", "log.retention.ms", ConfigSource.CLUSTER),
        (2, "t", "retention.ms", ConfigSource.TOPIC),
    ):
        image.replay(ConfigRecord(resource_type=kind, resource_name=name, name=key, value="7"))
        assert told() == ("7", source, ConfigType.LONG)
    (default,) = describe(image, replace(asked, keys=("cleanup.policy",)), OWN).entries
    assert (default.value, default.is_default, default.type) == ("delete", True, ConfigType.LIST)


def test_a_node_tells_of_itself_alone_and_of_what_it_was_started_with() -> None:
    for name, error in (("4", ErrorCode.NONE), ("5", ErrorCode.INVALID_REQUEST)):
        asked = ResourceQuery(type=4, name=name, keys=None)
        assert describe(Image(), asked, OWN).error is error
    own = ResourceQuery(type=4, name="4", keys=("node.id", "min.insync.replicas"))
    assert [(e.value, e.source) for e in describe(Image(), own, OWN).entries] == [
        ("4", ConfigSource.STARTED_WITH),
        ("1", ConfigSource.DEFAULT),
    ]


def test_what_is_no_type_of_a_resource_is_refused_with_all_that_stands_beside_it() -> None:
    queries = [ResourceQuery(type=each, name="r", keys=None) for each in (16, 3)]
    found = describe_all(Image(), queries, OWN)
    assert [each.error for each in found] == [ErrorCode.INVALID_REQUEST] * 2


def test_what_is_not_set_is_deleted_whether_it_is_known_or_not() -> None:
    image = Image()
    image.replay(TopicRecord(name="t", topic_id=UUID(int=1)))
    for operation, error in ((DELETE, ErrorCode.NONE), (SET, ErrorCode.INVALID_CONFIG)):
        changes = (ConfigChange(name="x", operation=operation, value="1"),)
        _, result = alter(image, ResourceChange(type=2, name="t", changes=changes))
        assert result.error is error


def test_deleting_the_last_key_leaves_nothing_behind() -> None:
    image = image_with("interval.ms", "1000")
    image.replay(ConfigRecord(resource_type=16, resource_name="r", name="interval.ms", value=None))
    assert image.config((16, "r")) == {}
    image.replay(ConfigRecord(resource_type=16, resource_name="q", name="match", value=None))
    assert image.config((16, "q")) == {}


# --- how much one client may ask for ---

LONGEST = "x" * limits.MAX_STRING_BYTES


@pytest.mark.parametrize(
    "pattern",
    [
        "a{99999999999}",  # OverflowError
        f"a{{{limits.MAX_PATTERN_REPETITIONS + 1}}}",
        "(" * 1000 + ")" * 1000,  # RecursionError
        "()" * (limits.MAX_PATTERN_GROUPS + 1),
        "a" * (limits.MAX_PATTERN_CHARACTERS + 1),
        "(?u)a",  # ValueError
        "[z-a]",
        "\\N{NO SUCH LETTER}",
        "(?P<a>b)(?P<a>b)",
        "*",
    ],
)
def test_a_pattern_that_cannot_be_compiled_or_is_too_large_is_refused(pattern: str) -> None:
    records, result = alter(Image(), change("match", f"client_id={pattern}"))
    assert (records, result.error) == ([], ErrorCode.INVALID_CONFIG)
    assert result.message is not None
    assert len(result.message) <= limits.MAX_MESSAGE_CHARACTERS


@pytest.mark.parametrize(
    "pattern", ["a{1000}", "(" * 100 + ")" * 100, "ä" * 255, "[[a]", "[à-ü]+", "(a*)*b", "x=y"]
)
@pytest.mark.filterwarnings("error")
def test_a_pattern_at_the_limit_is_taken_without_a_word(pattern: str) -> None:
    _, result = alter(Image(), change("match", f"client_id={pattern}"))
    assert result.error == ErrorCode.NONE


def test_patterns_of_a_request_are_compiled_in_little_time() -> None:
    """The dearest that was found: classes of all characters, without regard to case."""
    item = "client_id=(?i)" + "[\0-\uffff]" * 48
    value = ",".join(item.replace("48", str(n)) for n in range(60))[: 16 * 1024]
    began = process_time()
    alter_all(Image(), [change("match", value)], 1)
    assert process_time() - began < 1.0


@pytest.mark.parametrize("name", ["metrics", "interval.ms", "match"])
def test_a_value_that_an_older_version_cannot_carry_is_refused(name: str) -> None:
    records, result = alter(Image(), change(name, LONGEST + "x"))
    assert (records, result.error) == ([], ErrorCode.INVALID_CONFIG)
    assert result.message is not None
    assert len(result.message) <= limits.MAX_MESSAGE_CHARACTERS


def test_values_are_measured_in_bytes_and_lists_as_they_become() -> None:
    assert len(alter(Image(), change("metrics", LONGEST))[0]) == 1
    assert alter(Image(), change("metrics", "ä" * 16_384))[1].error == ErrorCode.INVALID_CONFIG
    full = image_with("metrics", LONGEST)
    assert alter(full, change("metrics", "y", APPEND))[1].error == ErrorCode.INVALID_CONFIG
    assert alter(full, change("metrics", "x,y", SUBTRACT))[1].error == ErrorCode.NONE
    long_name = change("interval.ms", "1000", name=LONGEST + "x")
    assert alter(Image(), long_name)[1].error == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (
            [change("metrics", LONGEST, name=f"r{n}") for n in range(257)],
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        (
            [change("match", "client_id=" + "a" * 250, name=f"r{n}") for n in range(64)],
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_a_request_for_too_much_is_refused_whole(
    changes: list[ResourceChange], error: ErrorCode
) -> None:
    records, results = alter_all(Image(), changes, 1)
    assert records == []
    assert [result.error for result in results] == [error] * len(changes)
    assert all(result.message for result in results)


def test_appending_to_what_is_long_counts_as_much() -> None:
    image = Image()
    for n in range(257):
        image.replay(
            ConfigRecord(resource_type=16, resource_name=f"r{n}", name="metrics", value=LONGEST)
        )
    little = [change("metrics", "y", SUBTRACT, name=f"r{n}") for n in range(257)]
    _, results = alter_all(image, little, 1)
    assert {result.error for result in results} == {ErrorCode.MESSAGE_TOO_LARGE}


def test_a_long_list_is_altered_in_little_time() -> None:
    image = image_with("metrics", ",".join(f"{n:x}" for n in range(6500)))
    other = ",".join(f"y{n:x}" for n in range(5000))
    began = process_time()
    alter(image, change("metrics", other, APPEND))
    alter(image, change("metrics", other, SUBTRACT))
    assert process_time() - began < 5.0  # some twenty times as long as it takes


def test_an_answer_that_is_full_says_so() -> None:
    image = image_with("metrics", LONGEST)
    results = describe_all(image, [ResourceQuery(type=16, name="r", keys=None)] * 300, OWN)
    errors = [result.error for result in results]
    fit = limits.MAX_DESCRIBED_CHARACTERS // len(LONGEST)
    assert errors == [ErrorCode.NONE] * fit + [ErrorCode.MESSAGE_TOO_LARGE] * (300 - fit)
    assert results[-1].entries == ()


# --- configs of brokers: any key is taken ---

LONGEST_KEY = "k" * limits.MAX_CONFIG_KEY_BYTES
MOST = limits.MAX_CONFIGS_PER_RESOURCE


def of_cluster(*keys: str, operation: int = SET) -> ResourceChange:
    changes = tuple(ConfigChange(name=key, operation=operation, value="") for key in keys)
    return ResourceChange(type=4, name="", changes=changes)


def image_of(*changes: ResourceChange) -> Image:
    image = Image()
    for each in changes:
        for record in alter(image, each)[0]:
            image.replay(record)
    return image


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (LONGEST_KEY, ErrorCode.NONE),
        (LONGEST_KEY + "k", ErrorCode.INVALID_CONFIG),
        ("k" * 40_000, ErrorCode.INVALID_CONFIG),
        ("ä" * 128, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_key_is_as_long_as_it_may_be(key: str, error: ErrorCode) -> None:
    records, result = alter(Image(), of_cluster(key))
    assert (len(records), result.error) == (not error, error)


def test_a_resource_has_so_many_keys_and_no_more() -> None:
    image = image_of(of_cluster(*map(str, range(MOST))))
    assert alter(image, of_cluster("7", "8"))[1].error == ErrorCode.NONE
    assert alter(image, of_cluster("7", "more"))[1].error == ErrorCode.INVALID_CONFIG
    assert alter(image, of_cluster("7", operation=DELETE))[1].error == ErrorCode.NONE
    assert alter(Image(), of_cluster(*map(str, range(MOST + 1))))[0] == []


def test_a_broker_is_told_of_what_was_set_or_of_the_keys_that_are_asked_for() -> None:
    image = image_of(of_cluster("a", "b", "c"))
    asked = ResourceQuery(type=4, name="", keys=("c", "x", "a", "c"))
    assert [each.name for each in describe(image, asked, OWN).entries] == ["c", "a"]
    every = ResourceQuery(type=4, name="", keys=None)
    assert [each.name for each in describe(image, every, OWN).entries] == ["a", "b", "c"]


@pytest.mark.parametrize("keys", [None, (), ("7",)])
def test_an_answer_has_so_many_configs_and_takes_little_time(keys: tuple[str, ...] | None) -> None:
    image = image_of(of_cluster(*map(str, range(MOST))))
    queries = [ResourceQuery(type=4, name="", keys=keys)] * limits.MAX_ELEMENTS
    began = process_time()
    results = describe_all(image, queries, OWN)
    assert process_time() - began < 5.0  # some twenty times as long as it takes
    told = sum(len(each.entries) for each in results)
    assert told <= limits.MAX_DESCRIBED_CONFIGS
    assert (results[-1].error == ErrorCode.MESSAGE_TOO_LARGE) == (keys is None)


def test_sources_and_types_that_somebody_else_made_up_are_unknown() -> None:
    """A newer controller's answer, or a damaged one, ends nobody."""
    assert ConfigSource(99) is ConfigSource.UNKNOWN
    assert ConfigType(-1) is ConfigType.UNKNOWN


def test_what_is_replaced_has_nothing_else() -> None:
    """AlterConfigs, as it was before single keys could be altered (KIP-339)."""
    image = image_with("interval.ms", "500")
    image.replay(ConfigRecord(resource_type=16, resource_name="r", name="metrics", value="a,b"))
    records, results = replace_all(image, [change("match", "client_id=x")], 1)
    assert [each.error for each in results] == [ErrorCode.NONE]
    assert {(each.name, each.value) for each in records if isinstance(each, ConfigRecord)} == {
        ("match", "client_id=x"),
        ("interval.ms", None),
        ("metrics", None),
    }
    nothing = ResourceChange(type=16, name="r", changes=())
    records, _ = replace_all(image, [nothing], 1)
    assert len(records) == 2
    for wrong in (change("interval.ms", None), change("interval.ms", "soon")):
        records, (result,) = replace_all(image, [wrong], 1)
        assert records == []
        assert result.error is not ErrorCode.NONE
