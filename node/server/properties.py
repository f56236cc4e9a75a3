"""Kafka's server.properties, as far as a controller, a broker or both in one process need it.

As in Kafka an unknown key causes a warning and is ignored; one that would change the meaning of the
rest (another role, a secured listener) is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from node.config import (
    OF_BROKERS,
    BrokerRole,
    BrokerSettings,
    ConnectionLimits,
    GroupSettings,
    NodeConfig,
    QuorumTimeouts,
    RecoveryStrategy,
    SnapshotSettings,
)
from node.controller.config_definitions import KEYS_OF_NODES
from node.controller.decision import RECOVERY_STRATEGY, UNCLEAN_ELECTION, strategy_named
from node.ids import Endpoint, NodeId, why_not_taken
from node.lazy_dataclass import dataclass
from node.limits import MAX_DIRECTORIES
from node.server.property_values import (
    BROKER_KEYS,
    COARSE_KEYS,
    GROUP_KEYS,
    LIMIT_KEYS,
    ROLE_KEYS,
    SNAPSHOT_KEYS,
    TIMEOUT_KEYS,
    ConfigError,
    entries,
    flag_at,
    integer_at,
    numbers_at,
    parse_endpoint,
    parse_properties,
    text_at,
    with_finest,
)

# Kafka's settings that this node does not support, and that a warning is not enough for: an
# operator who sets them relies on them, for durability or access control. Only the value by which
# the node works anyway is accepted.
#
# Other unsupported settings cause a warning at the start, and have no effect;
# `docs/reference/settings.md` says of each which it is.


class Only(NamedTuple):
    """The only value that can be set, "" for none, and why."""

    value: str
    why: str


_POLICY = "policies are Java classes, and none is asked here"
_TIERED, _COMPRESSED = "no log is tiered here", "batches stay as producers compressed them"
REFUSED = {
    "alter.config.policy.class.name": Only("", _POLICY),
    "authorizer.class.name": Only("", "any client that reaches a listener may do everything there"),
    "client.quota.callback.class": Only("", _POLICY),
    "compression.type": Only("producer", _COMPRESSED),
    "controlled.shutdown.enable": Only("true", "a broker that is to stop is always let go first"),
    "create.topic.policy.class.name": Only("", _POLICY),
    "delete.topic.enable": Only("true", "any client that may create topics may delete them"),
    "log.cleanup.policy": Only("delete", "logs are not compacted here"),
    "log.flush.interval.ms": Only(
        str(2**63 - 1), "no log is flushed by time; log.flush.interval.messages is in force"
    ),
    "remote.log.storage.system.enable": Only("false", _TIERED),
    "replica.selector.class": Only("", "consumers are sent to no other replica than the leader"),
    "security.inter.broker.protocol": Only("PLAINTEXT", "only PLAINTEXT can be served"),
}


def refuse_unserved(values: Mapping[str, str]) -> None:
    """Raises ConfigError."""
    for key, only in REFUSED.items():
        said = values.get(key)
        if said is not None and _plain(said) != _plain(only.value):
            can_be = f"set to {only.value} or left out" if only.value else "left out"
            raise ConfigError(f"{key}={said}: {only.why}; it can only be {can_be}")


def _plain(value: str) -> list[str]:
    return entries(value.lower())


# The listeners of a node, and the addresses of other nodes.


INTER_BROKER_LISTENER = "inter.broker.listener.name"
METRICS_LISTENER = "metrics.listener"  # the one key that Kafka does not have
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
QUORUM_VOTERS = "controller.quorum.voters"


def inter_broker_listener(values: Mapping[str, str], own: Sequence[Endpoint]) -> str:
    """The listener by which brokers reach each other; by default the first."""
    names = [endpoint.name for endpoint in own]
    if not names:
        raise ConfigError("listeners: all are among controller.listener.names; a broker has others")
    name = values.get(INTER_BROKER_LISTENER, names[0])
    if name not in names:
        raise ConfigError(
            f"{INTER_BROKER_LISTENER}={name}: it is not among the broker's listeners ({names})"
        )
    return name


def controller_listeners(
    values: Mapping[str, str], listeners: tuple[Endpoint, ...], *, are_own: bool
) -> list[str]:
    names = entries(text_at(values, "controller.listener.names"))
    known = [endpoint.name for endpoint in listeners]
    for name in names:
        if are_own and name not in known:
            raise ConfigError(f"controller.listener.names: {name} is not among listeners ({known})")
        if not are_own and name in known:
            raise ConfigError(f"listeners: a broker does not listen as {name}")
    if not names:
        raise ConfigError("controller.listener.names is empty")
    return names


def first_named(name: str, endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(sorted(endpoints, key=lambda endpoint: endpoint.name != name))


def advertised(
    listeners: tuple[Endpoint, ...], advertised: tuple[Endpoint, ...]
) -> Sequence[Endpoint]:
    """Every listener has an advertised address."""
    by_name = {endpoint.name: endpoint for endpoint in advertised}
    for name in by_name:
        if name not in {endpoint.name for endpoint in listeners}:
            raise ConfigError(f"advertised.listeners: {name} is not among listeners")
    return [by_name.get(endpoint.name, endpoint) for endpoint in listeners]


def endpoints(
    values: Mapping[str, str], key: str, *, otherwise: tuple[Endpoint, ...] | None = None
) -> tuple[Endpoint, ...]:
    if otherwise is not None and key not in values:
        return otherwise
    found = tuple(parse_endpoint(entry, key) for entry in entries(text_at(values, key)))
    if len({endpoint.name for endpoint in found}) != len(found) or not found:
        raise ConfigError(
            f"{key}={values[key]}: it must have one address for each name, and at least one"
        )
    return found


def metrics_listener(values: Mapping[str, str]) -> Endpoint | None:
    """HOST:PORT; an empty host means every address."""
    text = values.get(METRICS_LISTENER)
    return None if text is None else parse_endpoint(f"METRICS://{text}", METRICS_LISTENER)


def bootstrap_servers(values: Mapping[str, str], inner: str) -> tuple[Endpoint, ...]:
    """Controllers that may know the leader, by their listener for controllers: HOST:PORT,..."""
    found = entries(values.get(BOOTSTRAP_SERVERS, ""))
    return tuple(parse_endpoint(f"{inner}://{entry}", BOOTSTRAP_SERVERS) for entry in found)


def quorum_voters(
    values: Mapping[str, str], inner: str, own: NodeId | None
) -> Mapping[NodeId, tuple[Endpoint, ...]]:
    """All voters, by their listener for controllers: ID@HOST:PORT,... None: the disk names them."""
    if QUORUM_VOTERS not in values:
        return {}
    found: dict[NodeId, tuple[Endpoint, ...]] = {}
    for entry in entries(values[QUORUM_VOTERS]):
        node, at, address = entry.partition("@")
        if not (at and node.isdecimal() and int(node) < 1 << 31):
            raise ConfigError(f"{QUORUM_VOTERS}: {entry!r} is not ID@HOST:PORT")
        endpoint = parse_endpoint(f"{inner}://{address}", QUORUM_VOTERS)
        wrong = why_not_taken((endpoint,))
        if wrong is not None or NodeId(int(node)) in found:
            raise ConfigError(f"{QUORUM_VOTERS}: {entry!r}: {wrong or 'the node is listed twice'}")
        found[NodeId(int(node))] = (endpoint,)
    if own is not None and own not in found:
        raise ConfigError(
            f"{QUORUM_VOTERS}={values[QUORUM_VOTERS]}: it does not list node.id={own}"
        )
    return found


AUTO_CREATE = "auto.create.topics.enable"
AUTO_BALANCE = "auto.leader.rebalance.enable"
RECOVERY_MANAGER = "unclean.recovery.manager.enabled"
TIMESTAMP_TYPE = "log.message.timestamp.type"
METADATA_LOG_DIR = "metadata.log.dir"
QUEUED_MAX_BYTES = "queued.max.request.bytes"
KNOWN_KEYS = {
    *TIMEOUT_KEYS,
    *LIMIT_KEYS,
    *SNAPSHOT_KEYS,
    *BROKER_KEYS,
    *ROLE_KEYS,
    *GROUP_KEYS,
    UNCLEAN_ELECTION,
    RECOVERY_MANAGER,
    RECOVERY_STRATEGY,
    AUTO_CREATE,
    AUTO_BALANCE,
    TIMESTAMP_TYPE,
    *REFUSED,
    *COARSE_KEYS,
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
NEVER_S = 2**31 - 1  # in seconds, longer than any process lives
_CONTROLLER, _BROKER = "controller", "broker"
_ROLES = (_CONTROLLER, _BROKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The content of a file: the node's settings, and the keys that this version does not know."""

    config: NodeConfig
    unknown: tuple[str, ...]


def read_settings(path: Path) -> Settings:
    """Raises ConfigError; OSError if the file cannot be read."""
    return parse_settings(path.read_text(encoding="utf-8"))


def parse_settings(text: str) -> Settings:
    """The text of a properties file. Raises ConfigError."""
    values = with_finest(parse_properties(text))
    refuse_unserved(values)
    roles = _roles(values)
    _refuse_secured(values)
    listeners = endpoints(values, "listeners")
    whole = advertised(listeners, endpoints(values, "advertised.listeners", otherwise=listeners))
    of_controllers = controller_listeners(values, listeners, are_own=_CONTROLLER in roles)
    inner = of_controllers[0]
    role = _broker_role(values, whole, of_controllers) if _BROKER in roles else None
    own = [at for at in whole if role is None or at not in role.advertised]
    node_id = NodeId(integer_at(values, "node.id", low=0))
    config = NodeConfig(
        node_id=node_id,
        log_dirs=_log_dirs(values, is_broker=_BROKER in roles),
        metadata_log_dir=_metadata_log_dir(values),
        listeners=listeners,
        advertised=first_named(inner, own) if _CONTROLLER in roles else (),
        metrics=metrics_listener(values),
        bootstrap_servers=bootstrap_servers(values, inner),
        quorum_voters=quorum_voters(values, inner, node_id if _CONTROLLER in roles else None),
        timeouts=QuorumTimeouts(**numbers_at(values, TIMEOUT_KEYS)),
        limits=_limits(values, OF_BROKERS if _BROKER in roles else ConnectionLimits()),
        snapshots=SnapshotSettings(**numbers_at(values, SNAPSHOT_KEYS)),
        brokers=_broker_settings(values),
        groups=GroupSettings(**numbers_at(values, GROUP_KEYS)),
        role=role,
        segment_bytes=integer_at(values, "metadata.log.segment.bytes", low=1024, default=1 << 30),
        # Without unknown keys: their values may be passwords.
        started_with={key: value for key, value in values.items() if key in _TOLD_KEYS},
    )
    return Settings(config=config, unknown=tuple(sorted(set(values) - KNOWN_KEYS)))


def _roles(values: Mapping[str, str]) -> list[str]:
    """One of the two, or both in any order."""
    roles = entries(text_at(values, "process.roles"))
    if not roles or len(set(roles)) != len(roles) or not set(roles) <= set(_ROLES):
        raise ConfigError(
            f"process.roles={values['process.roles']}: it is controller, broker, or both"
            " (broker,controller)"
        )
    return roles


def _refuse_secured(values: Mapping[str, str]) -> None:
    for entry in entries(values.get("listener.security.protocol.map", "")):
        name, _, protocol = entry.partition(":")
        if protocol != "PLAINTEXT":
            raise ConfigError(
                f"listener.security.protocol.map: {name} is {protocol or 'nothing'}; "
                "only PLAINTEXT can be served"
            )


def _broker_role(
    values: Mapping[str, str], whole: Sequence[Endpoint], of_controllers: Sequence[str]
) -> BrokerRole:
    """A broker's listeners are all but the controllers'."""
    own = [endpoint for endpoint in whole if endpoint.name not in of_controllers]
    return BrokerRole(
        auto_create=flag_at(values, AUTO_CREATE, default=True),
        takes_append_time=_takes_append_time(values),
        controller_listener=of_controllers[0],
        advertised=first_named(inter_broker_listener(values, own), own),
        **numbers_at(values, ROLE_KEYS),
    )


def _takes_append_time(values: Mapping[str, str]) -> bool:
    kind = values.get(TIMESTAMP_TYPE, "CreateTime")
    if kind not in ("CreateTime", "LogAppendTime"):
        raise ConfigError(f"{TIMESTAMP_TYPE}={kind}: it is CreateTime or LogAppendTime")
    return kind == "LogAppendTime"


def _broker_settings(values: Mapping[str, str]) -> BrokerSettings:
    settings = BrokerSettings(
        unclean=flag_at(values, UNCLEAN_ELECTION),
        recovery_manager=flag_at(values, RECOVERY_MANAGER),
        recovery_strategy=_recovery_strategy(values),
        **numbers_at(values, BROKER_KEYS),
    )
    balances = flag_at(values, AUTO_BALANCE, default=True)
    return settings if balances else replace(settings, preferred_check_s=NEVER_S)


def _recovery_strategy(values: Mapping[str, str]) -> RecoveryStrategy | None:
    if RECOVERY_STRATEGY not in values:
        return None
    try:
        return strategy_named(values[RECOVERY_STRATEGY])
    except ValueError as error:
        known = ", ".join(RecoveryStrategy)
        told = f"{RECOVERY_STRATEGY}={values[RECOVERY_STRATEGY]}: it is one of {known}"
        raise ConfigError(told) from error


def _log_dirs(values: Mapping[str, str], *, is_broker: bool) -> tuple[str, ...]:
    """A broker's are for its replicas, and are log.dirs alone."""
    for key in ("log.dirs", "log.dir") if is_broker else (METADATA_LOG_DIR, "log.dirs", "log.dir"):
        if key in values:
            directories = tuple(entries(values[key]))
            if len(directories) != 1 and not is_broker:
                raise ConfigError(f"{key}={values[key]}: a controller has one directory")
            if len(set(directories)) != len(directories):
                raise ConfigError(f"{key}={values[key]}: a directory is listed twice")
            if not 1 <= len(directories) <= MAX_DIRECTORIES:
                what = f"from 1 to {MAX_DIRECTORIES} directories, as controllers take them"
                raise ConfigError(f"{key}={values[key]}: {what}")
            return directories
    kept = "replicas" if is_broker else "the metadata log"
    raise ConfigError(f"log.dirs is missing: it names the directory of {kept}")


def _metadata_log_dir(values: Mapping[str, str]) -> str | None:
    directories = entries(values.get(METADATA_LOG_DIR, ""))
    if METADATA_LOG_DIR in values and len(directories) != 1:
        raise ConfigError(f"{METADATA_LOG_DIR}={values[METADATA_LOG_DIR]}: it is one directory")
    return directories[0] if directories else None


def _limits(values: Mapping[str, str], default: ConnectionLimits) -> ConnectionLimits:
    limits = replace(default, **numbers_at(values, LIMIT_KEYS))
    if QUEUED_MAX_BYTES not in values:
        most = max(limits.queued_max_bytes, limits.request_max_bytes)
        return replace(limits, queued_max_bytes=most)
    if limits.queued_max_bytes < limits.request_max_bytes:
        raise ConfigError(
            f"{QUEUED_MAX_BYTES}={limits.queued_max_bytes}: must be "
            f"socket.request.max.bytes ({limits.request_max_bytes}) or more"
        )
    return limits
