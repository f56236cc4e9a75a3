"""`__consumer_offsets`: its creation, and the partition and coordinator of each group."""

from collections.abc import Mapping
from struct import unpack

from node.broker.controller_link import ControllerLink
from node.config import GroupSettings
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, NodeId
from node.wire.apis import Response
from node.wire.group_descriptions import GROUP, TRANSACTION, Coordinator, FindCoordinatorRequest
from node.wire.topic_changes import CreateTopicsRequest, NewTopic, TopicSetting

OFFSETS_TOPIC = "__consumer_offsets"


class OffsetsTopic:
    """Made as Kafka's brokers do, when a client looks for a coordinator
    (`AutoTopicCreationManager`).
    """

    def __init__(self, settings: GroupSettings, link: ControllerLink) -> None:
        self._settings = settings
        self._link = link
        self._is_requested = False

    def partition_of(self, group: str, image: Image) -> int | None:
        """None: there is no such topic yet."""
        topic = image.topics.named(OFFSETS_TOPIC)
        return None if topic is None else java_hash(group) % topic.partitions

    def leader_of(self, group: str, image: Image) -> NodeId | None:
        """-1: its partition has no leader. None: there is no such topic yet."""
        topic, partition = image.topics.named(OFFSETS_TOPIC), self.partition_of(group, image)
        if topic is None or partition is None:
            return None
        found = image.topics.partition(topic.id, partition)
        return NO_NODE if found is None else NodeId(found.leader)

    def make(self) -> None:
        """A client that asks again later finds it, or causes another creation."""
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


# FindCoordinator: the leader of a group's partition.


def coordinators(
    request: FindCoordinatorRequest,
    topic: OffsetsTopic,
    image: Image,
    brokers: Mapping[NodeId, Endpoint],
) -> tuple[Coordinator, ...]:
    """One for each key, of the brokers that are up. If there is no topic, its creation is
    requested.
    """
    refusal = _why_not(request.key_type)
    found = []
    for key in request.keys:
        if refusal is not ErrorCode.NONE:
            found.append(Coordinator(key=key, error=refusal))
        else:
            found.append(_coordinator(key, topic, image, brokers))
    return tuple(found)


def _why_not(key_type: int) -> ErrorCode:
    """There are no transactions here: an older broker would answer the same, and a client with that
    answer does not ask again.
    """
    if key_type == GROUP:
        return ErrorCode.NONE
    is_transaction = key_type == TRANSACTION
    return ErrorCode.UNSUPPORTED_VERSION if is_transaction else ErrorCode.INVALID_REQUEST


def _coordinator(
    group: str, topic: OffsetsTopic, image: Image, brokers: Mapping[NodeId, Endpoint]
) -> Coordinator:
    leader = topic.leader_of(group, image)
    if leader is None:
        topic.make()
        return Coordinator(key=group, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    at = brokers.get(leader)
    if at is None:
        return Coordinator(key=group, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=group, node=leader, host=at.host, port=at.port)
