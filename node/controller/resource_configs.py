"""The configuration of CLIENT_METRICS resources: all that a quorum without brokers can alter.

Rules of Kafka's `ConfigurationControlManager`. A resource is altered whole or not at all; one that
is refused does not keep others of the same request from succeeding. What a request has too much of
(`node.limits`) refuses it whole.
"""

from collections import Counter
from collections.abc import Sequence

from node import limits
from node.controller.client_metrics import DEFINITIONS, Definition, items
from node.controller.image import Image
from node.errors import ErrorCode
from node.records.metadata import ConfigRecord
from node.wire.configs import (
    ConfigChange,
    ConfigEntry,
    ResourceChange,
    ResourceDescription,
    ResourceQuery,
    ResourceResult,
)

CLIENT_METRICS = 16
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class RefusedError(Exception):
    """A resource cannot be altered or described as asked; becomes its result."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message[: limits.MAX_MESSAGE_CHARACTERS]


# --- whole requests ---


def alter_all(
    image: Image, changes: Sequence[ResourceChange]
) -> tuple[list[ConfigRecord], tuple[ResourceResult, ...]]:
    """The records that alter what can be altered, and a result for each resource."""
    try:
        _check_amount(image, changes)
    except RefusedError as refused:
        return [], refuse_alteration(changes, refused.error, refused.message)
    records: list[ConfigRecord] = []
    results: list[ResourceResult] = []
    seen: set[tuple[int, str]] = set()
    for change in changes:
        if (change.type, change.name) in seen:
            repeated = "Each resource must appear at most once."
            results += refuse_alteration([change], ErrorCode.INVALID_REQUEST, repeated)
            continue
        seen.add((change.type, change.name))
        decided, result = alter(image, change)
        records += decided
        results.append(result)
    return records, tuple(results)


def refuse_alteration(
    changes: Sequence[ResourceChange], error: ErrorCode, message: str
) -> tuple[ResourceResult, ...]:
    return tuple(
        ResourceResult(type=change.type, name=change.name, error=error, message=message)
        for change in changes
    )


def describe_all(image: Image, queries: Sequence[ResourceQuery]) -> tuple[ResourceDescription, ...]:
    """A result for each resource; once the answer is full, that there is no more room in it."""
    results: list[ResourceDescription] = []
    left = limits.MAX_DESCRIBED_CHARACTERS
    for query in queries:
        if left <= 0:
            full = "The answer has no room for this resource; ask for it alone."
            results += refuse_description([query], ErrorCode.MESSAGE_TOO_LARGE, full)
            continue
        results.append(describe(image, query))
        left -= sum(len(entry.value or "") for entry in results[-1].entries)
    return tuple(results)


def refuse_description(
    queries: Sequence[ResourceQuery], error: ErrorCode, message: str
) -> tuple[ResourceDescription, ...]:
    return tuple(
        ResourceDescription(type=query.type, name=query.name, error=error, message=message)
        for query in queries
    )


def _check_amount(image: Image, resources: Sequence[ResourceChange]) -> None:
    """Raises RefusedError where to decide would take long, or more than a batch would be written.

    Counted is all that has to be read: appending to a long list takes as long as writing it.
    """
    changes = [(each, change) for each in resources for change in each.changes]
    current = sum(
        len(image.config((each.type, each.name)).get(change.name, "")) for each, change in changes
    )
    if current + sum(len(change.value or "") for _, change in changes) > limits.MAX_BATCH_BYTES:
        raise RefusedError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The values altered by one request have more than {limits.MAX_BATCH_BYTES} bytes.",
        )
    patterns = sum(len(change.value or "") for _, change in changes if change.name == "match")
    if patterns > limits.MAX_PATTERN_CHARACTERS_PER_USER_OP:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"The patterns of one request have more than "
            f"{limits.MAX_PATTERN_CHARACTERS_PER_USER_OP} characters.",
        )


# --- one resource ---


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
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {repeated[0]}"
            )
        entries = image.config((change.type, change.name))
        records = [_record(change, entry, entries.get(entry.name)) for entry in change.changes]
    except RefusedError as refused:
        return [], ResourceResult(
            type=change.type, name=change.name, error=refused.error, message=refused.message
        )
    return records, ResourceResult(type=change.type, name=change.name)


def describe(image: Image, query: ResourceQuery) -> ResourceDescription:
    """Every key of the schema, or those asked for, with what is set or the default."""
    try:
        _check_resource(query.type, query.name)
    except RefusedError as refused:
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
            for name, definition in DEFINITIONS.items()
            if query.keys is None or name in query.keys
        ),
    )


def _check_resource(resource_type: int, name: str) -> None:
    if resource_type != CLIENT_METRICS:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Resource type {resource_type} cannot be configured here: no broker is registered, "
            f"only CLIENT_METRICS ({CLIENT_METRICS}) is known.",
        )
    if not name:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    if _is_too_long(name):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Subscription name has more than {limits.MAX_STRING_BYTES} bytes",
        )


def _record(resource: ResourceChange, change: ConfigChange, current: str | None) -> ConfigRecord:
    definition = DEFINITIONS.get(change.name)
    if definition is None:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG, f"Unknown client metrics configuration: {change.name}"
        )
    value = _new_value(change, definition, current)
    if value is not None and _is_too_long(value):
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"The value of {change.name} would have more than {limits.MAX_STRING_BYTES} bytes",
        )
    return ConfigRecord(
        resource_type=resource.type, resource_name=resource.name, name=change.name, value=value
    )


def _is_too_long(text: str) -> bool:
    return len(text.encode()) > limits.MAX_STRING_BYTES


def _new_value(change: ConfigChange, definition: Definition, current: str | None) -> str | None:
    """What the change makes of the value: None deletes it. What was there is sound already."""
    if change.operation == _DELETE:
        return None
    if change.operation not in (_SET, _APPEND, _SUBTRACT):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"Unknown config operation {change.operation}"
        )
    if change.value is None:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Null value not supported for {change.name}")
    if change.operation != _SET and not definition.is_list:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"Can't append to or subtract from key {change.name} because its type is not LIST.",
        )
    fault = None if change.operation == _SUBTRACT else definition.fault(change.value)
    if fault is not None:
        raise RefusedError(ErrorCode.INVALID_CONFIG, fault)
    if change.operation == _SET:
        return change.value
    old = items(definition.default if current is None else current)
    given = dict.fromkeys(items(change.value))
    if change.operation == _SUBTRACT:
        return ",".join(item for item in old if item not in given)
    known = frozenset(old)
    return ",".join([*old, *(item for item in given if item not in known)])
