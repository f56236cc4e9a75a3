"""What holds for a topic, or for a node, and who said it (KIP-226, KIP-525; `KafkaConfigSchema`).

A topic is configured by its own configuration, else by the cluster's, else by that which the node
was started with that is asked, and else by Kafka's defaults. What is set for a node is called by
other names than what is set for a topic.
"""

from collections.abc import Mapping

from node.config import Own
from node.controller.config_definition import Definition
from node.controller.image import Image
from node.controller.image.configurations import BROKER, CLUSTER
from node.controller.topic_configs import TOPIC_DEFINITIONS
from node.controller.topic_synonyms import broker_key
from node.wire.configs import ConfigEntry, ConfigSource, ConfigType

# What is known of a node's own keys: those that are a topic's as well.
KEYS_OF_NODES = {broker_key(key): definition for key, definition in TOPIC_DEFINITIONS.items()}


def of_topic(own: Own, image: Image, key: str, entries: Mapping[str, str]) -> ConfigEntry:
    """`entries`: what is set of the topic itself."""
    said = (
        (ConfigSource.TOPIC, entries.get(key)),
        (ConfigSource.CLUSTER, image.configs.of(CLUSTER).get(broker_key(key))),
        (ConfigSource.STARTED_WITH, own.started_with.get(broker_key(key))),
    )
    return _entry(key, TOPIC_DEFINITIONS[key], said)


def keys_of_node(own: Own, image: Image) -> dict[str, None]:
    """All that can be told of the node that answers, in order."""
    set_ones = (image.configs.of(_resource(own)), image.configs.of(CLUSTER))
    names = (*KEYS_OF_NODES, *own.started_with, *(key for each in set_ones for key in each))
    return dict.fromkeys(sorted(names))


def of_node(own: Own, image: Image, key: str) -> ConfigEntry:
    said = (
        (ConfigSource.BROKER, image.configs.of(_resource(own)).get(key)),
        (ConfigSource.CLUSTER, image.configs.of(CLUSTER).get(key)),
        (ConfigSource.STARTED_WITH, own.started_with.get(key)),
    )
    return _entry(key, KEYS_OF_NODES.get(key), said)


def of_cluster(image: Image, key: str) -> ConfigEntry:
    """Of what is set for all brokers."""
    said = ((ConfigSource.CLUSTER, image.configs.of(CLUSTER)[key]),)
    return _entry(key, KEYS_OF_NODES.get(key), said)


def _resource(own: Own) -> tuple[int, str]:
    return BROKER, str(own.node)


def _entry(
    key: str, definition: Definition | None, said: tuple[tuple[ConfigSource, str | None], ...]
) -> ConfigEntry:
    """As the first says who says anything."""
    default = None if definition is None else definition.default
    told = (each for each in said if each[1] is not None)
    source, value = next(told, (ConfigSource.DEFAULT, default))
    kind = ConfigType.UNKNOWN if definition is None else definition.type
    return ConfigEntry(name=key, value=value, source=source, type=kind)
