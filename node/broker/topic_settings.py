"""How topics are configured, as a broker goes by it: as the topic says, or else the broker."""

from node.config import BrokerRole
from node.controller.image import Image
from node.effects import SegmentLimits


def topic_number(image: Image, topic: str, key: str, default: int) -> int:
    value = image.topic_config(topic, key)
    return default if value is None else int(value)


def segment_limits(image: Image, topic: str, role: BrokerRole) -> SegmentLimits:
    return SegmentLimits(
        size=topic_number(image, topic, "segment.bytes", role.segment_bytes),
        ms=topic_number(image, topic, "segment.ms", role.segment_ms),
        index_interval=topic_number(image, topic, "index.interval.bytes", role.index_interval),
    )
