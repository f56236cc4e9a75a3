"""A properties file and its values: texts, integers, flags, lists, endpoints; the numeric
settings.
"""

from collections.abc import Mapping

from node.config import (
    BrokerRole,
    BrokerSettings,
    ConnectionLimits,
    GroupSettings,
    QuorumTimeouts,
    SnapshotSettings,
)
from node.ids import Endpoint


class ConfigError(ValueError):
    """The file cannot be used: what is wrong with which key."""


def parse_properties(text: str) -> dict[str, str]:
    """`key=value` lines; `#` and `!` begin a comment, a backslash at the end joins lines."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.replace("\\\n", "").splitlines(), start=1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, separator, value = line.partition("=")
        if not separator:
            raise ConfigError(f"line {number}: {line!r} is not key=value")
        values[key.strip()] = value.strip()
    return values


def text_at(values: Mapping[str, str], key: str) -> str:
    """Raises ConfigError if it is missing."""
    if key not in values:
        raise ConfigError(f"{key} is missing")
    return values[key]


def integer_at(
    values: Mapping[str, str], key: str, *, low: int, default: int | None = None, bits: int = 31
) -> int:
    """An integer of that many bits, beside the sign. Raises ConfigError."""
    if default is not None and key not in values:
        return default
    text = text_at(values, key)
    try:
        value = int(text)
    except ValueError as error:
        raise ConfigError(f"{key}={text}: not a number") from error
    if not low <= value < 1 << bits:
        raise ConfigError(f"{key}={text}: must be {low} or more, and fit {bits} bits")
    return value


def flag_at(values: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    """Raises ConfigError."""
    text = values.get(key, str(default)).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={text}: it is true or false")
    return text == "true"


def entries(text: str) -> list[str]:
    """The entries between commas."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def parse_endpoint(text: str, where: str) -> Endpoint:
    """`NAME://host:port`; an empty host means every address. Raises ConfigError."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not (separator and colon and name and port.isdigit() and int(port) < 1 << 16):
        raise ConfigError(f"{where}: {text!r} is not NAME://host:port")
    return Endpoint(name=name, host=host.strip("[]") or "0.0.0.0", port=int(port))


# Numeric settings: Kafka's key, and the name here.


# The keys of QuorumTimeouts; all in ms but the fetch size.
TIMEOUT_KEYS = {
    "controller.quorum.election.timeout.ms": "election_ms",
    "controller.quorum.fetch.timeout.ms": "fetch_ms",
    "controller.quorum.election.backoff.max.ms": "election_backoff_max_ms",
    "controller.quorum.append.linger.ms": "append_linger_ms",
    "controller.quorum.request.timeout.ms": "request_ms",
    "controller.quorum.retry.backoff.ms": "retry_backoff_ms",
    "controller.quorum.fetch.max.bytes": "fetch_max_bytes",
    "metadata.max.idle.interval.ms": "idle_interval_ms",
}
# The same for SnapshotSettings.
SNAPSHOT_KEYS = {
    "metadata.log.max.record.bytes.between.snapshots": "record_bytes",
    "metadata.log.max.snapshot.interval.ms": "interval_ms",
    "metadata.max.retention.bytes": "retention_bytes",
    "metadata.max.retention.ms": "retention_ms",
    "controller.quorum.fetch.snapshot.max.bytes": "fetch_max_bytes",
}
# The same for ConnectionLimits.
LIMIT_KEYS = {
    "max.connections": "connections",
    "max.connections.per.ip": "connections_per_ip",
    "connections.max.idle.ms": "idle_ms",
    "socket.request.max.bytes": "request_max_bytes",
    "queued.max.request.bytes": "queued_max_bytes",
}
# The same for BrokerSettings.
BROKER_KEYS = {
    "broker.session.timeout.ms": "session_ms",
    "num.partitions": "partitions",
    "default.replication.factor": "replication",
    "min.insync.replicas": "min_isr",
    "unclean.leader.election.interval.ms": "unclean_retry_ms",
    "unclean.recovery.timeout.ms": "recovery_ms",
    "leader.imbalance.check.interval.seconds": "preferred_check_s",
}
# The same for BrokerRole.
ROLE_KEYS = {
    "broker.heartbeat.interval.ms": "heartbeat_ms",
    "replica.lag.time.max.ms": "lag_ms",
    "replica.fetch.wait.max.ms": "fetch_wait_ms",
    "replica.fetch.max.bytes": "fetch_bytes",
    "replica.fetch.backoff.ms": "fetch_backoff_ms",
    "replica.socket.timeout.ms": "socket_ms",
    "controller.socket.timeout.ms": "controller_socket_ms",
    "log.segment.bytes": "segment_bytes",
    "log.roll.ms": "segment_ms",
    "log.index.interval.bytes": "index_interval",
    "max.request.partition.size.limit": "described_partitions",
    "log.flush.interval.messages": "flush_messages",
    "log.message.timestamp.after.max.ms": "after_max_ms",
    "log.message.timestamp.before.max.ms": "before_max_ms",
    "message.max.bytes": "message_bytes",
    "log.retention.ms": "retention_ms",
    "log.retention.bytes": "retention_bytes",
    "log.retention.check.interval.ms": "retention_check_ms",
    "log.initial.task.delay.ms": "retention_delay_ms",
    "log.flush.offset.checkpoint.interval.ms": "recovery_points_ms",
    "producer.id.expiration.ms": "producer_silent_ms",
    "producer.id.expiration.check.interval.ms": "producer_check_ms",
}
# The same for GroupSettings.
GROUP_KEYS = {
    "offsets.topic.num.partitions": "topic_partitions",
    "offsets.topic.replication.factor": "topic_replication",
    "offsets.topic.segment.bytes": "topic_segment_bytes",
    "offset.metadata.max.bytes": "metadata_bytes",
    "offsets.retention.check.interval.ms": "retention_check_ms",
    "offsets.retention.minutes": "retention_minutes",
    "offsets.commit.timeout.ms": "commit_timeout_ms",
    "group.min.session.timeout.ms": "session_min_ms",
    "group.max.session.timeout.ms": "session_max_ms",
    "group.initial.rebalance.delay.ms": "first_delay_ms",
    "group.max.size": "members",
}
# Keys of the same setting in a coarser unit, used if the finer one is missing: each with the finer
# key, and the factor. Of several, the finest holds.
COARSE_KEYS = {
    "log.retention.minutes": ("log.retention.ms", 60_000),
    "log.retention.hours": ("log.retention.ms", 3_600_000),
    "log.roll.hours": ("log.roll.ms", 3_600_000),
}
MAY_BE_ZERO = {
    "controller.quorum.append.linger.ms",
    "metadata.max.idle.interval.ms",
    "metadata.log.max.snapshot.interval.ms",
    "group.initial.rebalance.delay.ms",
    "log.index.interval.bytes",
    "log.initial.task.delay.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
}
MAY_BE_NONE = {"log.retention.ms", "log.retention.bytes"}  # -1: no limit
# 64-bit settings, which Kafka calls long; all others have 32 bits.
LONG = {
    "connections.max.idle.ms",
    "leader.imbalance.check.interval.seconds",
    "log.flush.interval.messages",
    "log.initial.task.delay.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.ms",
    "log.roll.ms",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "offsets.retention.check.interval.ms",
    "queued.max.request.bytes",
    "replica.lag.time.max.ms",
    "unclean.leader.election.interval.ms",
    "unclean.recovery.timeout.ms",
}


def known_numbers() -> str:
    """A line for each numeric setting, with its default, for `--help`."""
    role = BrokerRole(controller_listener="", advertised=())
    defaults = {
        **{key: getattr(QuorumTimeouts(), name) for key, name in TIMEOUT_KEYS.items()},
        **{key: getattr(ConnectionLimits(), name) for key, name in LIMIT_KEYS.items()},
        **{key: getattr(SnapshotSettings(), name) for key, name in SNAPSHOT_KEYS.items()},
        **{key: getattr(BrokerSettings(), name) for key, name in BROKER_KEYS.items()},
        **{key: getattr(role, name) for key, name in ROLE_KEYS.items()},
        **{key: getattr(GroupSettings(), name) for key, name in GROUP_KEYS.items()},
    }
    return "".join(f"  {key}={default}\n" for key, default in defaults.items())


def numbers_at(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, int]:
    """Those of a table above that the file sets, by their names here. Raises ConfigError."""
    return {
        name: integer_at(values, key, low=_least(key), bits=63 if key in LONG else 31)
        for key, name in names.items()
        if key in values
    }


def with_finest(values: Mapping[str, str]) -> dict[str, str]:
    """The values, with those of coarser keys under the names of the finest. Raises ConfigError."""
    found = {**values}
    for key, (finest, unit) in COARSE_KEYS.items():
        if key in values:
            said = integer_at(values, key, low=_least(finest))
            found.setdefault(finest, str(said * unit if said > 0 else said))
    return found


def _least(key: str) -> int:
    if key in MAY_BE_NONE:
        return -1
    return 0 if key in MAY_BE_ZERO else 1
