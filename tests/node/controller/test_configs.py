"""What may be set on a CLIENT_METRICS resource, and what is refused with which error."""

import pytest

from node.controller.configs import alter, describe
from node.controller.image import Image
from node.errors import ErrorCode
from node.messages import ConfigChange, ResourceChange, ResourceQuery
from node.records.metadata import ConfigRecord

SET, DELETE, APPEND, SUBTRACT = range(4)


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
        (change("interval.ms", "1000", resource_type=2), ErrorCode.INVALID_REQUEST),
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
    everything = describe(image, ResourceQuery(type=16, name="r", keys=None))
    assert [(e.name, e.value, e.is_default) for e in everything.entries] == [
        ("interval.ms", "1000", False),
        ("match", "", True),
        ("metrics", "", True),
    ]
    one = describe(image, ResourceQuery(type=16, name="other", keys=("interval.ms", "x")))
    assert [(e.name, e.value, e.is_default) for e in one.entries] == [
        ("interval.ms", "300000", True)
    ]
    refused = describe(image, ResourceQuery(type=2, name="t", keys=None))
    assert refused.error == ErrorCode.INVALID_REQUEST


def test_deleting_the_last_key_leaves_nothing_behind() -> None:
    image = image_with("interval.ms", "1000")
    image.replay(ConfigRecord(resource_type=16, resource_name="r", name="interval.ms", value=None))
    assert image.config((16, "r")) == {}
    image.replay(ConfigRecord(resource_type=16, resource_name="q", name="match", value=None))
    assert image.config((16, "q")) == {}
