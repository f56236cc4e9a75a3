"""The record batch codec against bytes written down by hand, kio, and damage."""

import struct
from contextlib import suppress

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch

from node.codec.varint import encode_signed
from node.ids import Epoch, Offset
from node.limits import MAX_RECORDS_PER_BATCH
from node.records.batch import (
    HEADER_SIZE,
    Batch,
    BatchHeader,
    DamagedBatch,
    KeyValue,
    Record,
    _plain_values,
    check_batch,
    encode_batch,
    read_header,
    split_batches,
)
from tests.support.batches import batch

key_values = st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200))
batches_of_records = st.lists(key_values, min_size=1, max_size=30)


def encode(records: list[KeyValue], *, control: bool = False) -> bytes:
    return encode_batch(
        records,
        base_offset=Offset(100),
        leader_epoch=Epoch(3),
        timestamp_ms=1_700_000_000_123,
        control=control,
    )


def only(data: bytes) -> Batch:
    (found,) = split_batches(data)
    return found


def seal(header: bytes, records: bytes) -> bytes:
    """A batch at offset 0 with the right length and CRC around `header`, attributes to count."""
    covered = header + records
    length = 9 + len(covered)
    return struct.pack(">qiibI", 0, length, 1, 2, crc32c.crc32c(covered)) + covered


def test_a_batch_is_these_bytes() -> None:
    data = encode([(None, b"\x01\x14\x00\x00"), (b"k", None)])
    assert data[:8] == (100).to_bytes(8, "big")
    assert data[8:12] == (len(data) - 12).to_bytes(4, "big")
    assert data[12:17] == b"\0\0\0\x03\x02"
    assert data[17:21] == crc32c.crc32c(data[21:]).to_bytes(4, "big")
    assert data[21:27] == b"\0\0" + b"\0\0\0\x01"
    assert data[27:43] == (1_700_000_000_123).to_bytes(8, "big") * 2
    assert data[43:61] == b"\xff" * 14 + b"\0\0\0\x02"
    assert (
        data[61:]
        == (
            b"\x14"
            + b"\0\0\0\x01\x08\x01\x14\0\0\0"  # 10 bytes: delta 0, null key, 4 bytes, no header
            b"\x0e" + b"\0\0\x02\x02k\x01\0"  # 7 bytes: delta 1, key of 1, null value, no header
        )
    )


@given(batches_of_records, st.booleans())
def test_what_was_encoded_is_decoded(records: list[KeyValue], control: bool) -> None:
    found = only(encode(records, control=control))
    assert found.header.is_control == control
    assert found.header.next_offset == 100 + len(records)
    assert list(found.records()) == [
        Record(offset=Offset(100 + delta), timestamp_ms=1_700_000_000_123, key=key, value=value)
        for delta, (key, value) in enumerate(records)
    ]


@given(batches_of_records)
def test_values_are_those_of_the_records(records: list[KeyValue]) -> None:
    assert only(encode(records)).values() == tuple(value for _, value in records)


def values_only(count: int) -> list[KeyValue]:
    return [(None, bytes(number % 300)) for number in range(count)]


@pytest.mark.parametrize("count", [1, 65, 5000, MAX_RECORDS_PER_BATCH])
def test_values_without_keys_are_read_without_their_records(count: int) -> None:
    """Of lengths and offsets that take one byte, and two, and three."""
    found = only(encode(values_only(count)))
    assert _plain_values(found.data, found.header.record_count) == found.values()
    assert found.values() == tuple(record.value for record in found.records())


@given(st.data())
def test_values_are_read_as_records_are_whatever_the_bytes_are(data: st.DataObject) -> None:
    """No byte of a record is taken for granted."""
    sound = bytearray(encode(values_only(data.draw(st.integers(1, 70)))))
    at = data.draw(st.integers(HEADER_SIZE, len(sound) - 1))
    sound[at] = data.draw(st.integers(0, 255))
    changed = Batch(header=read_header(bytes(sound)), data=bytes(sound))
    try:
        told: tuple[bytes | None, ...] | None = tuple(
            each.value for each in changed.records_in_order()
        )
    except DamagedBatch:
        told = None
    if told is None:
        with pytest.raises(DamagedBatch):
            changed.values()
    else:
        assert changed.values() == told


@given(batches_of_records)
def test_kio_reads_the_same_records(records: list[KeyValue]) -> None:
    theirs = read_batch(encode(records), 0)[0]
    assert [(record.key, record.value) for record in theirs.records] == records
    assert theirs.base_offset == 100
    assert theirs.base_timestamp == 1_700_000_000_123


def test_deltas_headers_and_append_time_are_read() -> None:
    record = b"\0\x05\x02\x02k\x02v\x02\x02h\x01"  # timestamp -3, offset 1, header h: null
    records = encode_signed(len(record)) + record
    for attributes, timestamp in ((0, 997), (8, 2000)):
        header = struct.pack(">hiqqqhii", attributes, 1, 1000, 2000, 5, 6, 7, 1)
        found = only(seal(header, records))
        assert found.header.producer_id == 5
        (read,) = found.records()
        assert read == Record(
            offset=Offset(1),
            timestamp_ms=timestamp,
            key=b"k",
            value=b"v",
            headers=((b"h", None),),
        )


def test_batches_are_split_and_kept_to_the_bit() -> None:
    parts = [batch(0, 1, 3), batch(3, 1), batch(4, 2, 20)]
    assert [found.data for found in split_batches(b"".join(parts))] == parts


def test_the_batches_before_a_torn_one_are_had() -> None:
    parts = [batch(0, 1, 3), batch(3, 1)]
    for cut in range(1, len(parts[1])):
        found = split_batches(b"".join(parts)[:-cut])
        assert next(found).data == parts[0]
        with pytest.raises(DamagedBatch) as damage:
            next(found)
        assert damage.value.torn
        assert damage.value.position == len(parts[0])


@given(st.integers(1, 30), st.data())
def test_what_was_split_before_is_split_as_if_it_were_new(count: int, data: st.DataObject) -> None:
    """Small reads are remembered, larger ones are not; neither may hide what is damaged since."""
    whole = b"".join(batch(base, 1) for base in range(count))
    for _ in range(2):
        assert b"".join(found.data for found in split_batches(whole)) == whole
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    damaged = bytearray(whole)
    damaged[bit // 8] ^= 1 << bit % 8
    sound: list[BatchHeader] = []
    position = 0
    with suppress(DamagedBatch):
        while position < len(damaged):
            sound.append(check_batch(bytes(damaged), position))
            position += sound[-1].size
    for _ in range(2):
        headers: list[BatchHeader] = []
        with suppress(DamagedBatch):
            headers.extend(found.header for found in split_batches(bytes(damaged)))
        assert headers == sound


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [
        (16, 1, "magic is 1, not 2"),
        (16, 0, "magic is 0, not 2"),
        (8, 0x80, "batch length -"),
        (0, 0x80, "negative offsets"),
        (17, 0xAA, "the header says aa"),
        (23, 0x80, "negative offsets"),
        (60, 9, "9 records in 2 offsets"),
        (70, 0xAA, "CRC-32C is"),
    ],
)
def test_a_corrupt_batch_says_why(position: int, value: int, reason: str) -> None:
    data = bytearray(batch(0, 1, 2))
    data[position] = value
    with pytest.raises(DamagedBatch, match=reason) as damage:
        check_batch(bytes(data))
    assert not damage.value.torn


def test_offset_and_epoch_lie_outside_the_crc() -> None:
    data = batch(0, 1, 2)
    moved = (77).to_bytes(8, "big") + data[8:12] + (9).to_bytes(4, "big") + data[16:]
    header = check_batch(moved)
    assert (header.base_offset, header.leader_epoch, header.last_offset) == (77, 9, 78)
    assert header == read_header(b"?" + moved, 1)


@given(batches_of_records, st.data())
def test_any_bit_flipped_under_the_crc_is_seen(
    records: list[KeyValue], data: st.DataObject
) -> None:
    encoded = bytearray(encode(records))
    bit = data.draw(st.integers(16 * 8, len(encoded) * 8 - 1))
    encoded[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamagedBatch):
        check_batch(bytes(encoded))


@given(st.binary(max_size=200), st.integers(0, 5))
def test_records_that_do_not_fit_their_batch_are_refused(records: bytes, count: int) -> None:
    """A CRC vouches for the bytes, not for the writer."""
    header = struct.pack(">hiqqqhii", 0, 5, 0, 0, -1, -1, -1, count)
    try:
        decoded = list(only(seal(header, records)).records())
    except DamagedBatch:
        return
    assert len(decoded) == count


def test_compressed_records_are_refused_by_name() -> None:
    header = struct.pack(">hiqqqhii", 4, 0, 0, 0, -1, -1, -1, 1)
    with pytest.raises(DamagedBatch, match="compressed with zstd"):
        list(only(seal(header, b"abc")).records())
