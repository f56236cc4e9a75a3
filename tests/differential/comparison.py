"""Two answers to one request, and in what they differ where they may not.

What may differ is left out here, by the name of the field: what a cluster draws or counts for
itself (ids of topics and members, producer ids, fetch sessions), where it is (hosts, ports, who is
the controller), when it was (times, throttling), how it says in words what an error code says
(messages, documentation), and where it placed the replicas of a topic for which nobody said it: of
those how many there are is compared, and of a leader whether there is one. The order of an array's
elements is nobody's promise: they are matched by what they speak of.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import Any
from uuid import UUID

# A struct, by what it holds; leaves are numbers and strings.
Tree = Mapping[str, Any]
Names = Mapping[UUID | str, str]

NOT_COMPARED = {
    "throttle_time",
    "error_message",
    "batch_index_error_message",
    "documentation",
    "host",
    "port",
    "rack",
    "node_endpoints",
    "controller_id",
    "log_append_time",
    "client_host",
}
# Whether there is one.
PRESENCE = {
    "cluster_id",
    "controller_id",
    "coordinator",
    "leader",
    "leader_id",
    "member_id",
    "node_id",
    "producer_id",
    "session_id",
}
# How many there are.
COUNTED = {"replica_nodes", "isr_nodes"}
# What an element of an array speaks of, the most telling first.
IDENTITY = (
    "name",
    "topic",
    "topic_id",
    "topic_name",
    "resource_type",
    "resource_name",
    "key",
    "group_id",
    "partition_index",
    "partition_id",
    "partition",
    "index",
    "broker_id",
    "api_key",
)
ERROR = "error_code"
NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`path` are the names of fields from the answer down. None: there is no such element."""

    path: str
    kafka: Any
    node: Any

    def __str__(self) -> str:
        return f"{self.path}: Apache Kafka {self.kafka!r}, our node {self.node!r}"


def normal(answer: Any, names: Names) -> Tree:
    """An answer of kio's without what may differ; topics and members by what `names` tells."""
    found: dict[str, Any] = {}
    for field in fields(answer):
        value = getattr(answer, field.name)
        if field.name in PRESENCE:
            found[field.name] = "some" if value not in (None, "", -1, 0) else "none"
        elif field.name in COUNTED:
            found[field.name] = len(value)
        elif field.name not in NOT_COMPARED:
            found[field.name] = _normal_value(value, names)
    return found


def _normal_value(value: Any, names: Names) -> Any:
    if is_dataclass(value):
        return normal(value, names)
    if value is None or value in ((), b"", ""):
        return NOTHING  # whether it is empty or null
    if isinstance(value, tuple):
        return _normal_array(value, names)
    if isinstance(value, UUID):
        return names.get(value, "a topic that nobody has")
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value


def _normal_array(array: tuple[Any, ...], names: Names) -> Any:
    elements = [_normal_value(value, names) for value in array]
    if not all(isinstance(each, dict) for each in elements):
        return sorted(elements, key=repr)
    seen: Counter[str] = Counter()
    found = {}
    for each in sorted(elements, key=repr):
        identity = " ".join(str(each[name]) for name in IDENTITY if name in each)
        found[f"[{identity} {seen[identity]}]"] = each
        seen[identity] += 1
    return found


def refuses(answer: Any) -> bool:
    """Anything at all; of kio's answers, and of what is in them."""
    if isinstance(answer, tuple):
        return any(map(refuses, answer))
    if not is_dataclass(answer):
        return False
    return bool(getattr(answer, ERROR, 0)) or any(
        refuses(getattr(answer, each.name)) for each in fields(answer)
    )


def differences(kafka: Any, node: Any, path: str = "") -> Iterator[Difference]:
    """Of two answers in normal form. Where error codes differ, what stands beside them does too,
    and says nothing more."""
    if not isinstance(kafka, Mapping) or not isinstance(node, Mapping):
        if kafka != node:
            yield Difference(path=path, kafka=kafka, node=node)
        return
    if ERROR in kafka and kafka[ERROR] != node.get(ERROR):
        yield Difference(path=_below(path, ERROR), kafka=kafka[ERROR], node=node.get(ERROR))
        return
    for name in sorted(kafka.keys() | node.keys()):
        yield from differences(kafka.get(name), node.get(name), _below(path, name))


def _below(path: str, name: str) -> str:
    if name.startswith("["):
        return path
    return f"{path}.{name}" if path else name
