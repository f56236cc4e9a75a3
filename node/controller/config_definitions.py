"""Definitions of configuration keys (defaults, types, valid values), and sources of values."""

import re
import warnings
from collections.abc import Callable, Mapping

from node import limits
from node.config import Own, RecoveryStrategy
from node.controller.image import Image
from node.controller.image.configurations import BROKER, CLUSTER, broker_key
from node.controller.image.topics import INTERNAL
from node.lazy_dataclass import dataclass
from node.wire.configs import ConfigEntry, ConfigSource, ConfigType


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A key of the schema. `fault` returns what is wrong with a given value, if anything."""

    default: str
    type: ConfigType
    fault: Callable[[str], str | None]

    @property
    def is_list(self) -> bool:
        return self.type is ConfigType.LIST


def items(value: str) -> list[str]:
    """A LIST's elements."""
    return [item.strip() for item in value.split(",") if item.strip()]


def no_fault(_value: str) -> None:
    return None


# The keys of a CLIENT_METRICS resource, and their valid values (`ClientMetricsConfigs`).


_INTERVAL_MS = range(100, 3_600_001)
_MATCH_KEYS = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
_REPETITION = re.compile(r"\{(\d*),?(\d*)\}", re.ASCII)


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
    for pattern in items(value):
        key, equals, expression = pattern.partition("=")
        if not equals or key.strip() not in _MATCH_KEYS or not _compiles(expression.strip()):
            return f"Illegal client matching pattern: {pattern}"
    return None


def _compiles(expression: str) -> bool:
    """Is it a regular expression of bounded size? The node never matches anything with it.

    It is compiled as bytes: a class of characters then has 256 at most, where one of all Unicode
    takes milliseconds to compile.
    """
    if (
        len(expression) > limits.MAX_PATTERN_CHARACTERS
        or expression.count("(") > limits.MAX_PATTERN_GROUPS
        or _most_repetitions(expression) > limits.MAX_PATTERN_REPETITIONS
    ):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # warnings about a client's pattern do not concern the operator
            re.compile(expression.encode())
    except Exception:  # noqa: BLE001 (whatever stops the compiler, the client's pattern did it)
        return False
    return True


def _most_repetitions(expression: str) -> int:
    counts = [int(count) for pair in _REPETITION.findall(expression) for count in pair if count]
    return max(counts, default=0)


METRICS_DEFINITIONS = {
    "interval.ms": Definition(default="300000", type=ConfigType.INT, fault=_interval_fault),
    "match": Definition(default="", type=ConfigType.LIST, fault=_match_fault),
    "metrics": Definition(default="", type=ConfigType.LIST, fault=no_fault),
}


# The keys of a topic's configuration, with Kafka's defaults and their valid values (`LogConfig`).
#
# A key is either in force, or can only have the value by which logs are kept here anyway (setting
# another value is refused with the reason in `NOT_IN_FORCE`), or has an effect only beside such a
# refused value. Internal topics are as Kafka's brokers request them; what replaces their compaction
# is in `docs/reference/settings.md`.


_INT, _LONG = 2**31 - 1, 2**63 - 1
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


def _number(name: str, kind: ConfigType, default: int, least: int, most: int) -> Definition:
    def fault(value: str) -> str | None:
        text = value.strip()
        if not _NUMBER.fullmatch(text) or not -_LONG - 1 <= int(text) <= _LONG:
            return f"Invalid value {value} for configuration {name}: Not a number"
        if not least <= int(text) <= most:
            return f"Invalid value {value} for configuration {name}: Value must be at least {least}"
        return None

    return Definition(default=str(default), type=kind, fault=fault)


def _int(name: str, default: int, least: int = 0) -> Definition:
    return _number(name, ConfigType.INT, default, least, _INT)


def _long(name: str, default: int, least: int = 0) -> Definition:
    return _number(name, ConfigType.LONG, default, least, _LONG)


def _one_of(name: str, default: str, *allowed: str) -> Definition:
    def fault(value: str) -> str | None:
        if value.strip() in allowed:
            return None
        return f"Invalid value {value} for configuration {name}: one of {', '.join(allowed)}"

    return Definition(default=default, type=ConfigType.STRING, fault=fault)


def _flag(name: str, default: str = "false") -> Definition:
    def fault(value: str) -> str | None:
        if value.strip().lower() in ("true", "false"):
            return None
        return f"Invalid value {value} for configuration {name}: either true or false"

    return Definition(default=default, type=ConfigType.BOOLEAN, fault=fault)


def _list(default: str, fault: Callable[[str], str | None] = no_fault) -> Definition:
    return Definition(default=default, type=ConfigType.LIST, fault=fault)


def _policy_fault(value: str) -> str | None:
    if set(items(value)) <= {"compact", "delete"}:
        return None
    return f"Invalid value {value} for configuration cleanup.policy: compact or delete"


def _ratio_fault(value: str) -> str | None:
    try:
        is_ratio = 0 <= float(value) <= 1
    except ValueError:
        is_ratio = False
    if is_ratio:
        return None
    return f"Invalid value {value} for configuration min.cleanable.dirty.ratio: from 0 to 1"


_LONGS = {
    "delete.retention.ms": (86_400_000, 0),
    "file.delete.delay.ms": (60_000, 0),
    "flush.messages": (_LONG, 1),
    "flush.ms": (_LONG, 0),
    "local.retention.bytes": (-2, -2),
    "local.retention.ms": (-2, -2),
    "max.compaction.lag.ms": (_LONG, 1),
    "message.timestamp.after.max.ms": (3_600_000, 0),
    "message.timestamp.before.max.ms": (_LONG, 0),
    "min.compaction.lag.ms": (0, 0),
    "retention.bytes": (-1, -(2**63)),
    "retention.ms": (604_800_000, -1),
    "segment.jitter.ms": (0, 0),
    "segment.ms": (604_800_000, 1),
}
_INTS = {
    "compression.gzip.level": (-1, -1),
    "compression.lz4.level": (9, 1),
    "compression.zstd.level": (3, -131_072),
    "index.interval.bytes": (4096, 0),
    "max.message.bytes": (1_048_588, 0),
    "min.insync.replicas": (1, 1),
    "segment.bytes": (1 << 30, 1 << 20),
    "segment.index.bytes": (10 << 20, 4),
}
_FLAGS = (
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "unclean.leader.election.enable",
)
# Kafka's definitions.
_KAFKAS = {
    **{name: _long(name, default, least) for name, (default, least) in _LONGS.items()},
    **{name: _int(name, default, least) for name, (default, least) in _INTS.items()},
    **{name: _flag(name) for name in _FLAGS},
    "cleanup.policy": _list("delete", _policy_fault),
    "follower.replication.throttled.replicas": _list(""),
    "leader.replication.throttled.replicas": _list(""),
    "compression.type": _one_of(
        "compression.type", "producer", "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"
    ),
    "message.timestamp.type": _one_of(
        "message.timestamp.type", "CreateTime", "CreateTime", "LogAppendTime"
    ),
    "min.cleanable.dirty.ratio": Definition(
        default="0.5", type=ConfigType.DOUBLE, fault=_ratio_fault
    ),
}

_COMPACTED, _COMPRESSED = "logs are not compacted here", "batches stay as producers compressed them"
_TIERED, _THROTTLED = "no log is tiered here", "replication is not throttled here"
# Why only the default can be set.
NOT_IN_FORCE = {
    "compression.type": _COMPRESSED,
    "cleanup.policy": _COMPACTED,
    "file.delete.delay.ms": "files are deleted at once here",
    "flush.ms": "no log is flushed by time here; flush.messages is in force",
    "follower.replication.throttled.replicas": _THROTTLED,
    "leader.replication.throttled.replicas": _THROTTLED,
    "preallocate": "files grow as they are written here",
    "remote.storage.enable": _TIERED,
    "segment.index.bytes": "indexes have the room that they need here",
    "segment.jitter.ms": "segments are rolled without jitter here",
}

# Keys that have an effect only beside a refused value of another key: without it they have none in
# Kafka either, and may be set.
SAYS_NOTHING = {
    "compression.gzip.level": "compression.type",
    "compression.lz4.level": "compression.type",
    "compression.zstd.level": "compression.type",
    "delete.retention.ms": "cleanup.policy",
    "local.retention.bytes": "remote.storage.enable",
    "local.retention.ms": "remote.storage.enable",
    "max.compaction.lag.ms": "cleanup.policy",
    "min.cleanable.dirty.ratio": "cleanup.policy",
    "min.compaction.lag.ms": "cleanup.policy",
    "remote.log.copy.disable": "remote.storage.enable",
    "remote.log.delete.on.disable": "remote.storage.enable",
}


def _only_default(name: str, definition: Definition, why: str) -> Definition:
    """Kafka's definition of a key, restricted to its default."""

    def fault(value: str) -> str | None:
        found = definition.fault(value)
        if found is None and _plain(value, definition) != _plain(definition.default, definition):
            only = f"only {definition.default!r} can be set"
            return f"Invalid value {value} for configuration {name}: {why}; {only}"
        return found

    return Definition(default=definition.default, type=definition.type, fault=fault)


def _plain(value: str, definition: Definition) -> object:
    """A value that was not refused, in a form to compare."""
    match definition.type:
        case ConfigType.INT | ConfigType.LONG:
            return int(value)
        case ConfigType.DOUBLE:
            return float(value)
        case ConfigType.LIST:
            return items(value)
        case _:
            return value.strip().lower()


_STRATEGIES = tuple(RecoveryStrategy)


def _strategy_fault(value: str) -> str | None:
    if value.strip().capitalize() in _STRATEGIES:
        return None
    allowed = f"one of {', '.join(_STRATEGIES)}"
    return f"Invalid value {value} for configuration unclean.recovery.strategy: {allowed}"


# Of KIP-966, part two; no released Kafka has it.
_OURS = {
    "unclean.recovery.strategy": Definition(
        default=RecoveryStrategy.BALANCED, type=ConfigType.STRING, fault=_strategy_fault
    )
}
TOPIC_DEFINITIONS = _OURS | {
    name: _only_default(name, each, NOT_IN_FORCE[name]) if name in NOT_IN_FORCE else each
    for name, each in _KAFKAS.items()
}


def definitions_of(topic: str) -> Mapping[str, Definition]:
    return _OURS | _KAFKAS if topic in INTERNAL else TOPIC_DEFINITIONS


# Effective values for a topic or a node, and their sources (KIP-226, KIP-525; `KafkaConfigSchema`).
#
# A topic's value comes from its own configuration, else the cluster's, else the configuration file
# of the node that answers, else Kafka's defaults. Keys of a node have other names than keys of a
# topic.


# The known keys of a node: those that are topic keys as well.
KEYS_OF_NODES = {broker_key(key): definition for key, definition in TOPIC_DEFINITIONS.items()}


def of_topic(own: Own, image: Image, key: str, entries: Mapping[str, str]) -> ConfigEntry:
    """`entries`: the topic's own configuration."""
    said = (
        (ConfigSource.TOPIC, entries.get(key)),
        (ConfigSource.CLUSTER, image.configs.of(CLUSTER).get(broker_key(key))),
        (ConfigSource.STARTED_WITH, own.started_with.get(broker_key(key))),
    )
    return _entry(key, TOPIC_DEFINITIONS[key], said)


def keys_of_node(own: Own, image: Image) -> dict[str, None]:
    """All keys that the answering node describes of itself, in order."""
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
    """The entry among those set for all brokers."""
    said = ((ConfigSource.CLUSTER, image.configs.of(CLUSTER)[key]),)
    return _entry(key, KEYS_OF_NODES.get(key), said)


def _resource(own: Own) -> tuple[int, str]:
    return BROKER, str(own.node)


def _entry(
    key: str, definition: Definition | None, said: tuple[tuple[ConfigSource, str | None], ...]
) -> ConfigEntry:
    """The entry of the first source that has a value."""
    default = None if definition is None else definition.default
    told = (each for each in said if each[1] is not None)
    source, value = next(told, (ConfigSource.DEFAULT, default))
    kind = ConfigType.UNKNOWN if definition is None else definition.type
    return ConfigEntry(name=key, value=value, source=source, type=kind)
