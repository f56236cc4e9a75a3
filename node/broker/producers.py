"""What the log says of idempotent producers (KIP-98, `ProducerStateManager`).

A function of the batches that are in the log: after a restart or a cut it is made anew from them,
so that it never tells of what is not there.
"""

from collections.abc import Iterable
from dataclasses import field

from node.errors import ErrorCode
from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader

NO_PRODUCER = NO_PRODUCER_EPOCH = -1
_REMEMBERED = 5  # batches of one producer: as many as one may have in flight
_SEQUENCES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A batch that is in the log."""

    first: int  # sequence numbers
    last: int
    base: Offset
    end: Offset


@dataclass(slots=True, kw_only=True)
class Producer:
    epoch: int
    batches: list[Known] = field(default_factory=list)  # at least one, the newest last


class Producers:
    def __init__(self, headers: Iterable[BatchHeader]) -> None:
        """Of the batches of a log, in order."""
        self._known: dict[int, Producer] = {}
        for header in headers:
            self.appended(header)

    def appended(self, header: BatchHeader) -> None:
        if header.producer_id == NO_PRODUCER:
            return
        known = self._known.get(header.producer_id)
        if known is None or known.epoch != header.producer_epoch:
            known = self._known[header.producer_id] = Producer(epoch=header.producer_epoch)
        known.batches.append(
            Known(
                first=header.base_sequence,
                last=_last_sequence(header),
                base=header.base_offset,
                end=header.next_offset,
            )
        )
        del known.batches[:-_REMEMBERED]

    def duplicate(self, header: BatchHeader) -> Known | None:
        """The same batch, which is in the log already."""
        known = self._known.get(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return None
        if known.epoch != header.producer_epoch:
            return None
        sought = (header.base_sequence, _last_sequence(header))
        return next((each for each in known.batches if (each.first, each.last) == sought), None)

    def refusal(self, header: BatchHeader) -> ErrorCode:
        """Why a batch that is no duplicate may not follow, if it may not. One of a producer that
        nothing is known of may begin anywhere (KIP-360)."""
        known = self._known.get(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return ErrorCode.NONE
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if known.epoch == NO_PRODUCER_EPOCH:
            return ErrorCode.NONE  # without an epoch nothing is in order
        is_same = header.producer_epoch == known.epoch
        expected = (known.batches[-1].last + 1) % _SEQUENCES if is_same else 0
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE


def _last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) % _SEQUENCES
