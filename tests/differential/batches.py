"""Batches as clients send them: most are sound, the others wrong in one way.

What is wrong is seen by who reads a batch's header. Records are sound, and not of the future: our
node does not look at those that it stores, as Apache Kafka does, and afterwards the two would hold
different logs.
"""

from random import Random

import crc32c

from node.records.batch import HEADER, BatchHeader
from tests.differential.model import PRODUCER
from tests.fuzz.drawing import Draw
from tests.support.batches import timed_batch

_TIME_MS = 1_700_000_000_000
_CRC_END = 21
_MOST_INT32 = 2**31 - 1


def sent(rng: Random) -> bytes:
    """The records of one partition, as Produce takes them. Never null: Apache Kafka does not answer
    that at all (docs/results/findings.md)."""
    count = rng.choice((1, 1, 2, 5))
    times = [_TIME_MS + rng.randrange(5) * 1000] * count
    batch = timed_batch(*times)
    match rng.randrange(40):
        case 0:
            return rng.choice((b"", b"x" * 61))
        case 1:
            return batch + batch
        case 2:
            return batch[: rng.randrange(len(batch))]
        case 3:
            return batch[:-1] + bytes([batch[-1] ^ 1])
        case 4:
            return _changed(batch, magic=rng.choice((3, -1)))
        case 6:
            return _changed(batch, attributes=rng.choice((0x10, 0x20, 0x30)))
        case 7:
            many = rng.choice((0, -1, count + 1, _MOST_INT32))
            return _changed(batch, record_count=many)
        case number if number < 20:
            return _idempotent(rng, batch)
        case _:
            return batch


def plain(rng: Random) -> bytes:
    """A sound batch."""
    return timed_batch(*[_TIME_MS + rng.randrange(5) * 1000] * rng.choice((1, 1, 2, 5)))


def of_producer(sequence: int) -> Draw:
    """A sound one, that follows what PRODUCER has sent."""
    numbered = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": sequence}
    return lambda rng: _changed(plain(rng), **numbered)


def _idempotent(rng: Random, batch: bytes) -> bytes:
    return _changed(
        batch,
        producer_id=rng.choice((7, 7, 7, 8)),
        producer_epoch=rng.choice((0, 0, 0, 0, 1, -1)),
        base_sequence=rng.choice((0, 0, 1, 2, 3, 5, _MOST_INT32, -1)),
    )


def _changed(batch: bytes, **fields: int) -> bytes:
    """Another header, and a sound CRC."""
    header = BatchHeader._make(HEADER.unpack_from(batch))._replace(**fields)  # type: ignore[arg-type]
    covered = (HEADER.pack(*header) + batch[HEADER.size :])[_CRC_END:]
    whole = header._replace(crc=crc32c.crc32c(covered))
    return HEADER.pack(*whole)[:_CRC_END] + covered
