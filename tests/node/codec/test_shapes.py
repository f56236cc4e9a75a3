"""What was written is read, for classes of every shape; all other bytes are refused."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from node.codec import MalformedMessage, UnencodableMessage, read_whole, write_whole
from node.codec.fields import marked_fields
from node.codec.varint import write_unsigned
from node.limits import MAX_ELEMENTS
from tests.support.codec_shapes import (
    PRIMITIVES,
    Shape,
    classes,
    kio_bytes,
    marked_class,
    values_of,
)

SLOW = settings(
    max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

PLAIN = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint16"), 0),
    **dict.fromkeys(("bytes", "records"), b""),
    "bool": False,
    "float64": 0.0,
    "uuid": UUID(int=1),
    "error_code": ErrorCode(0),
    "timedelta_i32": timedelta(0),
    "string": "",
}
assert PLAIN.keys() == PRIMITIVES.keys()


@st.composite
def messages(draw: st.DrawFn) -> Any:
    return draw(values_of(draw(classes(draw(st.booleans())))))


def one(inner: str, *, flexible: bool, array: bool = False, nullable: bool = False) -> type[Any]:
    """A class of one field, `value`."""
    return marked_class(
        "One", flexible, {"value": Shape(inner=inner, array=array, nullable=nullable)}
    )


@SLOW
@given(messages())
def test_what_was_written_is_read(message: Any) -> None:
    data = write_whole(message)
    assert read_whole(type(message), b"before" + data, 6) == message


@SLOW
@given(messages())
def test_kio_writes_the_same_bytes(message: Any) -> None:
    assert write_whole(message) == kio_bytes(message)


@SLOW
@given(messages())
def test_no_message_can_be_cut_anywhere_and_nothing_may_follow(message: Any) -> None:
    data = write_whole(message)
    for length in {*range(min(len(data), 99)), *range(max(len(data) - 99, 0), len(data))}:
        with pytest.raises(MalformedMessage):
            read_whole(type(message), data[:length])
    with pytest.raises(MalformedMessage, match="1 bytes left over"):
        read_whole(type(message), data + b"\0")


@SLOW
@given(messages(), st.data())
def test_damage_is_refused_or_read_but_nothing_else(message: Any, data: st.DataObject) -> None:
    damaged = bytearray(write_whole(message))
    for _ in range(data.draw(st.integers(0, 4)) if damaged else 0):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    for tried in (bytes(damaged), data.draw(st.binary(max_size=60))):
        try:
            read = read_whole(type(message), tried)
        except MalformedMessage:
            continue
        # Not bytes with bytes: what is read may be a default that was written, or no true bool.
        again = write_whole(read)
        assert write_whole(read_whole(type(message), again)) == again


@SLOW
@given(classes(flexible=True), st.data())
def test_unknown_tags_are_skipped(more: type[Any], data: st.DataObject) -> None:
    """A class without the tagged fields reads the others."""
    message = data.draw(values_of(more))
    shapes = {
        field.name: Shape(
            inner=field.struct or field.kafka_type, array=field.array, nullable=field.nullable
        )
        for field in marked_fields(more)
        if field.tag is None
    }
    less = marked_class("Less", True, shapes)
    expected = less(**{name: getattr(message, name) for name in shapes})
    assert read_whole(less, write_whole(message)) == expected


TAGGED = marked_class(
    "Tagged",
    True,
    {"value": Shape(inner="int16", array=False, nullable=False, tag=3, default=0)},
)


@pytest.mark.parametrize("section", ["0103020001", "020302000163017f"])
def test_a_known_tag_is_read_beside_others(section: str) -> None:
    assert read_whole(TAGGED, bytes.fromhex(section)).value == 1


@pytest.mark.parametrize("section", ["01030100", "0103030001ff", "010302", "0203020001", "01"])
def test_a_known_tag_of_another_size_is_refused(section: str) -> None:
    with pytest.raises(MalformedMessage):
        read_whole(TAGGED, bytes.fromhex(section))


def test_tags_are_counted_as_elements_are() -> None:
    for count, is_read in ((MAX_ELEMENTS, True), (MAX_ELEMENTS + 1, False)):
        section = bytearray()
        write_unsigned(section, count)
        section += b"\x63\0" * count
        if is_read:
            assert read_whole(TAGGED, bytes(section)).value == 0
        else:
            with pytest.raises(MalformedMessage, match=f"more than {MAX_ELEMENTS} elements"):
                read_whole(TAGGED, bytes(section))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize(
    ("inner", "inside", "outside"),
    [
        ("int8", (-128, 127), (-129, 128)),
        ("int16", (-(2**15), 2**15 - 1), (-(2**15) - 1, 2**15)),
        ("int32", (-(2**31), 2**31 - 1), (-(2**31) - 1, 2**31)),
        ("int64", (-(2**63), 2**63 - 1), (-(2**63) - 1, 2**63)),
        ("uint16", (0, 2**16 - 1), (-1, 2**16)),
        ("string", ("", "\0", "é" * 2**14), ("\ud800", None)),
        ("bytes", (b"", bytes(2**16)), (None,)),
    ],
)
def test_values_at_their_limits(
    flexible: bool, inner: str, inside: tuple[Any, ...], outside: tuple[Any, ...]
) -> None:
    value_class = one(inner, flexible=flexible)
    for value in inside:
        if flexible or inner != "string" or len(value.encode()) < 2**15:
            assert read_whole(value_class, write_whole(value_class(value=value))).value == value
    for value in outside:
        with pytest.raises(UnencodableMessage):
            write_whole(value_class(value=value))


def test_only_flexible_strings_are_longer_than_two_bytes_can_tell() -> None:
    old, flexible = one("string", flexible=False), one("string", flexible=True)
    for message in (old(value="x" * (2**15 - 1)), flexible(value="x" * 2**15)):
        assert read_whole(type(message), write_whole(message)) == message
    with pytest.raises(UnencodableMessage):
        write_whole(old(value="x" * 2**15))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("inner", sorted(PLAIN))
def test_elements_are_counted(flexible: bool, inner: str) -> None:
    array = one(inner, flexible=flexible, array=True)
    value = PLAIN[inner]
    most = array(value=(value,) * MAX_ELEMENTS)
    assert read_whole(array, write_whole(most)) == most
    with pytest.raises(MalformedMessage, match=f"more than {MAX_ELEMENTS} elements"):
        read_whole(array, write_whole(array(value=(value,) * (MAX_ELEMENTS + 1))))


@pytest.mark.parametrize(
    ("flexible", "encoded"),
    [
        (True, "ffffffff0f" + "00" * 9),
        (False, "7fffffff" + "00" * 9),
        (False, "fffffffe"),
        (True, "ffffffffff01"),
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_lengths_that_no_bytes_follow(flexible: bool, encoded: str, array: bool) -> None:
    for nullable in (False, True):
        value_class = one("bytes", flexible=flexible, array=array, nullable=nullable)
        with pytest.raises(MalformedMessage):
            read_whole(value_class, bytes.fromhex(encoded))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize(("inner", "array"), [("string", False), ("bytes", False), ("int32", True)])
def test_null_is_read_only_where_it_may_be(flexible: bool, inner: str, array: bool) -> None:
    may_be = one(inner, flexible=flexible, array=array, nullable=True)
    null = write_whole(may_be(value=None))
    assert read_whole(may_be, null).value is None
    with pytest.raises(MalformedMessage, match="-1"):
        read_whole(one(inner, flexible=flexible, array=array), null)


def test_a_type_that_nobody_knows_is_a_mistake_in_the_class() -> None:
    shapes = {"value": Shape(inner="int32", array=False, nullable=False)}
    wrong = marked_class("Wrong", True, shapes)
    (field,) = wrong.__dataclass_fields__.values()
    field.metadata = {"kafka_type": "int23"}
    with pytest.raises(AssertionError, match=r"Wrong\.value"):
        write_whole(wrong(value=1))
