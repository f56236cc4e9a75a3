"""What clients and operators ask for: operations on the cluster's data, and the topics of clients.

Operations on the quorum are not among them: changes of the voters and descriptions of the quorum,
which operators and clients of the workload `membership` ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.tables import DESCRIBE_QUORUM, VOTER_CHANGES


def asked_by_clients(ops: pa.Table) -> pa.Table:
    """The rows of OPS that are not about the quorum."""
    about = pc.is_in(ops["f"], pa.array([*VOTER_CHANGES, DESCRIBE_QUORUM]))
    return ops.filter(pc.invert(about))


# The topics that clients ask for, and their configuration: clients create them so, and the judge
# compares the metadata log with it.
#
# A run's `load` (see `RunInfo`) has the topics that records are sent to. The topics of chores, and
# those that are created only to be deleted again, have one partition each and no configuration,
# except for the logs of `OWN_LOGS`.


MIN_ISR = "min.insync.replicas"
# Operations that alter one configuration, each always the same one: that of all brokers, or that of
# the topic that is the operation's key.
CONFIG_OF_ALL_BROKERS: Mapping[str, str] = {"set-min-isr": MIN_ISR}
CONFIG_OF_A_TOPIC: Mapping[str, str] = {"set-config": "flush.messages"}

# Ten records fill a segment of the smallest size that Kafka allows: two segments are never
# compacted into one. A full one is dirty enough for the cleaner.
_LOOKED_UP = {
    "message.timestamp.type": "LogAppendTime",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
}
# The logs that chores put records into, each in a topic of its own; the key is the name after the
# prefix.
OWN_LOGS: Mapping[str, Mapping[str, str]] = {
    "shortened": {},
    "looked-up": _LOOKED_UP,
    "reshaped": {},
    "transformed": {},
}
# The operation that adds partitions to a topic; its value is the new number of partitions.
ADD_PARTITIONS = "add-partitions"
# The operation that moves a partition, its key, to other brokers; its value is their number.
REASSIGN = "reassign"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicShape:
    """The shape that a topic is to have. `partitions` and `replication` >= 1."""

    partitions: int
    replication: int
    configs: Mapping[str, str] = field(default_factory=dict)


def request_s(load: Mapping[str, Any]) -> float:
    """After what time clients take a request without an answer for lost."""
    return float(load.get("timeout_s") or 1.0)


def loads_topics(prefix: str, topics: int) -> tuple[str, ...]:
    """The names of the topics that the load sends to."""
    return tuple(f"{prefix}-{number}" for number in range(topics))


def idle_topic(prefix: str) -> str:
    """The name of the topic that the load sends nothing to, if there is to be one."""
    return f"{prefix}-idle"


def own_log(prefix: str, name: str) -> str:
    """The topic of one of `OWN_LOGS`."""
    return f"{prefix}-{name}"


def asked_shape(load: Mapping[str, Any], topic: str) -> TopicShape | None:
    """The shape that a client asks for in a topic of this name; None if the load does not say."""
    if not {"prefix", "topics", "partitions", "replication"} <= load.keys():
        return None
    prefix, replication = load["prefix"], int(load["replication"])
    if topic in loads_topics(prefix, int(load["topics"])):
        configs = load.get("configs", {})
        return TopicShape(
            partitions=int(load["partitions"]), replication=replication, configs=configs
        )
    idle = int(load.get("idle_partitions", 0))
    if idle and topic == idle_topic(prefix):
        configs = load.get("configs", {})
        return TopicShape(partitions=idle, replication=replication, configs=configs)
    own = next(
        (configs for name, configs in OWN_LOGS.items() if topic == own_log(prefix, name)), {}
    )
    return TopicShape(partitions=1, replication=replication, configs=own)
