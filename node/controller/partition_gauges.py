"""What metrics tell of partitions at a moment (KIP-966, "Metrics"), by what is committed here."""

from node.config import BrokerSettings
from node.controller.image import Image
from node.controller.replica_rules import min_isr


def partition_gauges(image: Image, settings: BrokerSettings) -> dict[str, int]:
    electable = under_min_isr = 0
    for (topic_id, _), found in image.topics.partitions():
        topic = image.topics.find(topic_id)
        assert topic is not None, f"{topic_id} is no topic"
        least = min_isr(image, topic, len(found.replicas), settings.min_isr)
        electable += len(found.isr) + len(found.elr)
        under_min_isr += len(found.isr) < least
    return {
        "electable-leaders": electable,
        "global-under-min-isr-partition-count": under_min_isr,
    }
