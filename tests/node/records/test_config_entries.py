"""What is read by the thousand says the same as what is read record by record."""

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

from node.records.metadata import ConfigRecord, decode_metadata, encode_metadata, plain_entries

WORDS = st.text(st.sampled_from("ab.\0\x7fü"), max_size=4) | st.sampled_from(
    ["x" * 125, "x" * 126, "x" * 127, "x" * 300]
)
CONFIGS = st.builds(
    ConfigRecord,
    resource_type=st.sampled_from([2, 4, 16, 127, -1]),
    resource_name=WORDS,
    name=WORDS,
    value=WORDS | st.none(),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The value of a record, of which one byte is another, or which is cut, or goes on."""
    value = bytearray(encode_metadata(draw(CONFIGS)))
    at = draw(st.integers(0, len(value) - 1))
    match draw(st.sampled_from(["byte", "cut", "more"])):
        case "byte":
            value[at] = draw(st.integers(0, 255))
        case "cut":
            del value[at:]
        case _:
            value += draw(st.binary(min_size=1, max_size=3))
    return bytes(value)


@given(st.lists(CONFIGS.map(encode_metadata) | damaged() | st.none(), max_size=4), st.data())
def test_each_entry_is_what_its_record_says(
    values: list[bytes | None], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(values)))
    entries = list(plain_entries(values, start))
    records = [decode_metadata(value) for value in values[start : start + len(entries)]]
    assert entries == [astuple(record) for record in records if isinstance(record, ConfigRecord)]


@given(st.lists(st.text("abc.-_0", max_size=120), min_size=3, max_size=3), st.integers(0, 127))
def test_what_controllers_write_is_plain(words: list[str], kind: int) -> None:
    name, key, value = words
    record = ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
    assert list(plain_entries([encode_metadata(record)], 0)) == [(kind, name, key, value)]
