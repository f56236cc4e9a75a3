"""Which topics clients ask for, and of what shape: clients create them so, and the judge compares
the metadata log with it.

A run's `load` (see `RunInfo`) has the shape of the topics that are sent to. Those of chores, and
what is created only to be deleted again, have one partition each and no configuration, but for the
logs of `OWN_LOGS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MIN_ISR = "min.insync.replicas"
# Operations that alter one configuration, each always the same one: of all brokers, or of the topic
# that is the operation's key.
CONFIG_OF_ALL_BROKERS: Mapping[str, str] = {"set-min-isr": MIN_ISR}
CONFIG_OF_A_TOPIC: Mapping[str, str] = {"set-config": "flush.messages"}

# Ten records fill a segment of the least size that there is: two are never compacted into one. A
# full one is dirty enough for the cleaner.
_LOOKED_UP = {
    "message.timestamp.type": "LogAppendTime",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
}
# The logs that chores put records into, each in a topic of its own, by its name behind the prefix.
OWN_LOGS: Mapping[str, Mapping[str, str]] = {
    "shortened": {},
    "looked-up": _LOOKED_UP,
    "reshaped": {},
}
# The operation by which a topic gets more partitions: as many as its value, with those it has.
ADD_PARTITIONS = "add-partitions"
# That by which a partition, its key, is moved to other brokers: so many as the value.
REASSIGN = "reassign"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicShape:
    """What a topic is to have. `partitions` and `replication` >= 1."""

    partitions: int
    replication: int
    configs: Mapping[str, str] = field(default_factory=dict)


def loads_topics(prefix: str, topics: int) -> tuple[str, ...]:
    """The names of those that the load sends to."""
    return tuple(f"{prefix}-{number}" for number in range(topics))


def own_log(prefix: str, name: str) -> str:
    """The topic of one of `OWN_LOGS`."""
    return f"{prefix}-{name}"


def asked_shape(load: Mapping[str, Any], topic: str) -> TopicShape | None:
    """As what a client asks for a topic of this name; None where the load does not tell."""
    if not {"prefix", "topics", "partitions", "replication"} <= load.keys():
        return None
    prefix, replication = load["prefix"], int(load["replication"])
    if topic in loads_topics(prefix, int(load["topics"])):
        configs = load.get("configs", {})
        return TopicShape(
            partitions=int(load["partitions"]), replication=replication, configs=configs
        )
    own = next(
        (configs for name, configs in OWN_LOGS.items() if topic == own_log(prefix, name)), {}
    )
    return TopicShape(partitions=1, replication=replication, configs=own)
