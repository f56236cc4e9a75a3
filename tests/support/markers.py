"""Control batches, by which a log knows that a transaction ended (KIP-98)."""

import struct

from crc32c import crc32c

from workloads.wire.batch import Identity, keyed_batch

ABORT, COMMIT = 0, 1
_CRC_AT, _ATTRIBUTES_AT = 17, 21
_CONTROL = 0x20


def marker(offset: int, producer: int, how: int) -> bytes:
    """`how`: `ABORT` or `COMMIT`."""
    key, value = struct.pack(">hh", 0, how), struct.pack(">hi", 0, 1)
    identity = Identity(producer_id=producer, epoch=0, sequence=-1, transactional=True)
    batch = bytearray(keyed_batch((key, value), identity=identity))
    batch[_ATTRIBUTES_AT + 1] |= _CONTROL
    checked = crc32c(bytes(batch[_ATTRIBUTES_AT:]))
    batch[_CRC_AT:_ATTRIBUTES_AT] = struct.pack(">I", checked)
    return struct.pack(">q", offset) + bytes(batch[8:])
