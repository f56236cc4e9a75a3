"""The keys of a topic's configuration, with Kafka's defaults, and what values they take
(`LogConfig`)."""

import re
from collections.abc import Callable

from node.controller.config_definition import Definition, items, no_fault
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
TOPIC_DEFINITIONS = {
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
