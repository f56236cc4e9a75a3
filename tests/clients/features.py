"""What clients try, in the order of the table's rows."""

from collections.abc import Mapping

FEATURES: Mapping[str, str] = {
    "metadata": "metadata of a topic",
    "create-topic": "create and delete a topic",
    "auto-create": "a topic that nobody created",
    "acks-0": "produce, acks=0, and consume",
    "acks-1": "produce, acks=1, and consume",
    "acks-all": "produce, acks=all, and consume",
    "gzip": "gzip",
    "snappy": "snappy",
    "lz4": "lz4",
    "zstd": "zstd",
    "idempotent": "idempotent producer",
    "message-3mb": "a message of 3 MB",
    "message-10mb": "a message of 10 MB",
    "group": "group, rebalance",
    "static-member": "static member",
    "offsets": "commit and fetch offsets",
    "seek-by-time": "offset of a time",
    "seek-in-gzip": "the same, inside gzip",
    "seek-in-zstd": "the same, inside zstd",
    "groups": "list, describe, delete groups",
    "delete-records": "delete records",
    "configs": "alter and describe configurations",
    "configs-of-old": "AlterConfigs",
    "log-dirs": "describe log directories",
    "streams": "count by value",
    "streams-changelog": "the same, with a changelog of the counts",
    "connect": "file to topic to file",
    "spark-source": "structured stream from a topic",
    "spark-sink": "structured stream to a topic",
    "quotas": "describe quotas",
    "transactions": "transactions",
}
# What our brokers do not have, and say so.
LIMITS: Mapping[str, str] = {
    "streams-changelog": "ours compact no topic, and refuse cleanup.policy=compact by name",
    "quotas": "ours have none, and do not list that request",
    "transactions": "ours have none, and answer UNSUPPORTED_VERSION",
}
