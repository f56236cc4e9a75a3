"""`00000000000000000042.snapshot`: the idempotent producers of a log, by all batches below offset
42, in Kafka's format (`ProducerStateManager`, ProducerSnapshot version 1).

Version (int16), CRC-32C of all that follows (uint32), the number of entries (int32), and of each
producer: id (int64), epoch (int16), its last sequence number (int32), that record's offset (int64),
how many records before it the batch began (int32), time (int64), the coordinator's epoch (int32)
and where a transaction began (int64); -1 is none.

Kafka keeps one batch of a producer there, and so knows one again after a start. Here up to five
entries in a row tell of one producer, the newest last: whoever reads them one by one, as Kafka
does, keeps that, and here all are known again.
"""

from struct import Struct, error

import crc32c

from node.ids import Offset
from node.storage.producers import SEQUENCES, Known, KnownProducers

SNAPSHOT = ".snapshot"
_DIGITS = 20
_VERSION = 1
_HEAD, _COUNT = Struct(">hI"), Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_NOTHING = (-1, -1)  # of the coordinator of transactions


def snapshot_name(offset: Offset) -> str:
    return f"{offset:0{_DIGITS}d}{SNAPSHOT}"


def parse_snapshot_name(name: str) -> Offset | None:
    """The offset that a file name tells, or None if it is no snapshot's."""
    digits = name.removesuffix(SNAPSHOT)
    is_one = len(digits) == _DIGITS and digits.isascii() and digits.isdecimal() and name != digits
    return Offset(int(digits)) if is_one else None


def encode_producers(producers: KnownProducers) -> bytes:
    rows = []
    for id_, known in producers:
        for each in known.batches:
            delta = each.end - each.base - 1
            last = (each.last, each.end - 1, delta, each.time_ms)
            rows.append(_ENTRY.pack(id_, known.epoch, *last, *_NOTHING))
        if not known.batches:
            rows.append(_ENTRY.pack(id_, known.epoch, -1, -1, 0, known.time_ms, *_NOTHING))
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c.crc32c(body)) + body


def decode_producers(data: bytes) -> KnownProducers:
    """Raises ValueError on what nobody has written so."""
    try:
        version, crc = _HEAD.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
    except error as short:
        raise ValueError(f"{len(data)} bytes are no snapshot of producers") from short
    body = data[_HEAD.size :]
    if version != _VERSION:
        raise ValueError(f"version {version} of a snapshot of producers")
    if (found := crc32c.crc32c(body)) != crc:
        raise ValueError(f"CRC-32C is {found:08x}, and the snapshot says {crc:08x}")
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise ValueError(f"{count} producers in {len(body)} bytes")
    producers = KnownProducers()
    for row in _ENTRY.iter_unpack(body[_COUNT.size :]):
        id_, epoch, last, offset, delta, time_ms, *_ = row
        batch = None
        if offset >= 0:
            batch = Known(
                first=(last - delta) % SEQUENCES,
                last=last,
                base=Offset(offset - delta),
                end=Offset(offset + 1),
                time_ms=time_ms,
            )
        producers.restored(id_, epoch, time_ms, batch)
    return producers
