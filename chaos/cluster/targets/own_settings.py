"""The settings of a cluster of our own node, with the names of Apache Kafka's settings.

Plain words are the harness's, as there. Names with a dot are Kafka's: a number that goes into every
node's configuration as it is. The node's settings are listed here a second time, since the harness
does not import it; a test holds both equal.
"""

import re
from collections.abc import Mapping, Sequence

from chaos.cluster.targets.kafka_settings import MOST, SettingError, read_settings
from chaos.cluster.targets.node import BOOTSTRAP, FORMS, LISTED, NODES, QUORUM, OwnNode
from chaos.cluster.targets.own_brokers import (
    BROKERS,
    CONTROLLERS,
    OF_BROKERS,
    RECOVERIES,
    RECOVERY,
    own_brokers,
)
from chaos.conditions import Conditions

_SYNCED_FORMAT = "synced_format"
_MOST = 7  # nodes, as many as a seed draws
_VALUES: Mapping[str, Sequence[str]] = {
    _SYNCED_FORMAT: ("on", "off", "waits"),
    QUORUM: FORMS,
    BOOTSTRAP: [str(count) for count in range(_MOST + 1)],
    NODES: [str(count) for count in range(1, _MOST + 1)],
    BROKERS: [str(count) for count in range(MOST + 1)],
    RECOVERY: RECOVERIES,
}
OF_NODES = (
    "connections.max.idle.ms",
    "controller.quorum.append.linger.ms",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.max.bytes",
    "controller.quorum.fetch.snapshot.max.bytes",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quorum.retry.backoff.ms",
    "max.connections",
    "max.connections.per.ip",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.bytes",
    "metadata.max.idle.interval.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "queued.max.request.bytes",
    "socket.request.max.bytes",
)
# Settings that need brokers.
BESIDE_BROKERS = (
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "controller.socket.timeout.ms",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.min.session.timeout.ms",
    "leader.imbalance.check.interval.seconds",
    "log.flush.interval.messages",
    "log.flush.offset.checkpoint.interval.ms",
    "log.index.interval.bytes",
    "log.initial.task.delay.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "max.request.partition.size.limit",
    "message.max.bytes",
    "num.partitions",
    "offset.metadata.max.bytes",
    "offsets.commit.timeout.ms",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "offsets.topic.segment.bytes",
    "producer.id.expiration.check.interval.ms",
    "producer.id.expiration.ms",
    "replica.fetch.backoff.ms",
    "replica.fetch.max.bytes",
    "replica.fetch.wait.max.ms",
    "replica.lag.time.max.ms",
    "replica.socket.timeout.ms",
    "unclean.leader.election.interval.ms",
    "unclean.recovery.timeout.ms",
)
# Settings of Kafka's that our node does not need, each with the reason.
_SETTLED = {
    "initial.broker.registration.timeout.ms": "a broker of ours asks until it is registered",
    "log.flush.start.offset.checkpoint.interval.ms": (
        "where logs of ours begin is durable before a client is told that records were deleted"
    ),
}
_NUMBER = re.compile(r"-?\d{1,10}", re.ASCII)


def own_node(words: Mapping[str, str], mutation: str, conditions: Conditions) -> OwnNode:
    """Our own node from the words of a command line. Raises SettingError."""
    configuration = {name: value for name, value in words.items() if "." in name}
    read_settings(configuration)  # refuses settings that the harness makes, or has a word for
    has_brokers = words.get(BROKERS, "0") != "0"
    brokers, controllers = own_brokers(words)
    if has_brokers and NODES in words:
        beside = f"beside brokers there are {CONTROLLERS}=1 or 3"
        raise SettingError(f"{NODES}={words[NODES]}: {beside}")
    for name, value in words.items():
        if why := _why_not(name, value, has_brokers=has_brokers):
            raise SettingError(f"{name}={value}: {why}")
    synced = words.get(_SYNCED_FORMAT, "on")
    return OwnNode(
        mutation=mutation,
        conditions=conditions,
        synced_format=synced == "on",
        waits_when_formatted=synced == "waits",
        nodes=controllers or int(words.get(NODES, "3")),
        brokers=brokers,
        form=words.get(QUORUM, LISTED),
        bootstrap=int(words.get(BOOTSTRAP, "0")),
        configuration=configuration,
    )


def _why_not(name: str, value: str, *, has_brokers: bool) -> str:
    """Why our node cannot have a setting; "" if it can."""
    if name == RECOVERY and not has_brokers:
        return f"that is a setting of brokers, and there are none; with {BROKERS}=N there are"
    if "." in name:
        return _why_not_kafkas(name, value, has_brokers=has_brokers)
    if value in _VALUES.get(name, ()) or (has_brokers and name in OF_BROKERS):
        return ""
    return f"our own node has {_all()}; --target kafka has more"


def _why_not_kafkas(name: str, value: str, *, has_brokers: bool) -> str:
    if name in _SETTLED:
        return f"our own node has no such setting: {_SETTLED[name]}"
    if name in BESIDE_BROKERS and not has_brokers:
        return f"that is a setting of brokers, and there are none; with {BROKERS}=N there are"
    if name in OF_NODES or name in BESIDE_BROKERS:
        return "" if _NUMBER.fullmatch(value) else "it is a whole number"
    return "our own node has no such setting; `kraft-node start --help` tells those that it has"


def _all() -> str:
    own = ", ".join(f"{name} ({' '.join(values)})" for name, values in _VALUES.items())
    return f"{own}, and with {BROKERS} {', '.join(OF_BROKERS)}"
