"""Of requests with several faults: which error Apache Kafka told, and which one our node did.

By kind of request and by field. Nothing says which fault is told first; what was not seen beside
each other in runs of seeds 1, 2 and 3 is told as a difference.
"""

from collections.abc import Mapping, Sequence

Told = Mapping[str, Sequence[str]]  # ours, by that of Apache Kafka

SEVERAL_FAULTS: Mapping[tuple[str, str], Told] = {
    ("AlterPartitionReassignments", "responses.partitions.error_code"): {
        "unknown_topic_or_partition": ("invalid_request",),
    },
    ("CreatePartitions", "results.error_code"): {
        "invalid_partitions": ("unknown_topic_or_partition",),
    },
    ("CreateTopics", "topics.error_code"): {
        "invalid_config": ("invalid_request",),
        "invalid_request": ("invalid_topic_exception",),
    },
    ("DescribeConfigs", "results.error_code"): {
        "invalid_request": (
            "broker_id_not_registered",
            "invalid_topic_exception",
            "unknown_topic_or_partition",
        ),
    },
    ("IncrementalAlterConfigs", "responses.error_code"): {
        "invalid_config": ("unknown_topic_or_partition",),
        "invalid_request": (
            "broker_id_not_registered",
            "invalid_config",
            "unknown_topic_or_partition",
        ),
        "invalid_topic_exception": ("unknown_topic_or_partition",),
    },
    ("InitProducerId", "error_code"): {
        "invalid_request": ("transactional_id_authorization_failed",),
    },
    ("JoinGroup", "error_code"): {
        "inconsistent_group_protocol": ("unknown_member_id",),
        "invalid_session_timeout": (
            "invalid_request",
            "not_coordinator",
        ),
        "unknown_member_id": ("invalid_request",),
    },
    ("ListOffsets", "topics.partitions.error_code"): {
        "unsupported_version": (
            "not_leader_or_follower",
            "unknown_leader_epoch",
            "unknown_topic_or_partition",
        ),
    },
    ("OffsetCommit", "topics.partitions.error_code"): {
        "unknown_member_id": ("illegal_generation",),
        "unknown_topic_or_partition": (
            "illegal_generation",
            "not_coordinator",
        ),
    },
    ("Produce", "responses.partition_responses.error_code"): {
        "corrupt_message": (
            "invalid_required_acks",
            "not_leader_or_follower",
            "unknown_topic_or_partition",
        ),
        "invalid_record": (
            "invalid_required_acks",
            "not_leader_or_follower",
        ),
        "transactional_id_authorization_failed": (
            "invalid_record",
            "invalid_required_acks",
            "not_leader_or_follower",
            "unknown_topic_id",
            "unknown_topic_or_partition",
        ),
        "unknown_topic_id": ("invalid_required_acks",),
        "unknown_topic_or_partition": ("invalid_required_acks",),
    },
    ("SyncGroup", "error_code"): {
        "inconsistent_group_protocol": (
            "invalid_group_id",
            "not_coordinator",
            "unknown_member_id",
        ),
    },
}
