"""Headers of requests and answers: API, version, correlation id."""

import struct
from enum import IntEnum

from workloads.wire.flexible import MessageReader

CLIENT_ID = "kraft-chaos"

_HEADER = struct.Struct(">ihhi")
_CLIENT = struct.pack(">h", len(CLIENT_ID)) + CLIENT_ID.encode() + b"\x00"


class Api(IntEnum):
    """The APIs spoken; `version` is the one that requests are sent in.

    All versions are flexible: request header 2, response header 1.
    """

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    CREATE_PARTITIONS = 37
    INCREMENTAL_ALTER_CONFIGS = 44
    ELECT_LEADERS = 43
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    DESCRIBE_QUORUM = 55
    UPDATE_FEATURES = 57
    DESCRIBE_TRANSACTIONS = 65
    DESCRIBE_TOPIC_PARTITIONS = 75
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81

    @property
    def version(self) -> int:
        return _VERSIONS[self]


# The newest versions of Produce and Fetch with topic names: a topic id would have to come from the
# metadata, which may be stale.
_VERSIONS = {
    Api.PRODUCE: 12,
    Api.FETCH: 12,
    Api.LIST_OFFSETS: 7,
    Api.METADATA: 12,
    Api.OFFSET_COMMIT: 8,
    Api.OFFSET_FETCH: 8,
    Api.FIND_COORDINATOR: 4,
    Api.JOIN_GROUP: 9,
    Api.HEARTBEAT: 4,
    Api.LEAVE_GROUP: 5,
    Api.SYNC_GROUP: 5,
    Api.CREATE_TOPICS: 7,
    Api.DELETE_TOPICS: 6,
    Api.DELETE_RECORDS: 2,
    Api.INIT_PRODUCER_ID: 4,
    Api.OFFSET_FOR_LEADER_EPOCH: 4,
    Api.END_TXN: 5,
    Api.TXN_OFFSET_COMMIT: 5,
    Api.DESCRIBE_CONFIGS: 4,
    Api.ALTER_REPLICA_LOG_DIRS: 2,
    Api.DESCRIBE_LOG_DIRS: 2,
    Api.CREATE_PARTITIONS: 3,
    Api.INCREMENTAL_ALTER_CONFIGS: 1,
    Api.ELECT_LEADERS: 3,  # of KIP-966, part two: our own node alone serves it
    Api.ALTER_PARTITION_REASSIGNMENTS: 0,
    Api.LIST_PARTITION_REASSIGNMENTS: 0,
    Api.DESCRIBE_QUORUM: 2,
    Api.UPDATE_FEATURES: 1,
    Api.DESCRIBE_TRANSACTIONS: 0,
    Api.DESCRIBE_TOPIC_PARTITIONS: 0,
    Api.ADD_RAFT_VOTER: 0,
    Api.REMOVE_RAFT_VOTER: 0,
}


def request_frame(api: Api, correlation_id: int, body: bytes) -> bytes:
    """A whole request, with its size prefix."""
    size = _HEADER.size - 4 + len(_CLIENT) + len(body)
    return b"".join((_HEADER.pack(size, api, _VERSIONS[api], correlation_id), _CLIENT, body))


def read_header(frame: bytes) -> tuple[int, int]:
    """Correlation id, and where the body begins. Raises MalformedAnswerError."""
    reader = MessageReader(frame)
    correlation_id = reader.int32()
    reader.tags()
    return correlation_id, reader.position
