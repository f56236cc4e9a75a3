"""Configuration of topics, brokers and CLIENT_METRICS resources: altering and describing.

Brokers validate broker configurations before they forward them; the schemas of topics and metrics
are known here. Changing min.insync.replicas drops the ELRs of partitions with an ISR large enough
(KIP-966; Kafka drops all of them, and acknowledged records are lost where it was raised); and with
eligible leader replicas it is set for the whole cluster, and for no broker.

Rules of Kafka's `ConfigurationControlManager`. A resource is altered as a whole or not at all; a
refused one does not keep others of the same request from succeeding. A request above a limit of
`node.limits` is refused as a whole.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from node import limits
from node.config import Own
from node.controller import config_definitions
from node.controller.config_definitions import (
    KEYS_OF_NODES,
    METRICS_DEFINITIONS,
    TOPIC_DEFINITIONS,
    Definition,
    definitions_of,
    items,
    no_fault,
)
from node.controller.decision import MIN_ISR, RefusedError
from node.controller.image import Image
from node.controller.image.configurations import BROKER, CLUSTER, TOPIC
from node.controller.image.topics import is_legal
from node.errors import ErrorCode
from node.records.metadata import ConfigRecord, PartitionChangeRecord, is_too_long
from node.wire.configs import (
    ConfigChange,
    ConfigEntry,
    ConfigSource,
    ConfigType,
    ResourceChange,
    ResourceDescription,
    ResourceQuery,
    ResourceResult,
)

CLIENT_METRICS = 16
GROUP_RESOURCE = 32  # of which no configuration is in force here, and none can be set


_ANYTHING = Definition(default="", type=ConfigType.UNKNOWN, fault=no_fault)
_LONGEST_ID = 9  # of a broker, in digits
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


# The list keys of Kafka's brokers, which validate the values themselves.
_BROKER_LISTS = (
    "advertised.listeners",
    "cordoned.log.dirs",
    "listeners",
    "metric.reporters",
)


# --- whole requests ---


def alter_all(
    image: Image, changes: Sequence[ResourceChange], default_min_isr: int
) -> tuple[list[ConfigRecord | PartitionChangeRecord], tuple[ResourceResult, ...]]:
    """The records that alter what can be altered, and a result for each resource.
    `default_min_isr`: where neither the cluster nor the topic has one."""
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
    return [*records, *drop_elr(image, records, default_min_isr)], tuple(results)


def replace_all(
    image: Image, resources: Sequence[ResourceChange], default_min_isr: int
) -> tuple[list[ConfigRecord | PartitionChangeRecord], tuple[ResourceResult, ...]]:
    """Like `alter_all`; keys of a resource that are not named are removed."""
    return alter_all(image, [_replacing(image, each) for each in resources], default_min_isr)


def _replacing(image: Image, resource: ResourceChange) -> ResourceChange:
    named = {each.name for each in resource.changes}
    gone = tuple(
        ConfigChange(name=name, operation=_DELETE, value=None)
        for name in image.config((resource.type, resource.name))
        if name not in named
    )
    return replace(resource, changes=(*resource.changes, *gone))


def drop_elr(
    image: Image, records: Sequence[ConfigRecord], default: int
) -> Iterator[PartitionChangeRecord]:
    """The changes of ELRs after these records. Where the ISR meets the new minimum the high
    watermark advances without the ELR (KIP-966, "ELR update"); elsewhere it waits, and an eligible
    replica has everything below it."""
    altered = {
        (each.resource_type, each.resource_name): each.value
        for each in records
        if each.name == MIN_ISR
    }
    if not altered or not image.has_elr:
        return
    cluster = altered.get(CLUSTER, image.config(CLUSTER).get(MIN_ISR))
    for key, found in image.topics.partitions():
        topic = image.topics.find(key[0])
        if topic is None or not (found.elr or found.last_known_elr):
            continue
        resource = (TOPIC, topic.name)
        own = altered.get(resource, image.config(resource).get(MIN_ISR))
        text = cluster if own is None else own
        minimum = default if text is None else int(text)
        if len(found.isr) >= min(minimum, len(found.replicas)):
            yield PartitionChangeRecord(
                topic_id=key[0],
                partition_id=key[1],
                eligible_leader_replicas=() if found.elr else None,
                last_known_elr=() if found.last_known_elr else None,
            )


def refuse_alteration(
    changes: Sequence[ResourceChange], error: ErrorCode, message: str
) -> tuple[ResourceResult, ...]:
    return tuple(
        ResourceResult(type=change.type, name=change.name, error=error, message=message)
        for change in changes
    )


def _check_amount(image: Image, resources: Sequence[ResourceChange]) -> None:
    """Raises RefusedError for a request that takes long to decide, or writes more than a batch.

    Everything that has to be read counts: appending to a long list takes as long as writing it.
    """
    characters = patterns = 0
    for each in resources:
        current = image.config((each.type, each.name))
        for change in each.changes:
            given = len(change.value or "")
            characters += given + len(current.get(change.name, ""))
            patterns += given if change.name == "match" else 0
    if characters > limits.MAX_BATCH_BYTES:
        raise RefusedError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The values altered by one request have more than {limits.MAX_BATCH_BYTES} bytes.",
        )
    if patterns > limits.MAX_PATTERN_CHARACTERS_PER_USER_OP:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"The patterns of one request have more than "
            f"{limits.MAX_PATTERN_CHARACTERS_PER_USER_OP} characters.",
        )


# --- one resource ---


def alter(
    image: Image, change: ResourceChange, *, is_new: bool = False
) -> tuple[list[ConfigRecord], ResourceResult]:
    """The records that alter one resource, given the state they will apply to; none if refused. One
    that `is_new` is created together with them."""
    try:
        check_resource(image, change.type, change.name, is_new=is_new)
        _check_repeated(change.changes)
        entries = image.config((change.type, change.name))
        records = [_record(change, entry, entries.get(entry.name)) for entry in change.changes]
        _check_count(entries, records)
        for record in records:
            _check_min_isr(image, record)
    except RefusedError as refused:
        return [], ResourceResult(
            type=change.type, name=change.name, error=refused.error, message=refused.message
        )
    return records, ResourceResult(type=change.type, name=change.name)


def check_resource(image: Image, kind: int, name: str, *, is_new: bool = False) -> None:
    """Raises RefusedError for a resource that does not exist."""
    if is_too_long(name):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"The name has more than {limits.MAX_STRING_BYTES} bytes"
        )
    if kind == CLIENT_METRICS:
        if not name:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    elif kind == TOPIC:
        if not is_new and image.topics.named(name) is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )
    elif kind == BROKER:
        _check_broker(image, name)
    elif kind == GROUP_RESOURCE:
        if not name:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Group id can't be empty")
    else:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"Resource type {kind} cannot be configured here."
        )


def _check_repeated(changes: Sequence[ConfigChange]) -> None:
    """Raises RefusedError."""
    names = [each.name for each in changes]
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {repeated}"
        )


def _check_broker(image: Image, name: str) -> None:
    """A registered one or, without a name, all."""
    if not name:
        return
    if not (name.isascii() and name.isdigit() and len(name) <= _LONGEST_ID):
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"'{name}' is no broker id.")
    if image.brokers.find(int(name)) is None:
        raise RefusedError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"No broker with id {name} is registered."
        )


def _definition(kind: int, name: str, key: str) -> Definition | None:
    if kind == TOPIC:
        return definitions_of(name).get(key)
    if kind == BROKER:
        return KEYS_OF_NODES.get(key) or _of_brokers(key)
    return METRICS_DEFINITIONS.get(key) if kind == CLIENT_METRICS else None


def _of_brokers(key: str) -> Definition:
    kind = ConfigType.LIST if key in _BROKER_LISTS else ConfigType.UNKNOWN
    return Definition(default="", type=kind, fault=no_fault)


def _check_count(entries: Mapping[str, str], records: Sequence[ConfigRecord]) -> None:
    """Raises RefusedError. A resource with too many entries can still delete some."""
    added = {each.name for each in records if each.value is not None} - entries.keys()
    if added and len(entries) + len(added) > limits.MAX_CONFIGS_PER_RESOURCE:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"The resource would have more than {limits.MAX_CONFIGS_PER_RESOURCE} configurations",
        )


def _check_min_isr(image: Image, record: ConfigRecord) -> None:
    """It is parsed as a number here, whatever its source; KAFKA-16540. Raises RefusedError."""
    resource = (record.resource_type, record.resource_name)
    if record.name != MIN_ISR or record.resource_type != BROKER:
        return
    fault = None
    if record.value is not None:
        fault = TOPIC_DEFINITIONS[MIN_ISR].fault(record.value)
    if image.has_elr and resource != CLUSTER:
        fault = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
    elif image.has_elr and record.value is None:
        fault = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
    if fault is not None:
        raise RefusedError(ErrorCode.INVALID_CONFIG, fault)


def _record(resource: ResourceChange, change: ConfigChange, current: str | None) -> ConfigRecord:
    if len(change.name.encode()) > limits.MAX_CONFIG_KEY_BYTES:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"The name of a configuration has more than {limits.MAX_CONFIG_KEY_BYTES} bytes",
        )
    definition = _definition(resource.type, resource.name, change.name)
    if definition is None and change.operation == _DELETE:
        definition = _ANYTHING  # an unset key may be deleted, known or not
    if definition is None and resource.type == GROUP_RESOURCE:
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"{change.name} is not in force here: groups go by what is set for their coordinators",
        )
    if definition is None:
        kind = "client metrics" if resource.type == CLIENT_METRICS else "topic"
        raise RefusedError(ErrorCode.INVALID_CONFIG, f"Unknown {kind} configuration: {change.name}")
    value = _new_value(change, definition, current)
    if value is not None and is_too_long(value):
        raise RefusedError(
            ErrorCode.INVALID_CONFIG,
            f"The value of {change.name} would have more than {limits.MAX_STRING_BYTES} bytes",
        )
    return ConfigRecord(
        resource_type=resource.type, resource_name=resource.name, name=change.name, value=value
    )


def _new_value(change: ConfigChange, definition: Definition, current: str | None) -> str | None:
    """The value after the change: None deletes it. The current value is valid already."""
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


# DescribeConfigs: the configuration of resources, and the source of each value.
#
# A node describes only itself, and any node describes topics, CLIENT_METRICS resources and the
# defaults for all brokers (Kafka's `ConfigHelper`).


_KNOWN_TYPES = (TOPIC, BROKER, 8, CLIENT_METRICS, GROUP_RESOURCE)  # `ConfigResource.Type`


def describe_all(
    image: Image, queries: Sequence[ResourceQuery], own: Own
) -> tuple[ResourceDescription, ...]:
    """A result for each resource; once the response is full, an error that says so. An unknown
    resource type refuses the whole request."""
    if any(query.type not in _KNOWN_TYPES for query in queries):
        why = "Unexpected resource type"
        return tuple(refuse_description(queries, ErrorCode.INVALID_REQUEST, why))
    results: list[ResourceDescription] = []
    configs, characters = limits.MAX_DESCRIBED_CONFIGS, limits.MAX_DESCRIBED_CHARACTERS
    for query in queries:
        if configs <= 0 or characters <= 0:
            full = "The answer has no room for this resource; ask for it alone."
            results += refuse_description([query], ErrorCode.MESSAGE_TOO_LARGE, full)
            continue
        results.append(describe(image, query, own))
        entries = results[-1].entries
        configs -= len(entries)
        characters -= sum(len(entry.name) + len(entry.value or "") for entry in entries)
    return tuple(results)


def refuse_description(
    queries: Sequence[ResourceQuery], error: ErrorCode, message: str
) -> tuple[ResourceDescription, ...]:
    return tuple(
        ResourceDescription(type=query.type, name=query.name, error=error, message=message)
        for query in queries
    )


def describe(image: Image, query: ResourceQuery, own: Own) -> ResourceDescription:
    """Every key of the schema, or those requested, with the set value or the default. A node
    describes only itself, and any node the defaults for all brokers."""
    try:
        if query.type == TOPIC and not is_legal(query.name):
            raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        if query.type == BROKER and query.name not in ("", str(own.node)):
            why = f"Unexpected broker id, expected {own.node} or empty string: '{query.name}'"
            raise RefusedError(ErrorCode.INVALID_REQUEST, why)
        if query.type != BROKER:
            check_resource(image, query.type, query.name)
    except RefusedError as refused:
        return ResourceDescription(
            type=query.type, name=query.name, error=refused.error, message=refused.message
        )
    known, entry = _described(image, query, own)
    requested = known if query.keys is None else dict.fromkeys(query.keys)
    return ResourceDescription(
        type=query.type,
        name=query.name,
        entries=tuple(entry(name) for name in requested if name in known),
    )


def _described(
    image: Image, query: ResourceQuery, own: Own
) -> tuple[Collection[str], Callable[[str], ConfigEntry]]:
    """The keys that can be described, and the function that describes one."""
    entries = image.config((query.type, query.name))
    if query.type == TOPIC:
        return TOPIC_DEFINITIONS, lambda key: config_definitions.of_topic(own, image, key, entries)
    if query.type == CLIENT_METRICS:
        return METRICS_DEFINITIONS, lambda key: _of_metrics(key, entries.get(key))
    if query.type == GROUP_RESOURCE:
        entries = {}  # whatever Apache Kafka's controllers took down for their own brokers
    if query.name == "" or query.type == GROUP_RESOURCE:
        return entries, lambda key: config_definitions.of_cluster(image, key)
    known = config_definitions.keys_of_node(own, image)
    return known, lambda key: config_definitions.of_node(own, image, key)


def _of_metrics(key: str, value: str | None) -> ConfigEntry:
    definition = METRICS_DEFINITIONS[key]
    source = ConfigSource.DEFAULT if value is None else ConfigSource.METRICS
    told = definition.default if value is None else value
    return ConfigEntry(name=key, value=told, source=source, type=definition.type)
