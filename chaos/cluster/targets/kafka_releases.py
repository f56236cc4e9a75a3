"""What differs between releases of Apache Kafka, as data: which settings came and went.

Taken from the configuration classes in the jars of 4.0.0, 4.1.0, 4.2.0 and 4.3.1, brokers' and
controllers' settings only. What is not listed has been there since 4.0.0, or never was.
"""

from collections.abc import Mapping, Sequence

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
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "transaction.two.phase.commit.enable",
    ),
    "4.2.0": (
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
        "group.consumer.assignor.offload.enable",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.share.assignor.offload.enable",
        "group.share.max.delivery.count.limit",
        "group.streams.assignment.interval.ms",
        "group.streams.assignor.offload.enable",
        "remote.log.metadata.topic.min.isr",
        "share.coordinator.cached.buffer.max.bytes",
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
    "4.3.0": ("group.share.enable",),
}


def why_lacking(release: str, setting: str) -> str:
    """Why a release does not have a setting of Kafka's; "" where it may."""
    for came, names in CAME.items():
        if setting in names and _of(release) < _of(came):
            return f"Apache Kafka {release} has no such setting; it came with {came}"
    for went, names in WENT.items():
        if setting in names and _of(release) >= _of(went):
            return f"Apache Kafka {release} has no such setting; it went with {went}"
    return ""


def _of(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
