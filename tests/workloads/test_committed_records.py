"""What a reader of committed transactions is given of a log, batch by batch; and what a
transformation writes there."""

import struct

import pytest
from crc32c import crc32c
from kio.records.readers import read_batch

from checkers.history.events import NOT_SENT
from tests.support.markers import ABORT, COMMIT, marker
from workloads.chores.transforming_member import Processed, output_batch, processed
from workloads.wire.batch import Identity, KeyedRecord, keyed_batch, read_batches, read_committed
from workloads.wire.flexible import MalformedResponseError

_ATTRIBUTES_AT = 21


def at_offset(batch: bytes, base: int) -> bytes:
    return struct.pack(">q", base) + batch[8:]


def written(offset: int, producer: int, *keys: bytes, transactional: bool = True) -> bytes:
    identity = Identity(producer_id=producer, epoch=0, sequence=0, transactional=transactional)
    return at_offset(keyed_batch(*((key, b"v") for key in keys), identity=identity), offset)


def given(data: bytes, *aborted: tuple[int, int], start: int = 0) -> list[tuple[int, bytes]]:
    return [(each.offset, each.key) for each in read_committed(data, start, aborted)]


def test_an_aborted_transaction_is_left_out_up_to_its_marker() -> None:
    """Of two producers; the aborted one commits the next."""
    log = written(0, 7, b"a", b"b") + written(2, 8, b"c") + marker(3, 7, ABORT)
    log += written(4, 7, b"d") + marker(5, 8, COMMIT) + marker(6, 7, COMMIT)
    assert given(log, (7, 0)) == [(2, b"c"), (4, b"d")]
    assert given(log) == [(0, b"a"), (1, b"b"), (2, b"c"), (4, b"d")]


def test_one_that_begins_later_leaves_what_was_before_it() -> None:
    log = written(0, 7, b"a") + marker(1, 7, COMMIT) + written(2, 7, b"b") + marker(3, 7, ABORT)
    assert given(log, (7, 2)) == [(0, b"a")]


def test_what_is_in_no_transaction_is_given_whoever_sent_it() -> None:
    assert given(written(0, 7, b"a", transactional=False), (7, 0)) == [(0, b"a")]


def test_two_aborted_transactions_of_one_producer() -> None:
    log = written(0, 7, b"a") + marker(1, 7, ABORT) + written(2, 7, b"b") + marker(3, 7, ABORT)
    log += written(4, 7, b"c") + marker(5, 7, COMMIT)
    assert given(log, (7, 2), (7, 0)) == [(4, b"c")]


def test_records_before_the_offset_that_was_asked_for_are_not_given() -> None:
    log = written(0, 7, b"a", b"b", b"c") + marker(3, 7, COMMIT)
    assert given(log, start=1) == [(1, b"b"), (2, b"c")]


def test_a_batch_that_is_cut_is_not_read_and_one_that_is_damaged_is_no_answer() -> None:
    log = written(0, 7, b"a") + written(1, 7, b"b")
    assert given(log[:-1]) == [(0, b"a")]
    damaged = bytearray(log)
    damaged[-3] ^= 1
    with pytest.raises(MalformedResponseError, match="damaged"):
        given(bytes(damaged))


def test_kio_reads_a_batch_with_keys() -> None:
    data = bytearray(written(0, 7, b"a", b"bcd"))
    data[27:43] = bytes(16)  # kio knows no time before 1970, which stands for no timestamp
    data[17:21] = struct.pack(">I", crc32c(bytes(data[_ATTRIBUTES_AT:])))
    batch, size = read_batch(bytes(data), 0)
    assert size == len(data)
    found = [(record.offset, record.key, record.value) for record in batch.records]
    assert found == [(0, b"a", b"v"), (1, b"bcd", b"v")]


def test_an_output_record_names_the_record_that_it_comes_of() -> None:
    identity = Identity(producer_id=7, epoch=3, sequence=0, transactional=True)
    data = output_batch("t-0", [5, 6, 9], 12, identity)
    assert [processed(each) for each in read_committed(data, 0, ())] == [
        Processed(key="t-0", offset=offset, transaction=12) for offset in (5, 6, 9)
    ]


@pytest.mark.parametrize(("key", "value"), [(b"t-0", b"value"), (b"\xff", bytes(17))])
def test_what_is_no_output_record_is_no_answer(key: bytes, value: bytes) -> None:
    with pytest.raises(MalformedResponseError, match="offset 3"):
        processed(KeyedRecord(offset=3, key=key, value=value))


def test_a_reader_of_the_load_takes_no_output_record_for_one_of_its_own() -> None:
    """Though all its words were the same."""
    identity = Identity(producer_id=7, epoch=3, sequence=0)
    (found,) = read_batches(output_batch("t", [0], 0, identity), 0)
    assert found.value == NOT_SENT
