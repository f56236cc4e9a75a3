"""Settings of Kafka's that this node has not, and that cannot be passed over with a warning: who
sets them counts on them, for what is kept, or for who may do what. The value by which the node
works anyway is taken.

What else it does not have is warned of at the start, and has no effect;
`docs/reference/settings.md` says of each which it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

from node.server.property_values import ConfigError, entries


class Only(NamedTuple):
    """What alone can be set, "" for nothing, and why."""

    value: str
    why: str


_POLICY = "policies are Java classes, and none is asked here"
_TIERED, _COMPRESSED = "no log is tiered here", "batches stay as producers compressed them"
REFUSED = {
    "alter.config.policy.class.name": Only("", _POLICY),
    "authorizer.class.name": Only("", "whoever reaches a listener may do everything there"),
    "client.quota.callback.class": Only("", _POLICY),
    "compression.type": Only("producer", _COMPRESSED),
    "controlled.shutdown.enable": Only("true", "a broker that is to stop is always let go first"),
    "create.topic.policy.class.name": Only("", _POLICY),
    "delete.topic.enable": Only("true", "whoever may create topics may delete them"),
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
