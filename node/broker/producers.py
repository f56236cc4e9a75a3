"""The leader's view of idempotent producers: which batches are in its log already, and which may
follow (KIP-98, `ProducerAppendInfo`).

The log knows the batches that it holds (`node.storage.producers`); what is appended in a step is in
it from the next step on, and is remembered here until then.
"""

from node.errors import ErrorCode
from node.records.batch import BatchHeader
from node.storage.producers import (
    NO_PRODUCER,
    SEQUENCES,
    Known,
    KnownProducers,
    Producer,
    followed,
    last_sequence,
)

NO_PRODUCER_EPOCH = -1


class Producers:
    """The producers of one log, in one step."""

    def __init__(self, logged: KnownProducers) -> None:
        self.logged = logged
        self._appended: dict[int, Producer] = {}

    def find(self, producer: int) -> Producer | None:
        return self._appended.get(producer) or self.logged.find(producer)

    def appended(self, header: BatchHeader) -> None:
        if header.producer_id == NO_PRODUCER:
            return
        known = self.find(header.producer_id)
        mine = None if known is None else known.copy()
        self._appended[header.producer_id] = followed(mine, header)

    def duplicate(self, header: BatchHeader) -> Known | None:
        """The same batch, if it is in the log already."""
        known = self.find(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return None
        if known.epoch != header.producer_epoch:
            return None
        sought = (header.base_sequence, last_sequence(header))
        return next((each for each in known.batches if (each.first, each.last) == sought), None)

    def refusal(self, header: BatchHeader) -> ErrorCode:
        """Why a new batch may not follow, if so. An unknown producer may begin at any sequence
        (KIP-360).
        """
        known = self.find(header.producer_id)
        if header.producer_id == NO_PRODUCER or known is None:
            return ErrorCode.NONE
        if header.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if known.epoch == NO_PRODUCER_EPOCH:
            return ErrorCode.NONE  # without an epoch there is no order
        goes_on = header.producer_epoch == known.epoch and bool(known.batches)
        expected = (known.batches[-1].last + 1) % SEQUENCES if goes_on else 0
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE
