"""IncrementalAlterConfigs and DescribeConfigs, whatever the version."""

from enum import IntEnum

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass


class ConfigSource(IntEnum):
    """Who said a value, as the protocol numbers it (`DescribeConfigsResponse.ConfigSource`)."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3  # for all brokers
    STARTED_WITH = 4
    DEFAULT = 5
    METRICS = 7

    @classmethod
    def _missing_(cls, _: object) -> "ConfigSource":
        """Newer than this node, or nonsense, in somebody's answer."""
        return cls.UNKNOWN


class ConfigType(IntEnum):
    """What a value is (KIP-569); told from version 3 on."""

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
        """Newer than this node, or nonsense, in somebody's answer."""
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """One operation of IncrementalAlterConfigs. 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT."""

    name: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    type: int
    name: str
    changes: tuple[ConfigChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest:
    resources: tuple[ResourceChange, ...]
    validate_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceConfigsRequest:
    """Each change sets a value, and what a resource has beside is to go."""

    resources: tuple[ResourceChange, ...]
    validate_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResult:
    type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResponse:
    results: tuple[ResourceResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuery:
    """`keys=None` asks for every key."""

    type: int
    name: str
    keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest:
    resources: tuple[ResourceQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType = ConfigType.UNKNOWN

    @property
    def is_default(self) -> bool:
        """Nobody set it; the value is what the schema says."""
        return self.source is ConfigSource.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescription:
    type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    entries: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResponse:
    results: tuple[ResourceDescription, ...]
