"""Kafka's server.properties, as far as a controller, a broker or both in one process need it.

Kafka ignores what it does not know with a warning, and so do we; what would change the meaning of
the rest (another role, a secured listener) is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from node.config import (
    OF_BROKERS,
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
from node.endpoint import Endpoint
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_DIRECTORIES
from node.server.property_listeners import (
    BOOTSTRAP_SERVERS,
    INTER_BROKER_LISTENER,
    METRICS_LISTENER,
    QUORUM_VOTERS,
    advertised,
    bootstrap_servers,
    controller_listeners,
    endpoints,
    first_named,
    inter_broker_listener,
    metrics_listener,
    quorum_voters,
)
from node.server.property_numbers import (
    BROKER_KEYS,
    COARSE_KEYS,
    GROUP_KEYS,
    LIMIT_KEYS,
    ROLE_KEYS,
    SNAPSHOT_KEYS,
    TIMEOUT_KEYS,
    numbers_at,
    with_finest,
)
from node.server.property_refusals import REFUSED, refuse_unserved
from node.server.property_values import (
    ConfigError,
    entries,
    flag_at,
    integer_at,
    parse_properties,
    text_at,
)

AUTO_CREATE = "auto.create.topics.enable"
AUTO_BALANCE = "auto.leader.rebalance.enable"
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
    """What a file says: the node's settings, and the keys that mean nothing to this version."""

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
        # Not what it does not know: nobody could say that it is no password.
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
    """By what brokers listen to are all listeners but the controllers'."""
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
        unclean=flag_at(values, UNCLEAN_ELECTION), **numbers_at(values, BROKER_KEYS)
    )
    balances = flag_at(values, AUTO_BALANCE, default=True)
    return settings if balances else replace(settings, preferred_check_s=NEVER_S)


def _log_dirs(values: Mapping[str, str], *, is_broker: bool) -> tuple[str, ...]:
    """A broker's are for its replicas, and no others than log.dirs."""
    for key in ("log.dirs", "log.dir") if is_broker else (METADATA_LOG_DIR, "log.dirs", "log.dir"):
        if key in values:
            directories = tuple(entries(values[key]))
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
