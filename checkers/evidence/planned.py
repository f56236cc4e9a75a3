"""The kinds of evidence that a run may be planned to leave."""

from enum import StrEnum


class Kind(StrEnum):
    """What checks judge by. A run's `gives` names those that it was planned to leave."""

    OPERATIONS = "operations"  # what clients invoked and what was answered
    FAULTS = "faults"  # what the nemesis did
    TRACES = "traces"  # what nodes trace of their own actions
    NODE_LOGS = "node-logs"  # what nodes log for people: errors, and that a process began
    METADATA_LOGS = "metadata-logs"  # the metadata log on each node's disk
    PARTITION_LOGS = "partition-logs"  # partitions on the brokers' disks
    QUORUM_PROBES = "quorum-probes"  # answers to DescribeQuorum
    PARTITION_PROBES = "partition-probes"  # answers to DescribeTopicPartitions
