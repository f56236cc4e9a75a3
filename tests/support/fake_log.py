"""A partition of a fake broker, and what becomes of what is sent to it."""

import struct
from dataclasses import dataclass, field
from enum import Enum, auto

from crc32c import crc32c
from kio.schema.errors import ErrorCode

_HEADER = struct.Struct(">qiibIhiqqqhii")


class Ending(Enum):
    """How a Produce is answered."""

    ANSWER = auto()
    SILENCE = auto()
    CLOSE = auto()
    GARBAGE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of one Produce."""

    appends: bool = True
    error: ErrorCode = ErrorCode.none
    tells_offset: bool = True
    ending: Ending = Ending.ANSWER


FINE = Fate()


@dataclass(slots=True)
class FakeLog:
    """A partition: its batches, as a leader keeps them."""

    leader: int
    epoch: int = 0
    start: int = 0
    batches: list[bytes] = field(default_factory=list)
    sequences: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        if not self.batches:
            return self.start
        header = _HEADER.unpack_from(self.batches[-1])
        return int(header[0] + header[6] + 1)

    def append(self, batch: bytes) -> int:
        """Its base offset; that of the first time if its producer sent it before."""
        header = _HEADER.unpack_from(batch)
        producer_id, sequence, base = header[9], header[11], self.end
        if producer_id >= 0 and (producer_id, sequence) in self.sequences:
            return self.sequences[producer_id, sequence]
        if producer_id >= 0:
            self.sequences[producer_id, sequence] = base
        head = struct.pack(">q", base) + batch[8:12] + struct.pack(">i", self.epoch)
        self.batches.append(head + batch[16:])
        return base

    def read(self, offset: int, most_bytes: int) -> bytes:
        data = b""
        for batch in self.batches:
            header = _HEADER.unpack_from(batch)
            if header[0] + header[6] >= offset and (not data or len(data) < most_bytes):
                data += batch
        return data[: max(most_bytes, len(self.batches[0]))] if data else data

    def damage(self, index: int) -> None:
        """Another byte at the end of a batch's last record, under a CRC that is right again."""
        batch = self.batches[index]
        rotten = batch[:-2] + bytes((batch[-2] ^ 1,)) + batch[-1:]
        crc = struct.pack(">I", crc32c(rotten[21:]))
        self.batches[index] = rotten[:17] + crc + rotten[21:]
