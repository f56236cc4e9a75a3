"""A TCP stream to frames: four bytes of size, then that many of content."""

from struct import Struct

from node import limits

SIZE = Struct(">i")
_SIZE_BYTES = SIZE.size


class FrameSizeRefused(ValueError):
    """A size that no frame has: what comes is no Kafka, and cannot be cut any further."""


class FrameCutter:
    """Holds what is not a whole frame yet."""

    def __init__(self, max_bytes: int = limits.MAX_FRAME_BYTES) -> None:
        self.held_bytes = 0
        self._max_bytes = max_bytes
        self._rest = bytearray()

    def cut(self, data: bytes) -> list[bytes]:
        """The frames that are complete with `data`. Raises FrameSizeRefused."""
        size = len(data) - _SIZE_BYTES
        if not self._rest and 0 < size <= self._max_bytes and SIZE.unpack_from(data)[0] == size:
            return [data[_SIZE_BYTES:]]  # as a rule: one, and nothing else
        self._rest += data
        self.held_bytes = len(self._rest)
        frames = []
        at = 0
        while len(self._rest) - at >= _SIZE_BYTES:
            (size,) = SIZE.unpack_from(self._rest, at)
            if not 0 < size <= self._max_bytes:
                raise FrameSizeRefused(f"a frame of {size} bytes")
            end = at + _SIZE_BYTES + size
            if end > len(self._rest):
                break
            frames.append(bytes(self._rest[at + _SIZE_BYTES : end]))
            at = end
        del self._rest[:at]
        self.held_bytes = len(self._rest)
        return frames


def with_size(frame: bytes) -> bytes:
    return SIZE.pack(len(frame)) + frame
