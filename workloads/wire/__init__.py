"""Kafka's protocol as clients speak it, written by hand; no code is shared with the node.

flexible.py          types of the protocol; a malformed answer raises MalformedAnswerError
header.py            the APIs and the version of each; headers of requests and answers
client_metrics.py    IncrementalAlterConfigs and DescribeConfigs, of registers
describe_quorum.py   which node leads the quorum, and where its voters are
batch.py             record batches, many records of one shape at a time
produce.py           Produce and InitProducerId
fetch.py             Fetch and ListOffsets; DeleteRecords
group_members.py     FindCoordinator; OffsetCommit and OffsetFetch
transactions.py      EndTxn, DescribeTransactions
topic_requests.py    which broker leads which partition; CreateTopics and DeleteTopics
topic_partitions.py  the state of partitions: DescribeTopicPartitions
log_directories.py   log directories of replicas: DescribeLogDirs and AlterReplicaLogDirs
error_codes.py       which errors prove that nothing happened
"""
