"""How topics are configured, as a broker goes by it: as the topic says, else what is set for all
brokers, else the broker's own file."""

from node.config import BrokerRole
from node.controller.image import Image
from node.controller.image.configurations import CLUSTER, TOPIC
from node.effects import SegmentLimits
from node.lazy_dataclass import dataclass

LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """`before_max_ms`, `after_max_ms`: how far timestamps may lie from the leader's clock; where
    `takes_append_time` it gives them itself. A retention of -1 is for ever."""

    segments: SegmentLimits
    min_isr: int
    batch_bytes: int
    takes_append_time: bool
    before_max_ms: int
    after_max_ms: int
    retention_ms: int
    retention_bytes: int


class ConfiguredTopics:
    """Of all topics, each read again when something was set that concerns it."""

    def __init__(self, role: BrokerRole, min_isr: int) -> None:
        self._role = role
        self._min_isr = min_isr
        # With what it was read from: values of the image, which are replaced and never changed.
        self._read: dict[str, tuple[object, object, TopicSettings]] = {}

    def of(self, image: Image, topic: str) -> TopicSettings:
        own, of_all = image.configs.of((TOPIC, topic)), image.configs.of(CLUSTER)
        found = self._read.get(topic)
        if found is None or found[0] is not own or found[1] is not of_all:
            found = self._read[topic] = (own, of_all, self._settings(image, topic))
        return found[2]

    def forget(self, topic: str) -> None:
        self._read.pop(topic, None)

    def _settings(self, image: Image, topic: str) -> TopicSettings:
        role = self._role

        def number(key: str, default: int) -> int:
            value = image.topic_config(topic, key)
            return default if value is None else int(value)

        kind = image.topic_config(topic, "message.timestamp.type")
        return TopicSettings(
            segments=SegmentLimits(
                size=number("segment.bytes", role.segment_bytes),
                ms=number("segment.ms", role.segment_ms),
                index_interval=number("index.interval.bytes", role.index_interval),
                flush_messages=number("flush.messages", role.flush_messages),
            ),
            min_isr=number("min.insync.replicas", self._min_isr),
            batch_bytes=number("max.message.bytes", role.message_bytes),
            takes_append_time=role.takes_append_time if kind is None else kind == LOG_APPEND_TIME,
            before_max_ms=number("message.timestamp.before.max.ms", role.before_max_ms),
            after_max_ms=number("message.timestamp.after.max.ms", role.after_max_ms),
            retention_ms=number("retention.ms", role.retention_ms),
            retention_bytes=number("retention.bytes", role.retention_bytes),
        )
