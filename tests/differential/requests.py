"""What both clusters are asked: kinds of requests, by what their fields may hold.

A request is drawn by its number, from the same stream for either cluster; what only one of them
knows, the ids of its topics, is put in by name. So both get the same request, although some bytes
of it may differ. Topics of two sorts are spoken of. `KEPT` ones hold records, and who leads them
was said when they were created; they are never deleted nor changed. `CHURNED` ones come and go, and
hold nothing: their replicas are wherever a controller put them.

One partition is named once in a request for records: Apache Kafka answers what is named twice in
different ways.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any
from uuid import UUID

from kio.serial import entity_reader

from node.wire.api import Api, kio_class
from node.wire.apis import BROKER_APIS
from node.wire.headers import read_request_header
from node.wire.list_offsets import LATEST_TIME, SPECIAL_TIMES
from tests.differential.batches import sent
from tests.fuzz.drawing import Draw, Drawn, draw_request, one_of

BROKERS = (1, 2, 3)
OFFSETS = "__consumer_offsets"
# By name: the replicas of each partition, the leader first.
KEPT: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "one": ((1,), (2,), (3,)),
    "all": ((1, 2, 3), (2, 3, 1)),
    "few": ((1,),),  # fewer replicas than its min.insync.replicas
}
CHURNED = ("a", "b", "c", "d", "a.b", "a_b")
_BAD_NAMES = ("", ".", "..", "bad name", "grün", "x" * 250, "__cluster_metadata")
NOBODY = UUID(int=77)  # no topic has this id
_MOST_INT64 = 2**63 - 1
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
    def reads(self) -> bool:
        """It changes nothing, and may be asked again."""
        return self.api in READS


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for one of the clusters: `broker` gets it."""

    number: int
    kind: Kind
    broker: int
    drawn: Drawn

    @property
    def request(self) -> Any:
        """As kio reads it."""
        api, version = self.drawn.api, self.drawn.version
        request_class = kio_class(api.package, api.name, version, "request")
        _, at = read_request_header(self.drawn.frame, flexible=request_class.__flexible__)
        return entity_reader(request_class)(self.drawn.frame, at)[0]


@dataclass
class Known:
    """What the requests speak of and one cluster has named itself."""

    topics: dict[str, UUID] = field(default_factory=dict)

    def id_of(self, *names: str) -> Draw:
        """Of one of these topics; NOBODY's, where there is none of that name."""
        return lambda rng: self.topics.get(rng.choice(names), NOBODY)


def draw(seed: int, number: int, known: Known) -> Asked:
    rng = Random(f"{seed}:{number}")
    kinds = KINDS
    (kind,) = rng.choices(kinds, [each.weight for each in kinds])
    broker = rng.choice((1, 1, 1, 1, 2, 3))
    ids = {
        "topic_id": known.id_of(*KEPT, *KEPT, "none"),
        "DeleteTopicState.topic_id": known.id_of(*CHURNED, "none"),
    }
    api = replace(_api(kind.api), min_version=kind.since or _api(kind.api).min_version)
    likely = {**_COMMON, **ids, **kind.values}
    drawn = draw_request(rng, number + 1, likely, (api,), extremes=(0.0,))
    return Asked(number=number, kind=kind, broker=broker, drawn=drawn)


@cache
def _api(name: str) -> Api:
    return next(api for api in BROKER_APIS if api.name == name)


def _no_id(_rng: Random) -> UUID:
    return UUID(int=0)


_KEPT_NAMES = one_of(*[*KEPT] * 5, "one", "one", "none", "", "bad name")
_CHURNED_NAMES = one_of(*CHURNED, *CHURNED, "none", *_BAD_NAMES)
_ANY_NAMES = one_of(*KEPT, *CHURNED, OFFSETS, "none", *_BAD_NAMES)
# Without a cursor Apache Kafka has an exception where a topic's name is empty (docs/findings.md).
_NAMES_OF_SOMETHING = one_of(*KEPT, *CHURNED, OFFSETS, "none", *filter(None, _BAD_NAMES))
_INDEXES = one_of(0, 0, 0, 0, 0, 1, 1, 2, 3, -1)
_OFFSETS = one_of(0, 0, 1, 2, 5, 10, 1000, -1, -2, _MOST_INT64)
_BROKER_IDS = one_of(1, 1, 2, 3, 3, 7, -1)

_COMMON: Mapping[str, Draw] = {
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
    "partitions[]": _INDEXES,
    "partition": _INDEXES,
    "partition_index": _INDEXES,
    "partition_id": _INDEXES,
    "index": _INDEXES,
    "isolation_level": one_of(0, 0, 1),
    "current_leader_epoch": one_of(0, 0, -1, -1, 1),
    "leader_epoch": one_of(0, 0, -1, 1, 7),
    "replica_id": one_of(-1),
    "replica_epoch": one_of(-1),
    "rack_id": one_of(""),
}

_PRODUCED: Mapping[str, Draw] = {
    "TopicProduceData.name": _KEPT_NAMES,
    "topic_data": one_of(1),
    "partition_data": one_of(1),
    "records": sent,
    # Our node refuses transactions, and what is refused once is missing in its log afterwards.
    "transactional_id": one_of(None),
    "timeout": one_of(10_000),
    "acks": one_of(-1, -1, -1, -1, -1, -1, 2, -2),
}
_LED_ALONE: Mapping[str, Draw] = {"TopicProduceData.name": one_of("one")}

_GROUPS = one_of("g", "g", "h", "", "nobody")
_OF_GROUPS: Mapping[str, Draw] = {
    "group_id": _GROUPS,
    "groups": one_of(1, 1, 2),
    "groups[]": _GROUPS,
    "member_id": one_of("", "", "somebody"),
    "group_instance_id": one_of(None),
    "generation_id": one_of(-1, 0, 1),
    "generation_id_or_member_epoch": one_of(-1, -1, -1, 0, 1),
    "member_epoch": one_of(-1),
    "OffsetCommitRequestTopic.name": _ANY_NAMES,
    "OffsetFetchRequestTopic.name": _ANY_NAMES,
    "OffsetFetchRequestTopics.name": _ANY_NAMES,
    "partition_indexes[]": _INDEXES,
    "committed_offset": one_of(0, 5, _MOST_INT64, -1),
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

_CONFIG_NAMES = one_of(
    *("retention.ms", "min.insync.replicas", "cleanup.policy", "max.message.bytes") * 3,
    *("segment.bytes", "retention.bytes", "unclean.leader.election.enable", "x", ""),
)
_CONFIG_VALUES = one_of(
    *("1", "2", "1000", "0", "-1", "-2", "abc", "", " 5 ", "1.5", "9" * 25, "2147483648", None),
    *("compact", "delete", "compact,delete", "true", "false", "10000000"),
)
# No operation that Kafka does not know: one such request unseats its controller (docs/findings.md,
# 17).
_OF_CONFIGS: Mapping[str, Draw] = {
    "resources": one_of(1, 1, 1, 2),
    "resource_type": one_of(*[2] * 8, 4, 3, 0),
    "resource_name": one_of(*CHURNED, "none", "", "bad name", "1", "7"),
    "configs": one_of(1, 1, 2),
    "AlterableConfig.name": _CONFIG_NAMES,
    "config_operation": one_of(0, 0, 0, 1, 2, 3),
    "value": _CONFIG_VALUES,
    "configuration_keys": one_of(1, 2),
    "configuration_keys[]": _CONFIG_NAMES,
    "include_synonyms": one_of(False),
}

_ADMIN: Mapping[str, Draw] = {
    "CreatableTopic.name": one_of(*CHURNED, *CHURNED, *KEPT, *_BAD_NAMES, "x" * 249),
    "num_partitions": one_of(1, 1, 2, 3, 3, -1, 0, -2),
    "replication_factor": one_of(1, 1, 2, 3, 3, -1, 0, -2, 4),
    "assignments": one_of(0),
    "broker_ids": one_of(1, 2, 2, 3, 0),
    "broker_ids[]": _BROKER_IDS,
    "CreatableTopic.configs": one_of(0, 0, 0, 1),
    "CreatableTopicConfig.name": _CONFIG_NAMES,
    "value": _CONFIG_VALUES,
    "DeleteTopicState.name": _CHURNED_NAMES,
    "topic_names": one_of(1, 1, 2),
    "topic_names[]": _CHURNED_NAMES,
    "CreatePartitionsTopic.name": _CHURNED_NAMES,
    "count": one_of(0, 1, 2, 3, 4, 5, 6, -1),
    "ReassignableTopic.name": _ANY_NAMES,
    "ListPartitionReassignmentsTopics.name": _ANY_NAMES,
    "partition_indexes[]": _INDEXES,
    "TopicPartitions.topic": _ANY_NAMES,
    "topic_partitions": one_of(1, 1, 2),
    "election_type": one_of(0, 0, 1, 2),
    "feature": one_of("metadata.version", "eligible.leader.replicas.version", "group.version", "x"),
    "max_version_level": one_of(0, 1, 2, 7, 29, 30, 99, -1),
    "upgrade_type": one_of(1, 2, 3, 0, 4),
    "feature_updates": one_of(1, 1, 2, 0),
}
_ASSIGNED: Mapping[str, Draw] = {
    "num_partitions": one_of(-1, -1, -1, 1),
    "replication_factor": one_of(-1, -1, -1, 1),
    "assignments": one_of(1, 1, 2),
    "partition_index": one_of(0, 0, 0, 1, 2, -1),
}
_BY_ID: Mapping[str, Draw] = {"name": one_of(None), "MetadataRequestTopic.name": one_of(None)}


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
    _kind("Produce", 22, _PRODUCED),
    _kind("Produce to one replica", 8, _PRODUCED, _LED_ALONE, {"acks": one_of(1)}),
    _kind("Produce unanswered", 2, _PRODUCED, _LED_ALONE, {"acks": one_of(0)}, answered=False),
    _kind(
        "Fetch",
        20,
        {
            "FetchTopic.topic": _KEPT_NAMES,
            "max_wait": one_of(0, 1, 50),
            "min_bytes": one_of(0, 1, 1, -1),
            "max_bytes": one_of(1 << 20, 1 << 20, 1, 0),
            "partition_max_bytes": one_of(1 << 20, 1 << 20, 1, 0, -1),
            "session_id": one_of(*[0] * 8, 5),
            "session_epoch": one_of(*[-1] * 8, 3),
            "fetch_offset": _OFFSETS,
            "last_fetched_epoch": one_of(0, -1, -1, -1, 3),
            "log_start_offset": one_of(-1),
            "forgotten_topics_data": one_of(0),
            "cluster_id": one_of("a-cluster"),
            "high_watermark": one_of(_MOST_INT64),
            "replica_directory_id": one_of(UUID(int=0)),
        },
    ),
    _kind(
        "ListOffsets",
        10,
        {
            "ListOffsetsTopic.name": _KEPT_NAMES,
            "timestamp": one_of(*_TIMES, 0, 999, 1000, 1001, _MOST_INT64, -100),
        },
    ),
    _kind(
        "ListOffsets of the latest time",
        2,
        {"ListOffsetsTopic.name": _KEPT_NAMES, "timestamp": one_of(LATEST_TIME)},
    ),
    _kind(
        "DeleteRecords",
        4,
        {"DeleteRecordsTopic.name": _KEPT_NAMES, "offset": one_of(0, 1, 2, 3, -1, 1000, -2)},
    ),
    _kind("OffsetForLeaderEpoch", 5, {"topic": _KEPT_NAMES}),
    _kind("Metadata", 6, {"MetadataRequestTopic.name": _ANY_NAMES, "topic_id": _no_id}),
    _kind("Metadata by id", 3, _BY_ID),
    _kind("DescribeCluster", 1, {"endpoint_type": one_of(1, 1, 2, 3)}),
    _kind(
        "DescribeTopicPartitions",
        5,
        {
            "TopicRequest.name": _NAMES_OF_SOMETHING,
            "topics": one_of(0, 1, 2, 3),
            "cursor": one_of(None),
            "response_partition_limit": one_of(1, 2, 2000, 0, -1),
            "topic_name": _ANY_NAMES,
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
            "key": _GROUPS,
            "coordinator_keys[]": _GROUPS,
            "coordinator_keys": one_of(1, 2, 0),
            "key_type": one_of(0, 0, 7),
        },
    ),
    _kind("OffsetCommit", 5, _OF_GROUPS),
    _kind("OffsetFetch", 4, _OF_GROUPS),
    _kind(
        "JoinGroup", 2, _OF_GROUPS, {"member_id": one_of("somebody"), "group_id": one_of("j", "")}
    ),
    _kind("SyncGroup", 1, _OF_GROUPS),
    _kind("Heartbeat", 1, _OF_GROUPS),
    _kind("LeaveGroup", 1, _OF_GROUPS),
    _kind("DescribeGroups", 1, _OF_GROUPS),
    _kind("ListGroups", 1, _OF_GROUPS),
    _kind("DescribeConfigs", 5, _OF_CONFIGS),
    _kind("IncrementalAlterConfigs", 8, _OF_CONFIGS),
    _kind("CreateTopics", 9, _ADMIN),
    _kind("CreateTopics with assignments", 4, _ADMIN, _ASSIGNED),
    _kind("DeleteTopics", 5, _ADMIN, {"DeleteTopicState.topic_id": _no_id}),
    _kind("DeleteTopics by id", 3, _ADMIN, {"DeleteTopicState.name": one_of(*[None] * 4)}),
    _kind("CreatePartitions", 6, _ADMIN, {"assignments": one_of(None, None, 0, 1, 2)}),
    _kind("ElectLeaders", 3, _ADMIN),
    _kind("AlterPartitionReassignments", 3, _ADMIN, {"replicas": one_of(None)}),
    _kind(
        "AlterPartitionReassignments to nobody",
        2,
        _ADMIN,
        {"replicas": one_of(0, 1, 2), "replicas[]": one_of(7, -1)},
    ),
    _kind("ListPartitionReassignments", 2, _ADMIN),
    # Version 0 cannot only be validated.
    _kind("UpdateFeatures", 2, _ADMIN, {"validate_only": one_of(True)}, since=1),
)
