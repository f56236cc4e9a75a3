"""Idempotent producers (KIP-98)."""

from collections.abc import Iterable

import pytest

from node.broker.replicas.producers import Producers
from node.errors import ErrorCode
from node.ids import Epoch, Offset
from node.records.batch import BatchHeader, encode_batch, read_header
from node.storage.producers import KnownProducers


def known(headers: Iterable[BatchHeader]) -> Producers:
    """As a leader goes by it whose log has these batches."""
    logged = KnownProducers()
    for each in headers:
        logged.appended(each)
    return Producers(logged)


def header(
    sequence: int, count: int = 1, *, base: int = 0, epoch: int = 0, id_: int = 7
) -> BatchHeader:
    plain = read_header(
        encode_batch(
            [(None, b"")] * count, base_offset=Offset(base), leader_epoch=Epoch(1), timestamp_ms=0
        )
    )
    return plain._replace(producer_id=id_, producer_epoch=epoch, base_sequence=sequence)


@pytest.mark.parametrize(
    ("sequence", "epoch", "expected"),
    [
        (5, 1, ErrorCode.NONE),
        (6, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (4, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (5, 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (0, 2, ErrorCode.NONE),
        (5, 2, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_what_may_follow(sequence: int, epoch: int, expected: ErrorCode) -> None:
    producers = known([header(3, 2, epoch=1)])
    assert producers.refusal(header(sequence, epoch=epoch)) is expected


def test_a_producer_that_is_not_known_may_begin_anywhere() -> None:
    assert known([]).refusal(header(17)) is ErrorCode.NONE
    assert known([header(0, id_=8)]).refusal(header(17)) is ErrorCode.NONE


def test_after_a_batch_without_an_epoch_a_producer_may_begin_anywhere() -> None:
    """As `ProducerAppendInfo.checkSequence` has it."""
    producers = known([header(3, 2, epoch=-1)])
    assert producers.refusal(header(17, epoch=0)) is ErrorCode.NONE
    assert producers.refusal(header(17, epoch=-1)) is ErrorCode.NONE


def test_of_who_is_no_idempotent_producer_nothing_is_known() -> None:
    producers = known([header(-1, id_=-1)])
    assert producers.refusal(header(-1, id_=-1)) is ErrorCode.NONE
    assert producers.duplicate(header(-1, id_=-1)) is None


def test_the_last_five_batches_are_known_again() -> None:
    batches = [header(2 * number, 2, base=10 * number) for number in range(7)]
    producers = known(batches)
    assert [producers.duplicate(each) is not None for each in batches] == [False] * 2 + [True] * 5
    found = producers.duplicate(header(8, 2))
    assert found is not None
    assert (found.base, found.end) == (40, 42)
    assert producers.duplicate(header(8, 3)) is None
    assert producers.duplicate(header(8, 2, epoch=1)) is None


def test_sequence_numbers_begin_anew_behind_the_last() -> None:
    producers = known([header(2**31 - 2, 2)])
    assert producers.refusal(header(0)) is ErrorCode.NONE
    producers = known([header(2**31 - 1, 2)])
    assert producers.refusal(header(1)) is ErrorCode.NONE
