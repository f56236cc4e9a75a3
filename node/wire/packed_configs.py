"""Configs, as clients alter them one by one and look at them again: without kio's classes.

What is packed has the bytes that those write, and what is unpacked is what they read. Only what is
short, in the newest version and without an error is; all else goes by them.
"""

from collections.abc import Sequence
from struct import Struct

from node.wire.config_messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ConfigEntry,
    DescribeConfigsResponse,
    ResourceChange,
    ResourceDescription,
    ResourceResult,
)

_ALTER_VERSION, _DESCRIBE_VERSION = 1, 4
_SHORT = 0x7E  # bytes, or elements, whose number and one more takes a byte
_ONE = 2  # element, as a compact array says it
_SIGN = 0x80
_NULL = _NO_TAGS = b"\0"
_NOT_THROTTLED = bytes(4)
_OF_RESOURCE = Struct(">hBb")  # its error, that there is no message, its type
# Behind a value: not read-only, its source, not sensitive, no synonyms, its type, not documented,
# no tags.
_OF_ENTRY = Struct(">BbBBbBB")


class _OtherShapeError(Exception):
    """It is not short."""


def pack_altered(message: AlterConfigsResponse, version: int) -> bytes | None:
    """All went well, or was refused without a word."""
    if version != _ALTER_VERSION:
        return None
    try:
        return _packed([_told(result) for result in message.results])
    except _OtherShapeError:
        return None


def pack_described(message: DescribeConfigsResponse, version: int) -> bytes | None:
    if version != _DESCRIBE_VERSION:
        return None
    try:
        return _packed([_told(result) + _entries(result) for result in message.results])
    except _OtherShapeError:
        return None


def _packed(results: Sequence[bytes]) -> bytes:
    return b"".join(
        (_NOT_THROTTLED, _count(results), *[each + _NO_TAGS for each in results], _NO_TAGS)
    )


def _told(result: ResourceResult | ResourceDescription) -> bytes:
    if result.message is not None:
        raise _OtherShapeError
    return _OF_RESOURCE.pack(result.error, 0, result.type) + _text(result.name)


def _entries(result: ResourceDescription) -> bytes:
    return _count(result.entries) + b"".join([_entry(entry) for entry in result.entries])


def _entry(entry: ConfigEntry) -> bytes:
    value = _NULL if entry.value is None else _text(entry.value)
    return _text(entry.name) + value + _OF_ENTRY.pack(0, entry.source, 0, 1, entry.type, 0, 0)


def _text(text: str) -> bytes:
    raw = text.encode()
    return _count(raw) + raw


def _count(elements: Sequence[object]) -> bytes:
    if len(elements) > _SHORT:
        raise _OtherShapeError
    return bytes((len(elements) + 1,))


def unpack_alter(frame: bytes, at: int, version: int) -> AlterConfigsRequest | None:
    """One resource; None: there are others, or its bytes are something else."""
    if version != _ALTER_VERSION:
        return None
    try:
        return _alter(frame, at)
    except (IndexError, UnicodeDecodeError, _OtherShapeError):
        return None


def _alter(frame: bytes, at: int) -> AlterConfigsRequest:
    count, type_ = frame[at], frame[at + 1]
    name, at = _read_text(frame, at + 2)
    changes, at = _read_changes(frame, at)
    tags, validate_only, end_tags = frame[at], frame[at + 1], frame[at + 2]
    is_other = count != _ONE or type_ >= _SIGN or tags or validate_only > 1 or end_tags
    if is_other or at + 3 != len(frame):
        raise _OtherShapeError
    resource = ResourceChange(type=type_, name=name, changes=changes)
    return AlterConfigsRequest(resources=(resource,), validate_only=bool(validate_only))


def _read_changes(frame: bytes, at: int) -> tuple[tuple[ConfigChange, ...], int]:
    changes = []
    count, at = frame[at], at + 1
    if not 0 < count <= _SHORT:
        raise _OtherShapeError
    for _ in range(count - 1):
        name, at = _read_text(frame, at)
        operation = frame[at]
        if frame[at + 1]:
            value, at = _read_text(frame, at + 1)
        else:
            value, at = None, at + 2
        if operation >= _SIGN or frame[at]:
            raise _OtherShapeError
        at += 1
        changes.append(ConfigChange(name=name, operation=operation, value=value))
    return tuple(changes), at


def _read_text(frame: bytes, at: int) -> tuple[str, int]:
    """A short one, and where it ends. What is cut off here is missed behind it."""
    size = frame[at]
    if not 0 < size <= _SHORT:
        raise _OtherShapeError
    end = at + size
    return frame[at + 1 : end].decode(), end
