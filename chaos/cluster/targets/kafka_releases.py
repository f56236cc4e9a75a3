"""What differs between releases of Apache Kafka, as data: which settings there are, came and went.

Taken from the configuration definitions in the jars of 4.0.0, 4.1.0, 4.2.0, 4.3.1 and 4.4.0: what
differs between 4.2.0 and 4.3.1 counts as of 4.3.0.
"""

import difflib
from collections.abc import Mapping, Sequence

from chaos.cluster.targets.kafka_setting_names import IN_THE_FIRST

# The first release that has it.
CAME: Mapping[str, Sequence[str]] = {
    "4.1.0": (
        "group.consumer.regex.refresh.interval.ms",
        "group.share.assignors",
        "group.share.max.share.sessions",
        "group.streams.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
        "group.streams.max.session.timeout.ms",
        "group.streams.max.size",
        "group.streams.max.standby.replicas",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.num.standby.replicas",
        "group.streams.session.timeout.ms",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "internal.metadata.max.fetch.size.in.bytes",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "transaction.two.phase.commit.enable",
    ),
    "4.2.0": (
        "config.providers",
        "controller.quorum.auto.join.enable",
        "group.share.initialize.retry.interval.ms",
        "group.streams.initial.rebalance.delay.ms",
        "remote.log.manager.follower.thread.pool.size",
    ),
    "4.3.0": (
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
        "group.share.max.delivery.count.limit",
        "group.share.max.partition.max.record.locks",
        "group.share.min.assignment.interval.ms",
        "group.share.min.delivery.count.limit",
        "group.share.min.partition.max.record.locks",
        "group.streams.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "remote.log.index.file.cache.ttl.ms",
        "share.coordinator.cached.buffer.max.bytes",
    ),
    "4.4.0": (
        "errors.deadletterqueue.auto.create.topics.enable",
        "errors.deadletterqueue.topic.name.prefix",
        "group.consumer.assignor.offload.enable",
        "group.share.assignor.offload.enable",
        "group.share.dlq.manager.class.name",
        "group.streams.acceptable.recovery.lag",
        "group.streams.assignor.offload.enable",
        "group.streams.assignors",
        "group.streams.max.warmup.replicas",
        "group.streams.min.task.offset.interval.ms",
        "group.streams.num.warmup.replicas",
        "group.streams.rack.aware.assignment.tags",
        "group.streams.task.offset.interval.ms",
        "group.streams.topology.description.plugin.class",
        "log.remote.copy.lag.bytes",
        "log.remote.copy.lag.ms",
        "max.decompressed.message.bytes",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
    ),
}
# The first release that does not have it any more.
WENT: Mapping[str, Sequence[str]] = {
    "4.1.0": (
        "group.coordinator.new.enable",
        "group.share.max.groups",
        "metadata.log.segment.min.bytes",
        "share.fetch.max.fetch.records",
    ),
    "4.3.0": (
        "group.share.enable",
        "internal.metadata.max.fetch.size.in.bytes",
    ),
}
_KNOWN = IN_THE_FIRST.union(*CAME.values())
# With one listener of any name.
_OF_A_LISTENER = "listener.name."


def why_lacking(release: str, setting: str) -> str:
    """Why a release does not have a setting of Kafka's, a name with a dot; "" where it has."""
    for came, names in CAME.items():
        if setting in names and _of(release) < _of(came):
            return f"Apache Kafka {release} has no such setting; it came with {came}"
    for went, names in WENT.items():
        if setting in names and _of(release) >= _of(went):
            return f"Apache Kafka {release} has no such setting; it went with {went}"
    if setting in _KNOWN or setting.startswith(_OF_A_LISTENER):
        return ""
    near = difflib.get_close_matches(setting, _KNOWN, n=3)
    return "no release of Apache Kafka has such a setting" + (
        f"; near it are {', '.join(near)}" if near else ""
    )


def _of(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
