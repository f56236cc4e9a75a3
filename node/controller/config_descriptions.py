"""DescribeConfigs: what resources are configured as, and who said it.

Each node tells of itself alone, and any of topics, of CLIENT_METRICS resources and of what is set
for all brokers (Kafka's `ConfigHelper`).
"""

from collections.abc import Callable, Collection, Sequence

from node import limits
from node.config import Own
from node.controller import effective_configs
from node.controller.client_metrics import METRICS_DEFINITIONS
from node.controller.decision import RefusedError
from node.controller.image import Image
from node.controller.image.configurations import BROKER, TOPIC
from node.controller.image.topics import is_legal
from node.controller.resource_configs import CLIENT_METRICS, check_resource
from node.controller.topic_configs import TOPIC_DEFINITIONS
from node.errors import ErrorCode
from node.wire.configs import ConfigEntry, ConfigSource, ResourceDescription, ResourceQuery

_KNOWN_TYPES = (TOPIC, BROKER, 8, CLIENT_METRICS, 32)  # `ConfigResource.Type`


def describe_all(
    image: Image, queries: Sequence[ResourceQuery], own: Own
) -> tuple[ResourceDescription, ...]:
    """A result for each resource; once the answer is full, that there is no more room in it. What
    is no type of a resource is refused with all that is asked for beside it."""
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
    """Every key of the schema, or those asked for, with what is set or the default. Each node tells
    of itself alone, and any of what is set for all."""
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
    """The keys that can be told of, and how one of them is."""
    entries = image.config((query.type, query.name))
    if query.type == TOPIC:
        return TOPIC_DEFINITIONS, lambda key: effective_configs.of_topic(own, image, key, entries)
    if query.type == CLIENT_METRICS:
        return METRICS_DEFINITIONS, lambda key: _of_metrics(key, entries.get(key))
    if query.name == "":
        return entries, lambda key: effective_configs.of_cluster(image, key)
    known = effective_configs.keys_of_node(own, image)
    return known, lambda key: effective_configs.of_node(own, image, key)


def _of_metrics(key: str, value: str | None) -> ConfigEntry:
    definition = METRICS_DEFINITIONS[key]
    source = ConfigSource.DEFAULT if value is None else ConfigSource.METRICS
    told = definition.default if value is None else value
    return ConfigEntry(name=key, value=told, source=source, type=definition.type)
