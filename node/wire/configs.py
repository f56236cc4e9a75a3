"""Configs: IncrementalAlterConfigs (KIP-339), the older AlterConfigs 0-2, which is still used, and
DescribeConfigs.
"""

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct
from typing import Annotated

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES_AND_MORE, PARTITIONS, Api
from node.wire.declared import Error, Kio, Message

SET = 0  # the operation of a change that sets a value

# The messages of any version.


class ConfigSource(IntEnum):
    """The source of a value, as the protocol numbers it
    (`DescribeConfigsResponse.ConfigSource`).
    """

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3  # for all brokers
    STARTED_WITH = 4
    DEFAULT = 5
    METRICS = 7

    @classmethod
    def _missing_(cls, _: object) -> "ConfigSource":
        """Newer than this node, or invalid, in a peer's answer."""
        return cls.UNKNOWN


class ConfigType(IntEnum):
    """The type of a value (KIP-569); from version 3 on."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def _missing_(cls, _: object) -> "ConfigType":
        """Newer than this node, or invalid, in a peer's answer."""
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """One operation of IncrementalAlterConfigs. 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT."""

    name: str
    operation: Annotated[int, Kio("config_operation", absent=SET)]
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    type: Annotated[int, "resource_type"]
    name: Annotated[str, "resource_name"]
    changes: Annotated[tuple[ConfigChange, ...], "configs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest:
    resources: tuple[ResourceChange, ...]
    validate_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceConfigsRequest:
    """Each change sets a value; the resource's other values are removed."""

    resources: tuple[ResourceChange, ...]
    validate_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResult:
    type: Annotated[int, "resource_type"]
    name: Annotated[str, "resource_name"]
    error: Error = ErrorCode.NONE
    message: Message = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResponse:
    results: Annotated[tuple[ResourceResult, ...], "responses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuery:
    """`keys=None` asks for every key."""

    type: Annotated[int, "resource_type"]
    name: Annotated[str, "resource_name"]
    keys: Annotated[tuple[str, ...] | None, "configuration_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest:
    resources: tuple[ResourceQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    name: str
    value: str | None
    source: Annotated[ConfigSource, "config_source"]
    type: Annotated[ConfigType, "config_type"] = ConfigType.UNKNOWN

    @property
    def is_default(self) -> bool:
        """The value is the schema's default, which no config overrides."""
        return self.source is ConfigSource.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescription:
    type: Annotated[int, "resource_type"]
    name: Annotated[str, "resource_name"]
    error: Error = ErrorCode.NONE
    message: Message = None
    entries: Annotated[tuple[ConfigEntry, ...], "configs"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResponse:
    results: tuple[ResourceDescription, ...]


# The fast path, without kio's classes, for configs that clients alter one by one and read again.
#
# What is packed has the bytes that kio writes, and what is unpacked is what kio reads. Only short
# messages in the newest version and without an error take this path.


_ALTER_VERSION, _DESCRIBE_VERSION = 1, 4
_SHORT = 0x7E  # the largest number of bytes, or elements, that takes one byte
_ONE = 2  # one element, as a compact array's length
_SIGN = 0x80
_NULL = _NO_TAGS = b"\0"
_NOT_THROTTLED = bytes(4)
_OF_RESOURCE = Struct(">hBb")  # its error, that there is no message, its type
# Behind a value: not read-only, its source, not sensitive, no synonyms, its type, not documented,
# no tags.
_OF_ENTRY = Struct(">BbBBbBB")


class _OtherShapeError(Exception):
    """The message is not a short one."""


def pack_altered(message: AlterConfigsResponse, version: int) -> bytes | None:
    """All went well, or was refused without a message."""
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
    return _count(result.entries) + b"".join([_packed_entry(entry) for entry in result.entries])


def _packed_entry(entry: ConfigEntry) -> bytes:
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
    """One resource; None: there are several, or the bytes are something else."""
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
    """A short text, and where it ends. A text that is cut off here fails in what follows."""
    size = frame[at]
    if not 0 < size <= _SHORT:
        raise _OtherShapeError
    end = at + size
    return frame[at + 1 : end].decode(), end


INCREMENTAL_ALTER_CONFIGS = Api(
    44,
    "IncrementalAlterConfigs",
    0,
    1,
    AlterConfigsRequest,
    AlterConfigsResponse,
    unpack_request=unpack_alter,
    pack_response=pack_altered,
    size=PARTITIONS,
)
ALTER_CONFIGS = Api(
    33, "AlterConfigs", 0, 2, ReplaceConfigsRequest, AlterConfigsResponse, size=PARTITIONS
)
DESCRIBE_CONFIGS = Api(
    32,
    "DescribeConfigs",
    1,
    4,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    pack_response=pack_described,
    size=NAMES_AND_MORE,
)
