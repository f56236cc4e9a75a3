"""Which errors prove that nothing happened: everything else is `info`.

A source stands with each choice: a class of Apache Kafka 4.x that returns the error. With any other
error, UNKNOWN_SERVER_ERROR and future ones among them, the operation perhaps happened.
"""

from enum import IntEnum

from checkers.history.events import EventType
from workloads.wire.produce import Produced


class ErrorCode(IntEnum):
    """The errors that clients distinguish, by Kafka's names."""

    UNKNOWN_SERVER_ERROR = -1
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    UNKNOWN_MEMBER_ID = 25
    REBALANCE_IN_PROGRESS = 27
    TOPIC_AUTHORIZATION_FAILED = 29
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    CONCURRENT_TRANSACTIONS = 51
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    INCONSISTENT_CLUSTER_ID = 104
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127


# For Produce, if the answer names no offset (-1). ReplicaManager.appendRecords answers from the
# result of the append, which has an offset if there was one; DelayedProduce.tryComplete may then
# replace its error by NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION or
# NOT_ENOUGH_REPLICAS_AFTER_APPEND, and leaves the offset: such a batch is in the log of a former
# leader, and perhaps of its successor.
_NOT_APPENDED = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,  # UnifiedLog.analyzeAndValidateRecords: a wrong CRC
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # ReplicaManager.getPartitionOrException
        ErrorCode.NOT_LEADER_OR_FOLLOWER,  # Partition.appendRecordsToLeader: no local leader
        ErrorCode.NOT_ENOUGH_REPLICAS,  # Partition.appendRecordsToLeader: looks before it appends
        ErrorCode.MESSAGE_TOO_LARGE,  # UnifiedLog.append: before LocalLog.append
        ErrorCode.RECORD_LIST_TOO_LARGE,  # UnifiedLog.append: larger than a segment
        ErrorCode.INVALID_TOPIC_EXCEPTION,  # ReplicaManager.appendToLocalLog: internal topics
        ErrorCode.INVALID_REQUIRED_ACKS,  # ReplicaManager.appendRecords: the first it looks at
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,  # KafkaApis.handleProduceRequest
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,  # KafkaApis.handleProduceRequest
        ErrorCode.UNSUPPORTED_VERSION,  # the request was not read
        ErrorCode.INVALID_TIMESTAMP,  # LogValidator
        ErrorCode.INVALID_RECORD,  # LogValidator
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,  # ProduceRequest.validateRecords
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,  # ProducerAppendInfo.checkSequence
        ErrorCode.INVALID_PRODUCER_EPOCH,  # ProducerAppendInfo.checkProducerEpoch
        ErrorCode.UNKNOWN_PRODUCER_ID,  # ProducerAppendInfo
    }
)

# Errors after which an idempotent producer sends the same batch again: the log drops a batch that
# it already has (ProducerStateEntry.findDuplicateBatch). Retriable by Kafka's own table of errors.
_RETRIABLE_SENDS = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

# For CreateTopics or DeleteTopics: ReplicationControlManager and ConfigurationControlManager
# refused the request, and wrote no record. Not TOPIC_ALREADY_EXISTS or, for a deletion,
# UNKNOWN_TOPIC_OR_PARTITION: a broker sends a forwarded request again when its connection breaks
# (NodeToControllerRequestThread), so they may be the result of the first attempt. Not
# NOT_CONTROLLER: a controller returns it also for what it had appended before it resigned.
_REFUSED = frozenset(
    {
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.TOPIC_DELETION_DISABLED,
    }
)


def error_name(code: int) -> str:
    """Kafka's name, or `error-<code>`."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error-{code}"


def send_outcome(produced: Produced) -> EventType:
    """The outcome of one attempt of a send."""
    if produced.error == 0:
        return EventType.OK
    refused = produced.base_offset < 0 and produced.error in _NOT_APPENDED
    return EventType.FAIL if refused else EventType.INFO


def is_retriable_send(code: int) -> bool:
    """Whether an idempotent producer sends the same batch again."""
    return code in _RETRIABLE_SENDS


def admin_outcome(code: int) -> EventType:
    """The outcome of the creation or deletion of a topic."""
    if code == 0:
        return EventType.OK
    return EventType.FAIL if code in _REFUSED else EventType.INFO
