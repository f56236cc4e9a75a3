"""IncrementalAlterConfigs (KIP-339), AlterConfigs 0-2, which came before it and is still used, and
DescribeConfigs: what controllers alone can be asked."""

from types import SimpleNamespace
from typing import Any

from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.config_messages import AlterConfigsRequest as AlterConfigsRequest
from node.wire.config_messages import AlterConfigsResponse as AlterConfigsResponse
from node.wire.config_messages import ConfigChange as ConfigChange
from node.wire.config_messages import ConfigEntry as ConfigEntry
from node.wire.config_messages import ConfigSource as ConfigSource
from node.wire.config_messages import ConfigType as ConfigType
from node.wire.config_messages import DescribeConfigsRequest as DescribeConfigsRequest
from node.wire.config_messages import DescribeConfigsResponse as DescribeConfigsResponse
from node.wire.config_messages import ReplaceConfigsRequest as ReplaceConfigsRequest
from node.wire.config_messages import ResourceChange as ResourceChange
from node.wire.config_messages import ResourceDescription as ResourceDescription
from node.wire.config_messages import ResourceQuery as ResourceQuery
from node.wire.config_messages import ResourceResult as ResourceResult
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.packed_configs import pack_altered, pack_described, unpack_alter

SET = 0  # the operation of a change that gives a value


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
    return kio.IncrementalAlterConfigsResponse(
        throttle_time=NO_THROTTLE, responses=_altered_resources(message, kio)
    )


def _altered_resources(message: AlterConfigsResponse, kio: SimpleNamespace) -> tuple[Any, ...]:
    return tuple(
        kio.AlterConfigsResourceResponse(
            error_code=r.error,
            error_message=r.message,
            resource_type=r.type,
            resource_name=r.name,
        )
        for r in message.results
    )


def _read_replace(entity: Any) -> ReplaceConfigsRequest:
    resources = tuple(
        ResourceChange(
            type=resource.resource_type,
            name=resource.resource_name,
            changes=tuple(
                ConfigChange(name=c.name, operation=SET, value=c.value) for c in resource.configs
            ),
        )
        for resource in entity.resources
    )
    return ReplaceConfigsRequest(resources=resources, validate_only=entity.validate_only)


def _write_replace(message: ReplaceConfigsRequest, kio: SimpleNamespace) -> Any:
    resources = tuple(
        kio.AlterConfigsResource(
            resource_type=resource.type,
            resource_name=resource.name,
            configs=tuple(
                kio.AlterableConfig(name=c.name, value=c.value) for c in resource.changes
            ),
        )
        for resource in message.resources
    )
    return kio.AlterConfigsRequest(resources=resources, validate_only=message.validate_only)


def _write_replace_response(message: AlterConfigsResponse, kio: SimpleNamespace) -> Any:
    return kio.AlterConfigsResponse(
        throttle_time=NO_THROTTLE, responses=_altered_resources(message, kio)
    )


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
    unpack_request=unpack_alter,
    write_request=_write_alter,
    read_response=_read_alter_response,
    write_response=_write_alter_response,
    pack_response=pack_altered,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
ALTER_CONFIGS = Api(
    key=33,
    name="AlterConfigs",
    package="alter_configs",
    min_version=0,
    max_version=2,
    request=ReplaceConfigsRequest,
    read_request=_read_replace,
    write_request=_write_replace,
    read_response=_read_alter_response,
    write_response=_write_replace_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
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
    pack_response=pack_described,
    most=MAX_NAMED_ELEMENTS,
    most_told=2 * MAX_PARTITION_ELEMENTS,
)
