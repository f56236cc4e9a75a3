"""Every record of Kafka's schemas, in every version, goes through the codec."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.codec import MalformedMessage, read_whole, write_whole
from tests.support.codec_shapes import kio_bytes, values_of
from tests.support.kafka_schemas import kafka_records, with_schemas

pytestmark = with_schemas
_ZEROS = bytes(128)


def every_record() -> list[Any]:
    return [
        pytest.param(found.record, id=f"{found.name}-{found.version}") for found in kafka_records()
    ]


def test_the_records_of_partitions_are_among_them() -> None:
    names = {param.id for param in every_record()}
    assert {"PartitionRecord-2", "PartitionChangeRecord-2", "RegisterBrokerRecord-4"} <= names


def cuts(encoded: bytes) -> Iterator[int]:
    """Lengths that are too short: all but those amid the zeros of a long field of bytes. A reader
    that ends there sees what it sees a few bytes before; no struct has as many zeros in a row."""
    for length in range(len(encoded)):
        if encoded[max(length - len(_ZEROS), 0) : length + len(_ZEROS)] != 2 * _ZEROS:
            yield length


@pytest.mark.parametrize("record", every_record())
@settings(max_examples=10)
@given(data=st.data())
def test_a_record_is_written_as_kio_would_and_read(record: type[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(record))
    encoded = write_whole(value)
    assert encoded == kio_bytes(value)
    assert read_whole(record, encoded) == value
    for length in cuts(encoded):
        with pytest.raises(MalformedMessage):
            read_whole(record, encoded[:length])
