"""The configuration of CLIENT_METRICS resources: all that a quorum without brokers can alter.

Rules of Kafka's `ClientMetricsConfigs` and `ConfigurationControlManager`. A resource is altered
whole or not at all; one that is refused does not keep others of the same request from succeeding.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from node.controller.image import Image
from node.errors import ErrorCode
from node.messages import (
    ConfigChange,
    ConfigEntry,
    ResourceChange,
    ResourceDescription,
    ResourceQuery,
    ResourceResult,
)
from node.records.metadata import ConfigRecord

CLIENT_METRICS = 16
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_INTERVAL_MS = range(100, 3_600_001)
_MATCH_KEYS = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """A key of the schema. `fault` says what is wrong with a value, if anything."""

    default: str
    is_list: bool
    fault: Callable[[str], str | None]


class _RefusedError(Exception):
    """A resource cannot be altered as asked; becomes its result."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def _interval_fault(value: str) -> str | None:
    if re.fullmatch(r"\s*[+-]?[0-9]{1,10}\s*", value, re.ASCII) is None:
        return f"Invalid value {value} for configuration interval.ms: Not a number of type INT"
    if int(value) not in _INTERVAL_MS:
        return (
            f"Invalid value {value} for interval.ms, interval must be between "
            f"{_INTERVAL_MS.start} and {_INTERVAL_MS.stop - 1}"
        )
    return None


def _match_fault(value: str) -> str | None:
    for pattern in _items(value):
        key, equals, expression = pattern.partition("=")
        if not equals or key.strip() not in _MATCH_KEYS:
            return f"Illegal client matching pattern: {pattern}"
        try:
            re.compile(expression.strip())
        except re.error:
            return f"Illegal client matching pattern: {pattern}"
    return None


def _no_fault(_value: str) -> None:
    return None


_DEFINITIONS = {
    "interval.ms": _Definition(default="300000", is_list=False, fault=_interval_fault),
    "match": _Definition(default="", is_list=True, fault=_match_fault),
    "metrics": _Definition(default="", is_list=True, fault=_no_fault),
}


def alter(image: Image, change: ResourceChange) -> tuple[list[ConfigRecord], ResourceResult]:
    """The records that alter one resource, given the state they will apply to; none if refused."""
    try:
        _check_resource(change.type, change.name)
        repeated = [
            name
            for name, count in Counter(entry.name for entry in change.changes).items()
            if count > 1
        ]
        if repeated:
            raise _RefusedError(
                ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {repeated[0]}"
            )
        entries = image.config((change.type, change.name))
        records = [_record(change, entry, entries.get(entry.name)) for entry in change.changes]
    except _RefusedError as refused:
        return [], ResourceResult(
            type=change.type, name=change.name, error=refused.error, message=refused.message
        )
    return records, ResourceResult(type=change.type, name=change.name)


def describe(image: Image, query: ResourceQuery) -> ResourceDescription:
    """Every key of the schema, or those asked for, with what is set or the default."""
    try:
        _check_resource(query.type, query.name)
    except _RefusedError as refused:
        return ResourceDescription(
            type=query.type, name=query.name, error=refused.error, message=refused.message
        )
    entries = image.config((query.type, query.name))
    return ResourceDescription(
        type=query.type,
        name=query.name,
        entries=tuple(
            ConfigEntry(
                name=name,
                value=entries.get(name, definition.default),
                is_default=name not in entries,
            )
            for name, definition in _DEFINITIONS.items()
            if query.keys is None or name in query.keys
        ),
    )


def _check_resource(resource_type: int, name: str) -> None:
    if resource_type != CLIENT_METRICS:
        raise _RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Resource type {resource_type} cannot be configured here: no broker is registered, "
            f"only CLIENT_METRICS ({CLIENT_METRICS}) is known.",
        )
    if not name:
        raise _RefusedError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")


def _record(resource: ResourceChange, change: ConfigChange, current: str | None) -> ConfigRecord:
    definition = _DEFINITIONS.get(change.name)
    if definition is None:
        raise _RefusedError(
            ErrorCode.INVALID_CONFIG, f"Unknown client metrics configuration: {change.name}"
        )
    value = _new_value(change, definition, current)
    fault = None if value is None else definition.fault(value)
    if fault is not None:
        raise _RefusedError(ErrorCode.INVALID_CONFIG, fault)
    return ConfigRecord(
        resource_type=resource.type, resource_name=resource.name, name=change.name, value=value
    )


def _new_value(change: ConfigChange, definition: _Definition, current: str | None) -> str | None:
    if change.operation == _DELETE:
        return None
    if change.operation not in (_SET, _APPEND, _SUBTRACT):
        raise _RefusedError(
            ErrorCode.INVALID_REQUEST, f"Unknown config operation {change.operation}"
        )
    if change.value is None:
        raise _RefusedError(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for {change.name}"
        )
    if change.operation == _SET:
        return change.value
    if not definition.is_list:
        raise _RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"Can't append to or subtract from key {change.name} because its type is not LIST.",
        )
    old = _items(definition.default if current is None else current)
    given = _items(change.value)
    if change.operation == _APPEND:
        return ",".join([*old, *(item for item in given if item not in old)])
    return ",".join([item for item in old if item not in given])


def _items(value: str) -> list[str]:
    """A LIST's elements."""
    return [item.strip() for item in value.split(",") if item.strip()]
