"""Kafka's server.properties, as far as a controller, a broker or both in one process need it.

Kafka ignores what it does not know with a warning, and so do we; what would change the meaning of
the rest (another role, a secured listener) is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.config import (
    BrokerRole,
    BrokerSettings,
    ConnectionLimits,
    GroupSettings,
    NodeConfig,
    QuorumTimeouts,
    SnapshotSettings,
)
from node.controller.effective_configs import KEYS_OF_NODES
from node.controller.replica_rules import UNCLEAN_ELECTION
from node.endpoint import Endpoint, why_not_taken
from node.ids import NodeId
from node.limits import MAX_DIRECTORIES

# Where each time-out of QuorumTimeouts is called what in the file; all in ms but the fetch size.
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
MAY_BE_ZERO = {
    "controller.quorum.append.linger.ms",
    "metadata.max.idle.interval.ms",
    "metadata.log.max.snapshot.interval.ms",
    "group.initial.rebalance.delay.ms",
    "log.index.interval.bytes",
    "log.initial.task.delay.ms",
}
MAY_BE_NONE = {"log.retention.ms", "log.retention.bytes"}  # -1: no limit
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
    "message.max.bytes": "message_bytes",
    "log.retention.ms": "retention_ms",
    "log.retention.bytes": "retention_bytes",
    "log.retention.check.interval.ms": "retention_check_ms",
    "log.initial.task.delay.ms": "retention_delay_ms",
}
# The same for GroupSettings.
GROUP_KEYS = {
    "offsets.topic.num.partitions": "topic_partitions",
    "offsets.topic.replication.factor": "topic_replication",
    "offsets.topic.segment.bytes": "topic_segment_bytes",
    "offset.metadata.max.bytes": "metadata_bytes",
    "offsets.commit.timeout.ms": "commit_timeout_ms",
    "group.min.session.timeout.ms": "session_min_ms",
    "group.max.session.timeout.ms": "session_max_ms",
    "group.initial.rebalance.delay.ms": "first_delay_ms",
    "group.max.size": "members",
}
INTER_BROKER_LISTENER = "inter.broker.listener.name"
METRICS_LISTENER = "metrics.listener"  # the one key that Kafka does not have
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
QUORUM_VOTERS = "controller.quorum.voters"
METADATA_LOG_DIR = "metadata.log.dir"
KNOWN_KEYS = {
    *TIMEOUT_KEYS,
    *LIMIT_KEYS,
    *SNAPSHOT_KEYS,
    *BROKER_KEYS,
    *ROLE_KEYS,
    *GROUP_KEYS,
    UNCLEAN_ELECTION,
    INTER_BROKER_LISTENER,
    BOOTSTRAP_SERVERS,
    QUORUM_VOTERS,
    METRICS_LISTENER,
    "process.roles",
    "node.id",
    "controller.listener.names",
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "log.dirs",
    "log.dir",
    METADATA_LOG_DIR,
    "metadata.log.segment.bytes",
}


_TOLD_KEYS = {*KNOWN_KEYS, *KEYS_OF_NODES}
_CONTROLLER, _BROKER = "controller", "broker"
_ROLES = (_CONTROLLER, _BROKER)


class ConfigError(ValueError):
    """The file cannot be used: what is wrong with which key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a file says: the node's settings, and the keys that mean nothing to this version."""

    config: NodeConfig
    unknown: tuple[str, ...]


def known_numbers() -> str:
    """A line for each setting that is a number, with its default, for `--help`."""
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


def read_settings(path: Path) -> Settings:
    """Raises ConfigError; OSError if the file cannot be read."""
    return parse_settings(path.read_text(encoding="utf-8"))


def parse_settings(text: str) -> Settings:
    """The text of a properties file. Raises ConfigError."""
    values = _properties(text)
    roles = _roles(values)
    _refuse_secured(values)
    listeners = _endpoints(values, "listeners")
    whole = _advertised(listeners, _endpoints(values, "advertised.listeners", otherwise=listeners))
    of_controllers = _controller_listeners(values, listeners, are_own=_CONTROLLER in roles)
    inner = of_controllers[0]
    role = _broker_role(values, whole, of_controllers) if _BROKER in roles else None
    own = [at for at in whole if role is None or at not in role.advertised]
    node_id = NodeId(_integer(values, "node.id", low=0))
    config = NodeConfig(
        node_id=node_id,
        log_dirs=_log_dirs(values, is_broker=_BROKER in roles),
        metadata_log_dir=_metadata_log_dir(values),
        listeners=listeners,
        advertised=_first(inner, own) if _CONTROLLER in roles else (),
        metrics=_metrics_listener(values),
        bootstrap_servers=_bootstrap_servers(values, inner),
        quorum_voters=_quorum_voters(values, inner, node_id if _CONTROLLER in roles else None),
        timeouts=QuorumTimeouts(**_integers(values, TIMEOUT_KEYS)),
        limits=_limits(values),
        snapshots=SnapshotSettings(**_integers(values, SNAPSHOT_KEYS)),
        brokers=BrokerSettings(
            unclean=_flag(values, UNCLEAN_ELECTION), **_integers(values, BROKER_KEYS)
        ),
        groups=GroupSettings(**_integers(values, GROUP_KEYS)),
        role=role,
        segment_bytes=_integer(values, "metadata.log.segment.bytes", low=1024, default=1 << 30),
        # Not what it does not know: nobody could say that it is no password.
        started_with={key: value for key, value in values.items() if key in _TOLD_KEYS},
    )
    return Settings(config=config, unknown=tuple(sorted(set(values) - KNOWN_KEYS)))


def _properties(text: str) -> dict[str, str]:
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


def _roles(values: Mapping[str, str]) -> list[str]:
    """One of the two, or both in any order."""
    roles = _list(_text(values, "process.roles"))
    if not roles or len(set(roles)) != len(roles) or not set(roles) <= set(_ROLES):
        raise ConfigError(
            f"process.roles={values['process.roles']}: it is controller, broker, or both"
            " (broker,controller)"
        )
    return roles


def _refuse_secured(values: Mapping[str, str]) -> None:
    for entry in _list(values.get("listener.security.protocol.map", "")):
        name, _, protocol = entry.partition(":")
        if protocol != "PLAINTEXT":
            raise ConfigError(
                f"listener.security.protocol.map: {name} is {protocol or 'nothing'}; "
                "only PLAINTEXT can be served"
            )


def _broker_role(
    values: Mapping[str, str], whole: Sequence[Endpoint], of_controllers: Sequence[str]
) -> BrokerRole:
    """By what brokers listen to are all listeners but the controllers'."""
    own = [endpoint for endpoint in whole if endpoint.name not in of_controllers]
    return BrokerRole(
        controller_listener=of_controllers[0],
        advertised=_first(_inter_broker_listener(values, own), own),
        **_integers(values, ROLE_KEYS),
    )


def _inter_broker_listener(values: Mapping[str, str], own: Sequence[Endpoint]) -> str:
    """By which brokers reach each other; the first unless told otherwise."""
    names = [endpoint.name for endpoint in own]
    if not names:
        raise ConfigError("listeners: all are among controller.listener.names; a broker has others")
    name = values.get(INTER_BROKER_LISTENER, names[0])
    if name not in names:
        raise ConfigError(
            f"{INTER_BROKER_LISTENER}={name}: it is not among the broker's listeners ({names})"
        )
    return name


def _controller_listeners(
    values: Mapping[str, str], listeners: tuple[Endpoint, ...], *, are_own: bool
) -> list[str]:
    names = _list(_text(values, "controller.listener.names"))
    known = [endpoint.name for endpoint in listeners]
    for name in names:
        if are_own and name not in known:
            raise ConfigError(f"controller.listener.names: {name} is not among listeners ({known})")
        if not are_own and name in known:
            raise ConfigError(f"listeners: a broker does not listen as {name}")
    if not names:
        raise ConfigError("controller.listener.names is empty")
    return names


def _first(name: str, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(sorted(endpoints, key=lambda endpoint: endpoint.name != name))


def _advertised(
    listeners: tuple[Endpoint, ...], advertised: tuple[Endpoint, ...]
) -> Sequence[Endpoint]:
    """Every listener has an advertised address."""
    by_name = {endpoint.name: endpoint for endpoint in advertised}
    for name in by_name:
        if name not in {endpoint.name for endpoint in listeners}:
            raise ConfigError(f"advertised.listeners: {name} is not among listeners")
    return [by_name.get(endpoint.name, endpoint) for endpoint in listeners]


def _endpoints(
    values: Mapping[str, str], key: str, *, otherwise: tuple[Endpoint, ...] | None = None
) -> tuple[Endpoint, ...]:
    if otherwise is not None and key not in values:
        return otherwise
    found = tuple(parse_endpoint(entry, key) for entry in _list(_text(values, key)))
    if len({endpoint.name for endpoint in found}) != len(found) or not found:
        raise ConfigError(f"{key}={values[key]}: one address for each name, at least one")
    return found


def _metrics_listener(values: Mapping[str, str]) -> Endpoint | None:
    """HOST:PORT; an empty host means every address."""
    text = values.get(METRICS_LISTENER)
    return None if text is None else parse_endpoint(f"METRICS://{text}", METRICS_LISTENER)


def _bootstrap_servers(values: Mapping[str, str], inner: str) -> tuple[Endpoint, ...]:
    """Controllers that may know the leader, by their listener for controllers: HOST:PORT,..."""
    entries = _list(values.get(BOOTSTRAP_SERVERS, ""))
    return tuple(parse_endpoint(f"{inner}://{entry}", BOOTSTRAP_SERVERS) for entry in entries)


def _quorum_voters(
    values: Mapping[str, str], inner: str, own: NodeId | None
) -> Mapping[NodeId, tuple[Endpoint, ...]]:
    """All voters, by their listener for controllers: ID@HOST:PORT,... None: the disk names them."""
    if QUORUM_VOTERS not in values:
        return {}
    found: dict[NodeId, tuple[Endpoint, ...]] = {}
    for entry in _list(values[QUORUM_VOTERS]):
        node, at, address = entry.partition("@")
        if not (at and node.isdecimal() and int(node) < 1 << 31):
            raise ConfigError(f"{QUORUM_VOTERS}: {entry!r} is not ID@HOST:PORT")
        endpoint = parse_endpoint(f"{inner}://{address}", QUORUM_VOTERS)
        wrong = why_not_taken((endpoint,))
        if wrong is not None or NodeId(int(node)) in found:
            raise ConfigError(
                f"{QUORUM_VOTERS}: {entry!r}: {wrong or 'the node stands there twice'}"
            )
        found[NodeId(int(node))] = (endpoint,)
    if own is not None and own not in found:
        raise ConfigError(
            f"{QUORUM_VOTERS}={values[QUORUM_VOTERS]}: it does not list node.id={own}"
        )
    return found


def parse_endpoint(text: str, where: str) -> Endpoint:
    """`NAME://host:port`; an empty host means every address. Raises ConfigError."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not (separator and colon and name and port.isdigit() and int(port) < 1 << 16):
        raise ConfigError(f"{where}: {text!r} is not NAME://host:port")
    return Endpoint(name=name, host=host.strip("[]") or "0.0.0.0", port=int(port))


def _log_dirs(values: Mapping[str, str], *, is_broker: bool) -> tuple[str, ...]:
    """A broker's are for its replicas, and no others than log.dirs."""
    for key in ("log.dirs", "log.dir") if is_broker else (METADATA_LOG_DIR, "log.dirs", "log.dir"):
        if key in values:
            directories = tuple(_list(values[key]))
            if len(directories) != 1 and not is_broker:
                raise ConfigError(f"{key}={values[key]}: a controller has one directory")
            if len(set(directories)) != len(directories):
                raise ConfigError(f"{key}={values[key]}: a directory stands there twice")
            if not 1 <= len(directories) <= MAX_DIRECTORIES:
                what = f"from 1 to {MAX_DIRECTORIES} directories, as controllers take them"
                raise ConfigError(f"{key}={values[key]}: {what}")
            return directories
    kept = "are replicas" if is_broker else "is the metadata log"
    raise ConfigError(f"log.dirs is missing: where {kept} to be kept?")


def _metadata_log_dir(values: Mapping[str, str]) -> str | None:
    directories = _list(values.get(METADATA_LOG_DIR, ""))
    if METADATA_LOG_DIR in values and len(directories) != 1:
        raise ConfigError(f"{METADATA_LOG_DIR}={values[METADATA_LOG_DIR]}: it is one directory")
    return directories[0] if directories else None


def _limits(values: Mapping[str, str]) -> ConnectionLimits:
    limits = ConnectionLimits(**_integers(values, LIMIT_KEYS))
    if limits.queued_max_bytes < limits.request_max_bytes:
        raise ConfigError(
            f"queued.max.request.bytes={limits.queued_max_bytes}: must be "
            f"socket.request.max.bytes ({limits.request_max_bytes}) or more"
        )
    return limits


def _integers(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, int]:
    return {
        name: _integer(values, key, low=_least(key)) for key, name in names.items() if key in values
    }


def _least(key: str) -> int:
    if key in MAY_BE_NONE:
        return -1
    return 0 if key in MAY_BE_ZERO else 1


def _text(values: Mapping[str, str], key: str) -> str:
    if key not in values:
        raise ConfigError(f"{key} is missing")
    return values[key]


def _integer(values: Mapping[str, str], key: str, *, low: int, default: int | None = None) -> int:
    if default is not None and key not in values:
        return default
    text = _text(values, key)
    try:
        value = int(text)
    except ValueError as error:
        raise ConfigError(f"{key}={text}: not a number") from error
    if not low <= value < 1 << 31:
        raise ConfigError(f"{key}={text}: must be {low} or more, and fit 31 bits")
    return value


def _flag(values: Mapping[str, str], key: str) -> bool:
    text = values.get(key, "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{key}={text}: it is true or false")
    return text == "true"


def _list(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]
