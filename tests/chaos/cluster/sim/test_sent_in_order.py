"""What an idempotent producer may send next, decided by the log alone."""

import pytest

from chaos.cluster.sim.invariants.known_batches import (
    NOTHING,
    SEQUENCES,
    KnownBatch,
    Sent,
    sent_by,
)
from chaos.cluster.sim.invariants.log_answers import is_repeated, why_not_next
from node.ids import Epoch, Offset
from node.records.batch import encode_batch, read_header

PRODUCER = 7


def log_of(*sent: Sent | None) -> KnownBatch:
    log = NOTHING
    for number, each in enumerate(sent):
        log = KnownBatch(
            epoch=Epoch(1),
            base=Offset(number),
            end=Offset(number + 1),
            crc=number,
            prefix=log,
            sent=each,
        )
    return log


def by(first: int, last: int, *, epoch: int = 0, producer: int = PRODUCER) -> Sent:
    return Sent(producer, epoch, first, last)


LOG = log_of(by(0, 1), by(0, 4, producer=8), None, by(2, 2), by(5, 5, producer=8), None)


@pytest.mark.parametrize(
    ("sent", "may_follow"),
    [
        (by(3, 3), True),
        (by(4, 4), False),  # 3 is missing
        (by(2, 2), False),
        (by(0, 0, epoch=1), True),
        (by(3, 3, epoch=1), False),  # another epoch begins anew
        (by(3, 3, epoch=-1), False),  # an older one
        (by(17, 20, producer=9), True),  # of one that is not known any may come (KIP-360)
    ],
)
def test_what_comes_next_is_told_by_the_newest_of_its_producer(
    sent: Sent, may_follow: bool
) -> None:
    assert (why_not_next(sent, LOG) == "") is may_follow


def test_sequence_numbers_begin_anew_after_the_last() -> None:
    log = log_of(by(SEQUENCES - 2, SEQUENCES - 1))
    assert why_not_next(by(0, 3), log) == ""
    assert why_not_next(by(SEQUENCES - 1, 2), log) != ""


def test_one_of_the_newest_five_is_repeated() -> None:
    log = log_of(*(by(number, number) for number in range(7)))
    assert [is_repeated(by(number, number), log) for number in range(8)] == [
        *[False] * 2,
        *[True] * 5,
        False,
    ]
    assert not is_repeated(by(6, 6, epoch=1), log)


def test_what_is_sent_is_read_off_the_header() -> None:
    plain = encode_batch(
        [(None, b"a"), (None, b"b")],
        base_offset=Offset(0),
        leader_epoch=Epoch(0),
        timestamp_ms=0,
    )
    header = read_header(plain)
    assert sent_by(header) is None
    numbered = header._replace(producer_id=PRODUCER, producer_epoch=3, base_sequence=SEQUENCES - 1)
    assert sent_by(numbered) == by(SEQUENCES - 1, 0, epoch=3)
