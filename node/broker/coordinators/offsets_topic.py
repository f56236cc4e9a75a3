"""`__consumer_offsets`: which of its partitions a group belongs to, and how it is made."""

from struct import unpack

from node.broker.controller_link import ControllerLink
from node.config import GroupSettings
from node.controller.image import Image
from node.ids import NO_NODE, NodeId
from node.wire.apis import Response
from node.wire.create_topics import CreateTopicsRequest, NewTopic, TopicSetting

OFFSETS_TOPIC = "__consumer_offsets"


class OffsetsTopic:
    """Made as Kafka's brokers do, when somebody looks for a coordinator
    (`AutoTopicCreationManager`)."""

    def __init__(self, settings: GroupSettings, link: ControllerLink) -> None:
        self._settings = settings
        self._link = link
        self._is_requested = False

    def partition_of(self, group: str, image: Image) -> int | None:
        """None: there is no such topic yet."""
        topic = image.topics.named(OFFSETS_TOPIC)
        return None if topic is None else java_hash(group) % topic.partitions

    def leader_of(self, group: str, image: Image) -> NodeId | None:
        """-1: nobody leads its partition. None: there is no such topic yet."""
        topic, partition = image.topics.named(OFFSETS_TOPIC), self.partition_of(group, image)
        if topic is None or partition is None:
            return None
        found = image.topics.partition(topic.id, partition)
        return NO_NODE if found is None else NodeId(found.leader)

    def make(self) -> None:
        """Whoever asks again later finds it, or has it asked for again."""
        if self._is_requested:
            return
        self._is_requested = True
        topic = NewTopic(
            name=OFFSETS_TOPIC,
            partitions=self._settings.topic_partitions,
            replication=self._settings.topic_replication,
            configs=(
                TopicSetting(name="cleanup.policy", value="compact"),
                TopicSetting(name="compression.type", value="producer"),
                TopicSetting(name="segment.bytes", value=str(self._settings.topic_segment_bytes)),
            ),
        )
        self._link.send(CreateTopicsRequest(topics=(topic,)), self._created)

    def _created(self, response: Response | None, mono_ns: int) -> None:  # noqa: ARG002 (Answered)
        self._is_requested = False


def java_hash(text: str) -> int:
    """Kafka's `Utils.abs` of Java's `String.hashCode`."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for unit in unpack(f">{len(data) // 2}H", data):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return 0 if signed == -(1 << 31) else abs(signed)
