"""What a topic's configuration is called where it is set for a broker, or for all of them
(`ServerTopicConfigSynonyms`)."""

_WITH_LOG = (
    "cleanup.policy",
    "index.interval.bytes",
    "local.retention.bytes",
    "local.retention.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "preallocate",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
)
_WITH_CLEANER = ("delete.retention.ms", "max.compaction.lag.ms", "min.compaction.lag.ms")
_SYNONYMS = {
    **{key: f"log.{key}" for key in _WITH_LOG},
    **{key: f"log.cleaner.{key}" for key in _WITH_CLEANER},
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}


def broker_key(key: str) -> str:
    """The first one that Kafka looks for; the same where it has no other name."""
    return _SYNONYMS.get(key, key)
