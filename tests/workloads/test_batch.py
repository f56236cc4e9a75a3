"""Record batches: kio reads what is written; what is read is what was written, damage is seen."""

import datetime
import io
import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from checkers.history.events import NOT_SENT, payload, value_in, value_of
from workloads.wire.batch import Identity, Values, encode_batch, next_offset, read_batches
from workloads.wire.flexible import MalformedResponseError

FIRST = value_of(7, 1_000)


def at_offset(batch: bytes, base: int, epoch: int = 3) -> bytes:
    """As a leader appends it: base offset and epoch lie outside of the CRC."""
    return struct.pack(">q", base) + batch[8:12] + struct.pack(">i", epoch) + batch[16:]


def checked(batch: bytes) -> bytes:
    """With the CRC put right again."""
    return batch[:17] + struct.pack(">I", crc32c(batch[21:])) + batch[21:]


@pytest.mark.parametrize("records", [1, 2, 63, 64, 65, 200, 8_193])
def test_kio_reads_what_is_written(records: int) -> None:
    identity = Identity(producer_id=4_000, epoch=2, sequence=17)
    data = encode_batch(FIRST, records, 16, identity)
    assert data == checked(data)
    assert struct.unpack_from(">qq", data, 27) == (-1, -1)
    # kio knows no time before 1970, which stands for no timestamp.
    batch, size = read_batch(checked(data[:27] + bytes(16) + data[43:]), 0)
    assert size == len(data)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (4_000, 2, 17)
    assert (batch.last_offset_delta, batch.attributes) == (records - 1, 0)
    assert [record.offset for record in batch.records] == list(range(records))
    assert [record.value for record in batch.records] == [
        payload(FIRST + index, 16) for index in range(records)
    ]
    assert all(record.key is None and record.headers == () for record in batch.records)


def kio_batch(values: list[bytes | None]) -> bytes:
    """As another client writes it: with timestamps, and keys."""
    now = TZAwareMicros.parse(datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC))
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=now,
            offset=i64(index),
            key=b"a key" if index % 2 else None,
            value=value,
            headers=(),
        )
        for index, value in enumerate(values)
    )
    buffer = io.BytesIO()
    write_new_batch(
        buffer,
        NewRecordBatch(
            producer_id=i64(-1),
            producer_epoch=i16(-1),
            base_sequence=i32(-1),
            records=records,
            attributes=i16(0),
        ),
    )
    return buffer.getvalue()


def test_batches_of_other_clients_are_read_record_by_record() -> None:
    values = [payload(each, 24) for each in (5, 6, 7, 100, 101, 50)]
    found = list(read_batches(at_offset(kio_batch([*values]), 10), 10))
    assert found == [Values(10, 5, 3, 3), Values(13, 100, 2, 3), Values(15, 50, 1, 3)]


def test_what_nobody_sent_is_nobodys() -> None:
    good = payload(5, 24)
    values = [good, None, b"", b"short", good[:-1] + b"\x00", bytes([0xFF]) * 16, payload(6, 24)]
    found = list(read_batches(at_offset(kio_batch(values), 0), 0))
    assert found == [
        Values(0, 5, 1, 3),
        *(Values(offset, NOT_SENT, 1, 3) for offset in range(1, 6)),
        Values(6, 6, 1, 3),
    ]


@given(
    st.lists(st.integers(1, 70), min_size=1, max_size=5),
    st.sampled_from([8, 64, 1024]),
    st.integers(0, 200),
)
def test_whole_batches_are_spans_from_the_offset_asked_for(
    counts: list[int], size: int, skip: int
) -> None:
    data, base, wanted, value = b"", 0, [], FIRST
    for records in counts:
        data += at_offset(encode_batch(value, records, size), base)
        wanted += [(base + index, value + index) for index in range(records)]
        base, value = base + records, value + 5_000
    start = min(skip, base)
    found = [
        (span.offset + index, span.value + index)
        for span in read_batches(data, start)
        for index in range(span.records)
    ]
    assert found == wanted[start:]
    assert len(list(read_batches(data, 0))) == len(counts)
    assert next_offset(data, start) == base


@pytest.mark.parametrize("byte", range(17, 17 + 4 + 40 + 70))
def test_any_flipped_bit_that_a_crc_guards_makes_the_batch_nobodys(byte: int) -> None:
    batch = bytearray(at_offset(encode_batch(FIRST, 1, 64), 40))
    batch[byte] ^= 1 << byte % 8
    assert {each.value for each in read_batches(bytes(batch), 40)} == {NOT_SENT}


@pytest.mark.parametrize("flipped", [0, 5, 63, 64, 99])
def test_damage_under_a_right_crc_is_one_record_of_many(flipped: int) -> None:
    """As if a broker had garbled it before it computed the CRC."""
    clean = encode_batch(FIRST, 100, 64)
    at = clean.index(payload(FIRST + flipped, 64)) + 40
    data = checked(clean[:at] + bytes([clean[at] ^ 1]) + clean[at + 1 :])
    found = list(read_batches(at_offset(data, 0), 0))
    assert Values(flipped, NOT_SENT, 1, 3) in found
    assert sum(each.records for each in found) == 100
    assert len([each for each in found if each.value == NOT_SENT]) == 1


def test_a_batch_cut_by_the_broker_is_left_for_the_next_fetch() -> None:
    first = at_offset(encode_batch(FIRST, 3, 64), 0)
    second = at_offset(encode_batch(FIRST + 3, 3, 64), 3)
    for size in range(len(second)):
        cut = first + second[:size]
        assert list(read_batches(cut, 0)) == [Values(0, FIRST, 3, 3)]
        assert next_offset(cut, 0) == 3
    assert next_offset(b"", 7) == 7


def test_control_batches_take_offsets_and_hold_no_values() -> None:
    batch = at_offset(encode_batch(FIRST, 1, 8), 9)
    control = checked(batch[:21] + struct.pack(">h", 0x20) + batch[23:])
    assert list(read_batches(control, 9)) == []
    assert next_offset(control, 9) == 10


def test_compressed_records_were_sent_by_nobody() -> None:
    batch = at_offset(encode_batch(FIRST, 2, 8), 9)
    compressed = checked(batch[:21] + struct.pack(">h", 1) + batch[23:])
    assert [each.value for each in read_batches(compressed, 9)] == [NOT_SENT, NOT_SENT]


@pytest.mark.parametrize("at", [16, 8])
def test_what_is_no_batch_is_malformed(at: int) -> None:
    batch = bytearray(encode_batch(FIRST, 1, 64))
    batch[at] ^= 0xFF
    with pytest.raises(MalformedResponseError, match="no record batch at byte 0"):
        list(read_batches(bytes(batch), 0))


def test_payloads_tell_their_value_and_their_damage() -> None:
    assert value_in(payload(FIRST, 1024)) == FIRST
    assert value_in(payload(0, 8)) == 0
    for bad in (None, b"", bytes(7), payload(FIRST, 1024)[1:], payload(FIRST, 24) + bytes(8)):
        assert value_in(bad) == NOT_SENT


@pytest.mark.parametrize("base", [-1, (1 << 63) - 1])
def test_a_batch_at_an_offset_that_no_log_has_is_malformed(base: int) -> None:
    batch = base.to_bytes(8, "big", signed=True) + encode_batch(7, 2, 64)[8:]
    with pytest.raises(MalformedResponseError, match="no record batch"):
        list(read_batches(batch, 0))
