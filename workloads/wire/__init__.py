"""Kafka's protocol as clients speak it, written by hand; no code is shared with the node.

flexible.py          types of the protocol; a malformed answer raises MalformedAnswerError
header.py            the APIs and the version of each; headers of requests and answers
client_metrics.py    IncrementalAlterConfigs and DescribeConfigs, of registers
describe_quorum.py   DescribeQuorum, AddRaftVoter, RemoveRaftVoter, UpdateFeatures
batch.py             record batches, many records of one shape at a time
produce.py           Produce and InitProducerId; EndTxn, TxnOffsetCommit, DescribeTransactions
fetch.py             Fetch, ListOffsets, DeleteRecords, OffsetForLeaderEpoch
group_members.py     coordinators, members and offsets of groups
topic_requests.py    CreateTopics, DeleteTopics, Metadata, CreatePartitions, reassignments
topic_partitions.py  DescribeTopicPartitions: the state of partitions; DescribeLogDirs and
                     AlterReplicaLogDirs
error_codes.py       which errors prove that nothing happened
"""
