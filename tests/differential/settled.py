"""Differences that are known, and by which words one of the two is right.

`docs/results/findings.md` has them as a table for readers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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


NODE, BOTH = "our node", "both"
_STARTED_WITH, _DEFAULT = 4, 5  # `DescribeConfigsResponse.ConfigSource`


def _is(*values: Any) -> Says:
    return lambda value: value in values


def _is_anything(_value: Any) -> bool:
    return True


def _of_no_release(config: Any) -> bool:
    """Is it a configuration that our node alone has?"""
    return isinstance(config, Mapping) and config["name"].startswith("unclean.recovery.")


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


_NEVER_JOINED = "a group that nobody joined and that holds no offset: Apache Kafka keeps its name"

_SMALL_INDEXES = (
    "segment.index.bytes: in our containers Apache Kafka is started with log.index.size.max.bytes, "
    "and our node, which has no such index, is not"
)

SETTLED: tuple[Settled, ...] = (
    *(
        each
        for (kind, path), told in SEVERAL_FAULTS.items()
        for each in _of_faults(kind, path, told)
    ),
    Settled(
        kind="ListGroups",
        path="groups",
        kafka=lambda group: isinstance(group, dict) and group["protocol_type"] == NOTHING,
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
    Settled(
        kind="DescribeCluster",
        path="endpoint_type",
        kafka=_is(1),
        node=_is(2, 3),
        right=BOTH,
        words="KIP-919: of an endpoint type that there is not the error code tells",
    ),
    *(
        Settled(
            kind=kind,
            path=f"{configs}.{field}",
            kafka=_is(kafka),
            node=_is(node),
            right=BOTH,
            words=words,
        )
        for kind, configs in (
            ("CreateTopics", "topics.configs"),
            ("DescribeConfigs", "results.configs"),
        )
        for field, kafka, node, words in (
            ("config_source", _STARTED_WITH, _DEFAULT, _SMALL_INDEXES),
            ("value", "1048576", "10485760", _SMALL_INDEXES),
        )
    ),
    *(
        Settled(
            kind=kind,
            path=configs,
            kafka=_is(None),
            node=_of_no_release,
            right=BOTH,
            words="KIP-966, part two: no release of Apache Kafka has unclean recovery",
        )
        for kind, configs in (
            ("CreateTopics", "topics.configs"),
            ("DescribeConfigs", "results.configs"),
        )
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
