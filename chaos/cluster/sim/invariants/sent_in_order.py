"""The batches that an idempotent producer may send next, by the log alone (KIP-98, KIP-360)."""

from collections.abc import Iterator
from itertools import islice

from chaos.cluster.sim.invariants.known_batches import SEQUENCES, KnownBatch, Sent

_REMEMBERED = 5  # batches of one producer: as many as one may have in flight


def why_not_next(sent: Sent, log: KnownBatch) -> str:
    """Why a batch may not be appended to that log; empty where it may. Takes as many steps as
    batches of others were appended since the last one of this producer."""
    last = _last_of(sent.producer, log)
    if last is None:
        return ""  # an unknown producer may begin anywhere
    if sent.epoch < last.epoch:
        return f"the log has producer epoch {last.epoch}"
    expected = (last.last + 1) % SEQUENCES if sent.epoch == last.epoch else 0
    return "" if sent.first == expected else f"{expected} comes next"


def is_repeated(sent: Sent, log: KnownBatch) -> bool:
    """Whether it is a duplicate of one of its producer's newest batches in the log."""
    last = _last_of(sent.producer, log)
    newest = islice(_of(sent.producer, log), _REMEMBERED)
    is_of_now = last is not None and last.epoch == sent.epoch
    return is_of_now and any(each == sent for each in newest)


def _last_of(producer: int, log: KnownBatch) -> Sent | None:
    return next(_of(producer, log), None)


def _of(producer: int, log: KnownBatch) -> Iterator[Sent]:
    """A producer's batches, the newest first."""
    batch: KnownBatch | None = log
    while batch is not None:
        if batch.sent is not None and batch.sent.producer == producer:
            yield batch.sent
        batch = batch.prefix
