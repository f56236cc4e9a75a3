"""UpdateFeatures of one feature (KIP-584): finalizes another level."""

import struct

from workloads.wire.flexible import MessageReader, array, string

_TIMEOUT = struct.Struct(">i")
_LEVEL = struct.Struct(">hb")
_UPGRADE, _SAFE_DOWNGRADE = 1, 2
_NO_TAGS = b"\x00"


def update_feature(name: str, level: int, *, timeout_ms: int) -> bytes:
    """Body of an UpdateFeatures; level 0 removes the feature, which is a downgrade."""
    kind = _UPGRADE if level else _SAFE_DOWNGRADE
    requested = string(name) + _LEVEL.pack(level, kind) + _NO_TAGS
    return _TIMEOUT.pack(timeout_ms) + array([requested]) + b"\x00" + _NO_TAGS  # not validate only


def read_updated(body: bytes) -> int:
    """The error code of the feature, or of the whole request. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    errors = [reader.int16()]
    reader.string()  # error message
    for _ in range(reader.count()):
        reader.name()
        errors.append(reader.int16())
        reader.string()
        reader.tags()
    reader.end()
    return next((error for error in errors if error), 0)
