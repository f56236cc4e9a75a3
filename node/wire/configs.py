"""IncrementalAlterConfigs (KIP-339) and DescribeConfigs: what controllers alone can be asked."""

from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


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


def _read_alter(entity: Any) -> AlterConfigsRequest:
    resources = tuple(
        ResourceChange(
            type=resource.resource_type,
            name=resource.resource_name,
            changes=tuple(
                ConfigChange(name=c.name, operation=c.config_operation, value=c.value)
                for c in resource.configs
            ),
        )
        for resource in entity.resources
    )
    return AlterConfigsRequest(resources=resources, validate_only=entity.validate_only)


def _write_alter(message: AlterConfigsRequest, kio: SimpleNamespace) -> Any:
    resources = tuple(
        kio.AlterConfigsResource(
            resource_type=resource.type,
            resource_name=resource.name,
            configs=tuple(
                kio.AlterableConfig(name=c.name, config_operation=c.operation, value=c.value)
                for c in resource.changes
            ),
        )
        for resource in message.resources
    )
    return kio.IncrementalAlterConfigsRequest(
        resources=resources, validate_only=message.validate_only
    )


def _read_alter_response(entity: Any) -> AlterConfigsResponse:
    results = tuple(
        ResourceResult(
            type=r.resource_type,
            name=r.resource_name,
            error=our_error(r.error_code),
            message=r.error_message,
        )
        for r in entity.responses
    )
    return AlterConfigsResponse(results=results)


def _write_alter_response(message: AlterConfigsResponse, kio: SimpleNamespace) -> Any:
    responses = tuple(
        kio.AlterConfigsResourceResponse(
            error_code=r.error,
            error_message=r.message,
            resource_type=r.type,
            resource_name=r.name,
        )
        for r in message.results
    )
    return kio.IncrementalAlterConfigsResponse(throttle_time=NO_THROTTLE, responses=responses)


def _read_describe(entity: Any) -> DescribeConfigsRequest:
    resources = tuple(
        ResourceQuery(type=r.resource_type, name=r.resource_name, keys=r.configuration_keys)
        for r in entity.resources
    )
    return DescribeConfigsRequest(resources=resources)


def _write_describe(message: DescribeConfigsRequest, kio: SimpleNamespace) -> Any:
    resources = tuple(
        kio.DescribeConfigsResource(
            resource_type=r.type, resource_name=r.name, configuration_keys=r.keys
        )
        for r in message.resources
    )
    return kio.DescribeConfigsRequest(resources=resources)


def _read_describe_response(entity: Any) -> DescribeConfigsResponse:
    results = tuple(
        ResourceDescription(
            type=r.resource_type,
            name=r.resource_name,
            error=our_error(r.error_code),
            message=r.error_message,
            entries=tuple(
                ConfigEntry(
                    name=c.name,
                    value=c.value,
                    source=ConfigSource(c.config_source),
                    type=ConfigType(getattr(c, "config_type", ConfigType.UNKNOWN)),
                )
                for c in r.configs
            ),
        )
        for r in entity.results
    )
    return DescribeConfigsResponse(results=results)


def _write_describe_response(message: DescribeConfigsResponse, kio: SimpleNamespace) -> Any:
    results = tuple(
        kio.DescribeConfigsResult(
            error_code=r.error,
            error_message=r.message,
            resource_type=r.type,
            resource_name=r.name,
            configs=tuple(_entry(entry, kio) for entry in r.entries),
        )
        for r in message.results
    )
    return kio.DescribeConfigsResponse(throttle_time=NO_THROTTLE, results=results)


def _entry(entry: ConfigEntry, kio: SimpleNamespace) -> Any:
    return kio.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=False,
        config_source=entry.source,
        is_sensitive=False,
        synonyms=(),
        config_type=entry.type,
        documentation=None,
    )


INCREMENTAL_ALTER_CONFIGS = Api(
    key=44,
    name="IncrementalAlterConfigs",
    package="incremental_alter_configs",
    min_version=0,
    max_version=1,
    request=AlterConfigsRequest,
    read_request=_read_alter,
    write_request=_write_alter,
    read_response=_read_alter_response,
    write_response=_write_alter_response,
)
DESCRIBE_CONFIGS = Api(
    key=32,
    name="DescribeConfigs",
    package="describe_configs",
    min_version=1,
    max_version=4,
    request=DescribeConfigsRequest,
    read_request=_read_describe,
    write_request=_write_describe,
    read_response=_read_describe_response,
    write_response=_write_describe_response,
)
