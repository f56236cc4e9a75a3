"""The kinds of requests that both clusters are asked, and how often each is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from node.wire.offsets import LATEST_TIME, SPECIAL_TIMES
from tests.differential.values import (
    ADMIN,
    ALTERED,
    ANY_NAMES,
    ASSIGNED,
    BY_ID,
    GROUPS,
    KEPT_NAMES,
    LED_ALONE,
    MOST_INT64,
    NAMES_OF_SOMETHING,
    OF_CONFIGS,
    OF_GROUPS,
    PRODUCED,
    SOUGHT_OFFSETS,
    no_id,
)
from tests.fuzz.drawing import CLIENTS, Draw, one_of

_TIMES = tuple(each for each in SPECIAL_TIMES if each != LATEST_TIME)

# What may be asked once more. A new producer id is as good as another.
READS = {
    "InitProducerId",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
    "FindCoordinator",
    "DescribeGroups",
    "ListGroups",
    "DescribeTopicPartitions",
    "DescribeConfigs",
    "DescribeCluster",
    "ListPartitionReassignments",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Requests of one API. `weight`: how often, beside others. With acks=0 nobody is answered."""

    name: str
    api: str
    weight: int
    values: Mapping[str, Draw]
    answered: bool = True
    since: int = 0  # the first version that is asked

    @property
    def clients(self) -> Sequence[str | None]:
        """Who asks. Where a name leaves no room for a member's, Apache Kafka has an exception, and
        a member that its group then waits for (docs/results/findings.md)."""
        return CLIENTS[:-1] if self.api == "JoinGroup" else CLIENTS

    @property
    def reads(self) -> bool:
        """It changes nothing, and may be asked again."""
        return self.api in READS


def _kind(
    name: str, weight: int, *values: Mapping[str, Draw], answered: bool = True, since: int = 0
) -> Kind:
    """`name` begins with the API's."""
    joined: dict[str, Draw] = {}
    for each in values:
        joined |= each
    api = name.split()[0]
    return Kind(name=name, api=api, weight=weight, values=joined, answered=answered, since=since)


KINDS: tuple[Kind, ...] = (
    _kind("Produce", 22, PRODUCED),
    _kind("Produce of a producer", 4, PRODUCED),
    _kind("Produce to one replica", 8, PRODUCED, LED_ALONE, {"acks": one_of(1)}),
    _kind("Produce unanswered", 2, PRODUCED, LED_ALONE, {"acks": one_of(0)}, answered=False),
    _kind(
        "Fetch",
        20,
        {
            "FetchTopic.topic": KEPT_NAMES,
            "max_wait": one_of(0, 1, 50),
            "min_bytes": one_of(0, 1, 1, -1),
            "max_bytes": one_of(1 << 20, 1 << 20, 1, 0),
            "partition_max_bytes": one_of(1 << 20, 1 << 20, 1, 0, -1),
            "session_id": one_of(*[0] * 8, 5),
            "session_epoch": one_of(*[-1] * 8, 3),
            "fetch_offset": SOUGHT_OFFSETS,
            "last_fetched_epoch": one_of(0, -1, -1, -1, 3),
            "log_start_offset": one_of(-1),
            "forgotten_topics_data": one_of(0),
            "cluster_id": one_of("a-cluster"),
            "high_watermark": one_of(MOST_INT64),
            "replica_directory_id": one_of(UUID(int=0)),
        },
    ),
    _kind(
        "ListOffsets",
        10,
        {
            "ListOffsetsTopic.name": KEPT_NAMES,
            "timestamp": one_of(*_TIMES, 0, 999, 1000, 1001, MOST_INT64, -100),
        },
    ),
    _kind(
        "ListOffsets of the latest time",
        2,
        {"ListOffsetsTopic.name": KEPT_NAMES, "timestamp": one_of(LATEST_TIME)},
    ),
    _kind(
        "DeleteRecords",
        4,
        {"DeleteRecordsTopic.name": KEPT_NAMES, "offset": one_of(0, 1, 2, 3, -1, 1000, -2)},
    ),
    _kind("OffsetForLeaderEpoch", 5, {"topic": KEPT_NAMES}),
    _kind("Metadata", 6, {"MetadataRequestTopic.name": ANY_NAMES, "topic_id": no_id}),
    _kind("Metadata by id", 3, BY_ID),
    _kind("DescribeCluster", 1, {"endpoint_type": one_of(1, 1, 2, 3)}),
    _kind(
        "DescribeTopicPartitions",
        5,
        {
            "TopicRequest.name": NAMES_OF_SOMETHING,
            "topics": one_of(0, 1, 2, 3),
            "cursor": one_of(None),
            "response_partition_limit": one_of(1, 2, 2000, 0, -1),
            "topic_name": ANY_NAMES,
        },
    ),
    _kind(
        "InitProducerId",
        2,
        {
            "transactional_id": one_of(None, None, None, ""),
            "transaction_timeout": one_of(1000, 0, -1),
            "producer_id": one_of(-1, -1, 7),
            "producer_epoch": one_of(-1, -1, 0),
        },
    ),
    _kind(
        "FindCoordinator",
        2,
        {
            "key": GROUPS,
            "coordinator_keys[]": GROUPS,
            "coordinator_keys": one_of(1, 2, 0),
            "key_type": one_of(0, 0, 7),
        },
    ),
    _kind("OffsetCommit", 5, OF_GROUPS),
    _kind("OffsetFetch", 4, OF_GROUPS),
    _kind(
        "JoinGroup", 2, OF_GROUPS, {"member_id": one_of("somebody"), "group_id": one_of("j", "")}
    ),
    _kind("SyncGroup", 1, OF_GROUPS),
    _kind("Heartbeat", 1, OF_GROUPS),
    _kind("LeaveGroup", 1, OF_GROUPS),
    _kind("DescribeGroups", 1, OF_GROUPS),
    _kind("ListGroups", 1, OF_GROUPS),
    _kind("DescribeConfigs", 5, OF_CONFIGS),
    # Not of a broker that there is: ours takes that at any broker (docs/results/findings.md).
    _kind("IncrementalAlterConfigs", 8, OF_CONFIGS, {"resource_name": ALTERED}),
    _kind("CreateTopics", 9, ADMIN),
    _kind("CreateTopics with assignments", 4, ADMIN, ASSIGNED),
    _kind("DeleteTopics", 5, ADMIN, {"DeleteTopicState.topic_id": no_id}),
    _kind("DeleteTopics by id", 3, ADMIN, {"DeleteTopicState.name": one_of(*[None] * 4)}),
    _kind("CreatePartitions", 6, ADMIN, {"assignments": one_of(None, None, 0, 1, 2)}),
    _kind("ElectLeaders", 3, ADMIN),
    # At the limits to nobody, or back from where nobody is.
    _kind(
        "AlterPartitionReassignments",
        3,
        ADMIN,
        {"replicas": one_of(None, 0, 1, 2), "replicas[]": one_of(7, -1)},
    ),
    _kind("ListPartitionReassignments", 2, ADMIN),
    # Version 0 cannot only be validated.
    _kind("UpdateFeatures", 2, ADMIN, {"validate_only": one_of(True)}, since=1),
)
