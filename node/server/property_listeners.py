"""Where a node listens, and where it finds others, by its properties file."""

from collections.abc import Mapping, Sequence

from node.endpoint import Endpoint, why_not_taken
from node.ids import NodeId
from node.server.property_values import ConfigError, entries, parse_endpoint, text_at

INTER_BROKER_LISTENER = "inter.broker.listener.name"
METRICS_LISTENER = "metrics.listener"  # the one key that Kafka does not have
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
QUORUM_VOTERS = "controller.quorum.voters"


def inter_broker_listener(values: Mapping[str, str], own: Sequence[Endpoint]) -> str:
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
        raise ConfigError(f"{key}={values[key]}: one address for each name, at least one")
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
            raise ConfigError(
                f"{QUORUM_VOTERS}: {entry!r}: {wrong or 'the node stands there twice'}"
            )
        found[NodeId(int(node))] = (endpoint,)
    if own is not None and own not in found:
        raise ConfigError(
            f"{QUORUM_VOTERS}={values[QUORUM_VOTERS]}: it does not list node.id={own}"
        )
    return found
