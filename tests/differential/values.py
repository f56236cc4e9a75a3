"""What fields of requests may hold: sound values, values at the limits, and what there is not.

By the name that kio gives the field, alone or with its class; of an array how many it has, and
under `name[]` of what (`tests.fuzz.drawing`).
"""

from collections.abc import Mapping
from random import Random
from uuid import UUID

from tests.differential.batches import sent
from tests.differential.topics import CHURNED, KEPT, OFFSETS
from tests.fuzz.drawing import Draw, one_of

MOST_INT64 = 2**63 - 1
_BAD_NAMES = ("", ".", "..", "bad name", "grün", "x" * 250, "__cluster_metadata")


KEPT_NAMES = one_of(*[*KEPT] * 5, "one", "one", "none", "", "bad name")
CHURNED_NAMES = one_of(*CHURNED, *CHURNED, "none", *_BAD_NAMES)
ANY_NAMES = one_of(*KEPT, *CHURNED, "moved", OFFSETS, "none", *_BAD_NAMES)
# Without a cursor Apache Kafka has an exception where a topic's name is empty
# (docs/results/findings.md).
NAMES_OF_SOMETHING = one_of(*KEPT, *CHURNED, "moved", OFFSETS, "none", *filter(None, _BAD_NAMES))
INDEXES = one_of(0, 0, 0, 0, 0, 1, 1, 2, 3, -1)
SOUGHT_OFFSETS = one_of(0, 0, 1, 2, 5, 10, 1000, -1, -2, MOST_INT64)
BROKER_IDS = one_of(1, 1, 2, 3, 3, 7, -1)

COMMON: Mapping[str, Draw] = {
    "timeout": one_of(10_000, 30_000),
    "validate_only": one_of(False, False, False, True),
    "topics": one_of(1, 1, 1, 2),
    **dict.fromkeys(
        (
            "FetchRequest.topics",
            "ListOffsetsRequest.topics",
            "DeleteRecordsRequest.topics",
            "OffsetForLeaderEpochRequest.topics",
        ),
        one_of(1),
    ),
    "partitions": one_of(1),
    "partitions[]": INDEXES,
    "partition": INDEXES,
    "partition_index": INDEXES,
    "partition_id": INDEXES,
    "index": INDEXES,
    "isolation_level": one_of(0, 0, 1),
    "current_leader_epoch": one_of(0, 0, -1, -1, 1),
    "leader_epoch": one_of(0, 0, -1, 1, 7),
    "replica_id": one_of(-1),
    "replica_epoch": one_of(-1),
    "rack_id": one_of(""),
}

PRODUCED: Mapping[str, Draw] = {
    "TopicProduceData.name": KEPT_NAMES,
    "topic_data": one_of(1),
    "partition_data": one_of(1),
    "records": sent,
    # Our node refuses transactions, and what is refused once is missing in its log afterwards.
    "transactional_id": one_of(None),
    "timeout": one_of(10_000),
    "acks": one_of(-1, -1, -1, -1, -1, -1, 2, -2),
}
LED_ALONE: Mapping[str, Draw] = {"TopicProduceData.name": one_of("one")}

GROUPS = one_of("g", "g", "h", "", "nobody")
OF_GROUPS: Mapping[str, Draw] = {
    "group_id": GROUPS,
    "groups": one_of(1, 1, 2),
    "groups[]": GROUPS,
    "member_id": one_of("", "", "somebody"),
    "group_instance_id": one_of(None),
    "generation_id": one_of(-1, 0, 1),
    "generation_id_or_member_epoch": one_of(-1, -1, -1, 0, 1),
    "member_epoch": one_of(-1),
    "OffsetCommitRequestTopic.name": ANY_NAMES,
    "OffsetFetchRequestTopic.name": ANY_NAMES,
    "OffsetFetchRequestTopics.name": ANY_NAMES,
    "partition_indexes[]": INDEXES,
    "committed_offset": one_of(0, 5, MOST_INT64, -1),
    "committed_leader_epoch": one_of(-1, 0),
    "committed_metadata": one_of(None, "m", "m" * 4096, "m" * 4097),
    "retention_time": one_of(-1),
    "require_stable": one_of(False, True),
    "session_timeout": one_of(6000, 10_000, 5999, 1_800_001),
    "rebalance_timeout": one_of(1000, 60_000),
    "protocol_type": one_of("consumer", ""),
    "protocol_name": one_of(None, "range"),
    "protocols": one_of(1, 0),
    "metadata": one_of(b"m"),
    "states_filter": one_of(0, 0, 1),
    "types_filter": one_of(0, 0, 1),
    "states_filter[]": one_of("Stable", "Empty", "empty", "x"),
    "types_filter[]": one_of("classic", "consumer", "x"),
    "include_authorized_operations": one_of(False),
}

CONFIG_NAMES = one_of(
    *("retention.ms", "min.insync.replicas", "cleanup.policy", "max.message.bytes") * 3,
    *("segment.bytes", "retention.bytes", "unclean.leader.election.enable", "x", ""),
)
CONFIG_VALUES = one_of(
    *("1", "2", "1000", "0", "-1", "-2", "abc", "", " 5 ", "1.5", "9" * 25, "2147483648", None),
    *("delete", "true", "false", "10000000"),
)
# Sound ones of topics. No compaction, which our node refuses.
CONFIGS = (
    ("retention.ms", "1000"),
    ("retention.ms", "-1"),
    ("min.insync.replicas", "1"),
    ("cleanup.policy", "delete"),
    ("max.message.bytes", "10000000"),
    ("retention.bytes", "-1"),
    ("unclean.leader.election.enable", "true"),
)
ALTERED = one_of(*CHURNED, "none", "", "bad name", "7")
# No operation that Kafka does not know: one such request unseats its controller
# (docs/results/findings.md, 17).
OF_CONFIGS: Mapping[str, Draw] = {
    "resources": one_of(1, 1, 1, 2),
    "resource_type": one_of(*[2] * 8, 4, 3, 0),
    "resource_name": one_of(*CHURNED, "none", "", "bad name", "1", "7"),
    "configs": one_of(1, 1, 2),
    "AlterableConfig.name": CONFIG_NAMES,
    "config_operation": one_of(0, 0, 0, 1, 2, 3),
    "value": CONFIG_VALUES,
    "configuration_keys": one_of(1, 2),
    "configuration_keys[]": CONFIG_NAMES,
    "include_synonyms": one_of(False),
}

ADMIN: Mapping[str, Draw] = {
    # Never `a_b` and `a.b` in one request: Apache Kafka creates both (docs/results/findings.md).
    "CreatableTopic.name": one_of(*CHURNED[:-1] * 2, *KEPT, *_BAD_NAMES, "x" * 249),
    "num_partitions": one_of(1, 1, 2, 3, 3, -1, 0, -2),
    "replication_factor": one_of(1, 1, 2, 3, 3, -1, 0, -2, 4),
    "assignments": one_of(0),
    "broker_ids": one_of(1, 2, 2, 3, 0),
    "broker_ids[]": BROKER_IDS,
    "CreatableTopic.configs": one_of(0, 0, 0, 1),
    "CreatableTopicConfig.name": CONFIG_NAMES,
    "value": CONFIG_VALUES,
    "DeleteTopicState.name": CHURNED_NAMES,
    "topic_names": one_of(1, 1, 2),
    "topic_names[]": CHURNED_NAMES,
    "CreatePartitionsTopic.name": CHURNED_NAMES,
    "count": one_of(0, 1, 2, 3, 4, 5, 6, -1),
    "ReassignableTopic.name": ANY_NAMES,
    "ListPartitionReassignmentsTopics.name": ANY_NAMES,
    "partition_indexes[]": INDEXES,
    "TopicPartitions.topic": ANY_NAMES,
    "topic_partitions": one_of(1, 1, 2),
    "election_type": one_of(0, 0, 1, 2),
    "feature": one_of("metadata.version", "eligible.leader.replicas.version", "group.version", "x"),
    "max_version_level": one_of(0, 1, 2, 7, 29, 30, 99, -1),
    "upgrade_type": one_of(1, 2, 3, 0, 4),
    "feature_updates": one_of(1, 1, 2, 0),
}
ASSIGNED: Mapping[str, Draw] = {
    "num_partitions": one_of(-1, -1, -1, 1),
    "replication_factor": one_of(-1, -1, -1, 1),
    "assignments": one_of(1, 1, 2),
    "partition_index": one_of(0, 0, 0, 1, 2, -1),
}
BY_ID: Mapping[str, Draw] = {"name": one_of(None), "MetadataRequestTopic.name": one_of(None)}


def no_id(_rng: Random) -> UUID:
    return UUID(int=0)
