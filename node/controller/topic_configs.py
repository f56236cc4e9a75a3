"""The keys of a topic's configuration, with Kafka's defaults, and what values they take
(`LogConfig`).

Each is in force, or can have no other value than that by which logs are kept here anyway: who sets
another one is told so (`NOT_IN_FORCE`); or it says something beside such a value alone. Topics that
brokers make for themselves are as Kafka's brokers ask for them; what is done in place of their
compaction `docs/reference/settings.md` says.
"""

import re
from collections.abc import Callable, Mapping

from node.controller.config_definition import Definition, items, no_fault
from node.controller.image.topics import INTERNAL
from node.wire.configs import ConfigType

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
# As Kafka has them.
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
# Why nothing but its default can be set.
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

# What says something beside another one alone, which is refused: of a topic without that it says
# nothing in Kafka either, and may be set.
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
    """For Kafka's definition of a key, one that takes its default alone."""

    def fault(value: str) -> str | None:
        found = definition.fault(value)
        if found is None and _plain(value, definition) != _plain(definition.default, definition):
            only = f"only {definition.default!r} can be set"
            return f"Invalid value {value} for configuration {name}: {why}; {only}"
        return found

    return Definition(default=definition.default, type=definition.type, fault=fault)


def _plain(value: str, definition: Definition) -> object:
    """What was not refused yet, to be compared."""
    match definition.type:
        case ConfigType.INT | ConfigType.LONG:
            return int(value)
        case ConfigType.DOUBLE:
            return float(value)
        case ConfigType.LIST:
            return items(value)
        case _:
            return value.strip().lower()


TOPIC_DEFINITIONS = {
    name: _only_default(name, each, NOT_IN_FORCE[name]) if name in NOT_IN_FORCE else each
    for name, each in _KAFKAS.items()
}


def definitions_of(topic: str) -> Mapping[str, Definition]:
    return _KAFKAS if topic in INTERNAL else TOPIC_DEFINITIONS
