"""Differences that are known, and by which words one of the two is right.

`docs/findings.md` has them as a table for readers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.differential.clusters import SETTINGS
from tests.differential.comparison import NOTHING, Difference
from tests.differential.requests import Asked
from tests.differential.several_faults import SEVERAL_FAULTS, Told

Says = Callable[[Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """`kind` begins with the API's name. `right` is who is, if not both; `words` are those that say
    so, and where they stand."""

    kind: str
    path: str
    kafka: Says
    node: Says
    right: str
    words: str

    def covers(self, asked: Asked, found: Difference) -> bool:
        return (
            asked.kind.name.startswith(self.kind)
            and found.path == self.path
            and self.kafka(found.kafka)
            and self.node(found.node)
        )


KAFKA, NODE, BOTH = "Apache Kafka", "our node", "both"


def _is(*values: Any) -> Says:
    return lambda value: value in values


def _is_anything(_value: Any) -> bool:
    return True


def _of_faults(kind: str, path: str, told: Told) -> Iterator[Settled]:
    """`told`: by the error of Apache Kafka, those of ours that were seen beside it."""
    for kafka, node in told.items():
        yield Settled(
            kind=kind,
            path=path,
            kafka=_is(kafka),
            node=_is(*node),
            right=BOTH,
            words="nothing says which of several faults of one request is told first",
        )


def _not_told(kind: str, path: str) -> Settled:
    return Settled(
        kind=kind,
        path=path,
        kafka=_is_anything,
        node=_is(-(2**31)),
        right=BOTH,
        words="KIP-430: -2^31 is that authorized operations are not told; ours has no authorizer",
    )


def _not_mended(kind: str, path: str, words: str, kafka: Says, node: Says) -> Settled:
    """Apache Kafka is right, and our node answers otherwise still."""
    return Settled(kind=kind, path=path, kafka=kafka, node=node, right=KAFKA, words=words)


_TWICE = "what is named twice is answered once, by the last; ours answers or refuses each"

_NEVER_JOINED = "a group that nobody joined and that holds no offset: Apache Kafka keeps its name"

SETTLED: tuple[Settled, ...] = (
    _not_mended(
        "Produce",
        "responses.partition_responses.error_code",
        "a count of records that its offsets contradict is wrong, and no damage: the CRC holds",
        _is("invalid_record"),
        _is("corrupt_message"),
    ),
    *(
        each
        for (kind, path), told in SEVERAL_FAULTS.items()
        for each in _of_faults(kind, path, told)
    ),
    Settled(
        kind="ListGroups",
        path="groups",
        kafka=lambda group: isinstance(group, dict) and group["group_id"] in ("nobody", NOTHING),
        node=_is(None),
        right=BOTH,
        words=_NEVER_JOINED,
    ),
    Settled(
        kind="DescribeGroups",
        path="groups.group_state",
        kafka=_is("Empty"),
        node=_is("Dead"),
        right=BOTH,
        words=_NEVER_JOINED,
    ),
    Settled(
        kind="DescribeGroups",
        path="groups.error_code",
        kafka=_is("none"),
        node=_is("group_id_not_found"),
        right=BOTH,
        words=_NEVER_JOINED,
    ),
    _not_told("Metadata", "cluster_authorized_operations"),
    _not_told("Metadata", "topics.topic_authorized_operations"),
    _not_told("DescribeCluster", "cluster_authorized_operations"),
    _not_told("DescribeTopicPartitions", "topics.topic_authorized_operations"),
    _not_told("DescribeGroups", "groups.authorized_operations"),
    Settled(
        kind="Fetch",
        path="responses.partitions.log_start_offset",
        kafka=_is(-1),
        node=lambda start: isinstance(start, int) and start >= 0,
        right=BOTH,
        words=(
            "Fetch has no words for where the log begins beside OFFSET_OUT_OF_RANGE; our followers "
            "begin there, those of Apache Kafka ask ListOffsets"
        ),
    ),
    Settled(
        kind="Fetch",
        path="responses.partitions.error_code",
        kafka=_is("unknown_server_error"),
        node=_is("none"),
        right=NODE,
        words=(
            "KIP-74: the first batch is returned even if it is larger than the limit; a negative "
            "limit is an exception in Apache Kafka, which is no answer"
        ),
    ),
    _not_mended(
        "Fetch",
        "responses.partitions.error_code",
        "KIP-392: consumers may fetch from followers; ours sends them to the leader",
        _is_anything,
        _is("not_leader_or_follower"),
    ),
    _not_mended(
        "Fetch",
        "responses.partitions.error_code",
        "KIP-101: nothing is known of an epoch above the leader's; ours tells of the one below",
        _is("offset_out_of_range"),
        _is("none"),
    ),
    _not_mended(
        "Fetch",
        "responses.partitions.records",
        "KIP-74: the first batch is returned even if max_bytes is less; of 0 bytes ours gives none",
        _is_anything,
        _is("nothing"),
    ),
    *(
        _not_mended(
            "OffsetForLeaderEpoch",
            f"topics.partitions.{field}",
            "KIP-101: of an epoch that the leader does not know, -1 is told",
            _is(-1),
            lambda told: isinstance(told, int) and told >= 0,
        )
        for field in ("end_offset", "leader_epoch")
    ),
    _not_mended(
        "InitProducerId",
        "error_code",
        "KIP-360: producer id and epoch are given both or neither",
        _is("invalid_request"),
        _is("none"),
    ),
    _not_mended(
        "CreateTopics",
        "topics.configs",
        "KIP-525: what a topic is configured as is told; ours tells nothing of it",
        _is_anything,
        _is("nothing"),
    ),
    _not_mended(
        "DescribeConfigs",
        "results.configs.config_type",
        "KIP-569: ours tells of no type what it is, which is 0, UNKNOWN",
        _is_anything,
        _is(0),
    ),
    *(
        _not_mended(
            kind,
            path,
            "a group without a name may be looked for: only who joins it is refused",
            _is_anything,
            _is("invalid_group_id"),
        )
        for kind, path in (
            ("FindCoordinator", "error_code"),
            ("FindCoordinator", "coordinators.error_code"),
            ("DescribeGroups", "groups.error_code"),
        )
    ),
    *(
        _not_mended(kind, path, _TWICE, _is_anything, _is_anything)
        for kind, path in (
            ("AlterPartitionReassignments", "responses"),
            ("AlterPartitionReassignments", "responses.partitions"),
            ("CreatePartitions", "results"),
            ("ElectLeaders", "replica_election_results"),
            ("OffsetFetch", "groups.topics"),
            ("OffsetFetch", "groups.topics.partitions"),
            ("OffsetFetch", "topics"),
            ("OffsetFetch", "topics.partitions"),
        )
    ),
    _not_mended(
        "DescribeConfigs",
        "results.configs.config_source",
        "KIP-226: what is set for the whole cluster is no default; ours says that it is one",
        _is_anything,
        _is(5),
    ),
    *(
        Settled(
            kind="ListOffsets of the latest time",
            path=f"topics.partitions.{field}",
            kafka=_is_anything,
            node=_is_anything,
            right=NODE,
            words="KIP-107: what was deleted is not there; Apache Kafka tells of such a record",
        )
        for field in ("offset", "timestamp", "leader_epoch")
    ),
    _not_mended(
        "ElectLeaders",
        "replica_election_results",
        "an election type that there is not is refused for each partition; ours does so for all",
        _is_anything,
        _is("nothing"),
    ),
    _not_mended(
        "IncrementalAlterConfigs",
        "responses.error_code",
        "what is not set may be deleted, known or not; ours refuses what it does not know",
        _is("none"),
        _is("invalid_config"),
    ),
    _not_mended(
        "DescribeConfigs",
        "results.configs.value",
        "what is not set for a topic is as its broker has it; ours tells Apache Kafka's default",
        _is(SETTINGS["log.retention.ms"]),
        _is("604800000"),
    ),
    *(
        _not_mended(
            "OffsetFetch",
            f"{topics}.partitions.{field}",
            "offsets that were committed go with their topic; ours are kept",
            _is(-1, "nothing"),
            _is_anything,
        )
        for topics in ("topics", "groups.topics")
        for field in ("committed_offset", "committed_leader_epoch", "metadata")
    ),
    Settled(
        kind="DescribeCluster",
        path="endpoint_type",
        kafka=_is(1),
        node=_is(2, 3),
        right=BOTH,
        words="KIP-919: of an endpoint type that there is not the error code tells",
    ),
    Settled(
        kind="JoinGroup",
        path="member_id",
        kafka=_is("none"),
        node=_is("some"),
        right=BOTH,
        words="beside a refusal a member id says nothing; ours gives back the one that was sent",
    ),
    Settled(
        kind="Produce",
        path="responses.partition_responses.log_start_offset",
        kafka=_is_anything,
        node=_is(-1),
        right=BOTH,
        words="beside a refusal nothing says where the log begins, and -1 is that it is not told",
    ),
    Settled(
        kind="UpdateFeatures",
        path="results",
        kafka=_is("nothing"),
        node=_is_anything,
        right=BOTH,
        words="KIP-584: all features of a request are updated or none; its error tells which",
    ),
)


def settled(asked: Asked, found: Difference) -> Settled | None:
    return next((each for each in SETTLED if each.covers(asked, found)), None)
