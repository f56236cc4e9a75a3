"""`kraft-node topics describe`: the output of `kafka-topics --describe`, with Elr and LastKnownElr
(KIP-966)."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from enum import Enum

from node.controller.decision import MIN_ISR
from node.controller.image.configurations import TOPIC
from node.errors import ErrorCode
from node.ids import NO_NODE, uuid_text
from node.lazy_dataclass import dataclass
from node.server.outcome import Refusal
from node.server.tool_client import BrokerClient
from node.wire.apis import Request, Response
from node.wire.configs import (
    ConfigEntry,
    ConfigSource,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceQuery,
)
from node.wire.reassignments import (
    ListReassignmentsRequest,
    ListReassignmentsResponse,
    OngoingReassignment,
)
from node.wire.topic_metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionDescription,
    TopicDescription,
)

PAGE = 2000  # partitions of one answer, as in Kafka's client

_ANSWER_S = 30.0  # of a broker
_CONFIGS_AT_ONCE = 100  # topics
Send = Callable[[Request], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """`told`: what is not by default, for the topic or for all."""

    told: tuple[tuple[str, str], ...]
    min_isr: int
    is_overridden: bool  # the topic has settings of its own


class PartitionFilter(Enum):
    """Which partitions are shown; by the option that says so."""

    UNDER_REPLICATED = "--under-replicated-partitions"
    UNDER_MIN_ISR = "--under-min-isr-partitions"
    AT_MIN_ISR = "--at-min-isr-partitions"
    UNAVAILABLE = "--unavailable-partitions"


def run(options: argparse.Namespace, print_line: Callable[[str], None]) -> int:
    """Raises Refusal."""
    limit = options.partition_size_limit_per_response
    if not 0 < limit < 1 << 31:
        options.wrong(f"--partition-size-limit-per-response {limit}: it is 1 or more")
    if options.if_exists and not options.topic:
        options.wrong("Option --if-exists is only allowed if --topic is used")
    wanted = Wanted(
        names=tuple(options.topic),
        only=None if options.only is None else PartitionFilter(options.only),
        overridden=options.topics_with_overrides,
        without_internal=options.exclude_internal,
        may_be_missing=options.if_exists,
        limit=limit,
    )
    with closing(BrokerClient(options.bootstrap_server, _ANSWER_S)) as brokers:
        for line in describe(brokers.send, wanted):
            print_line(line)
    return 0


# --- pages ---


def described_topics(
    send: Send, names: Sequence[str] = (), limit: int = PAGE
) -> list[TopicDescription]:
    """These topics, or all of them, each whole, by their names (KIP-966, "Admin API/Client
    changes"). A request names `limit` topics at most, and an answer has as many partitions; the
    cursor says where the next begins. Nothing holds pages together but that: a topic that was
    deleted between two of its pages is left out (if it was named, it is told as unknown), and one
    that was made anew is described again.
    """
    pieces = [tuple(names[at : at + limit]) for at in range(0, len(names), limit)] or [()]
    return [topic for piece in pieces for topic in _followed(send, piece, limit)]


def _followed(send: Send, names: tuple[str, ...], limit: int) -> list[TopicDescription]:
    found: dict[str, TopicDescription] = {}
    cursor: Cursor | None = None
    while True:
        left = tuple(each for each in names if cursor is None or each >= cursor.topic)
        page = send(DescribeTopicPartitionsRequest(topics=left, limit=limit, cursor=cursor))
        assert isinstance(page, DescribeTopicPartitionsResponse)
        topics = {each.name: each for each in page.topics}
        begun = None
        if cursor is not None and cursor.index > 0:
            begun = found.pop(cursor.topic)
        rest = None if begun is None else topics.get(begun.name)
        if begun is not None and rest is not None and rest.error is ErrorCode.NONE:
            if rest.id != begun.id:
                cursor = Cursor(topic=begun.name, index=0)
                continue
            topics[begun.name] = replace(rest, partitions=begun.partitions + rest.partitions)
        found |= topics
        if page.next is None:
            return list(found.values())
        if cursor is not None and _position(page.next) <= _position(cursor):
            raise Refusal(
                what=f"the broker's answer of {len(page.topics)} topics ends where it began, at "
                f"partition {page.next.index} of {page.next.topic}",
                where=f"topics from {cursor.topic} on",
                next_step="ask another broker: kraft-node topics describe --bootstrap-server "
                "HOST:PORT",
            )
        cursor = page.next


def _position(cursor: Cursor) -> tuple[str, int]:
    return cursor.topic, cursor.index


# --- what is beside them ---


def configs_of(send: Send, names: Sequence[str]) -> dict[str, TopicConfig]:
    """Without topics that were deleted meanwhile."""
    found: dict[str, TopicConfig] = {}
    for at in range(0, len(names), _CONFIGS_AT_ONCE):
        some = names[at : at + _CONFIGS_AT_ONCE]
        response = send(
            DescribeConfigsRequest(
                resources=tuple(ResourceQuery(type=TOPIC, name=each, keys=None) for each in some)
            )
        )
        assert isinstance(response, DescribeConfigsResponse)
        for told in response.results:
            if told.error is ErrorCode.NONE:
                found[told.name] = _config(told.entries)
    return found


def _config(entries: Iterable[ConfigEntry]) -> TopicConfig:
    values = {each.name: each for each in entries}
    return TopicConfig(
        told=tuple(
            sorted((at.name, at.value or "") for at in values.values() if not at.is_default)
        ),
        min_isr=int(values[MIN_ISR].value or 1),
        is_overridden=any(each.source is ConfigSource.TOPIC for each in values.values()),
    )


def reassignments_of(send: Send) -> dict[tuple[str, int], OngoingReassignment]:
    response = send(ListReassignmentsRequest(partitions=None))
    assert isinstance(response, ListReassignmentsResponse)
    return {(each.partition.topic, each.partition.index): each for each in response.ongoing}


# --- the output ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the operator asks for. `names`: none for all topics."""

    names: tuple[str, ...] = ()
    only: PartitionFilter | None = None
    overridden: bool = False
    without_internal: bool = False
    may_be_missing: bool = False
    limit: int = PAGE


_UNKNOWN = TopicConfig(told=(), min_isr=1, is_overridden=False)


def describe(send: Send, wanted: Wanted) -> Iterator[str]:
    """Lines. Raises Refusal, before the first one, if a topic that is named is not there."""
    told = described_topics(send, tuple(sorted(set(wanted.names))), wanted.limit)
    topics = [each for each in told if each.error is ErrorCode.NONE]
    if not wanted.may_be_missing:
        _refuse_missing(told)
    if wanted.without_internal:
        topics = [each for each in topics if not each.is_internal]
    with_configs = wanted.only in (None, PartitionFilter.UNDER_MIN_ISR, PartitionFilter.AT_MIN_ISR)
    configs = configs_of(send, [each.name for each in topics]) if with_configs else {}
    moving = reassignments_of(send)
    for topic in topics:
        if with_configs and topic.name not in configs:
            continue  # deleted since
        config = configs.get(topic.name, _UNKNOWN)
        if wanted.only is None and (config.is_overridden or not wanted.overridden):
            yield _topic_line(topic, config)
        if wanted.overridden:
            continue
        for each in topic.partitions:
            ongoing = moving.get((topic.name, each.index))
            if is_shown(each, wanted.only, config.min_isr, ongoing):
                yield _partition_line(topic.name, each, ongoing)


def _refuse_missing(told: Iterable[TopicDescription]) -> None:
    missing = [each for each in told if each.error is not ErrorCode.NONE]
    if missing:
        what = ", ".join(f"Topic '{each.name}' ({each.error.name})" for each in missing)
        raise Refusal(
            what=f"{what} does not exist as expected",
            where="the brokers that were asked",
            next_step="add --if-exists, or see what there is: kraft-node topics describe",
        )


def is_shown(
    partition: PartitionDescription,
    only: PartitionFilter | None,
    min_isr: int,
    ongoing: OngoingReassignment | None = None,
) -> bool:
    """`min_isr` as it is set; no more than there are replicas count (KIP-966)."""
    least = min(min_isr, len(partition.replicas))
    match only:
        case None:
            return True
        case PartitionFilter.UNDER_REPLICATED:
            adding = () if ongoing is None else ongoing.adding
            return len(partition.isr) < len(partition.replicas) - len(adding)
        case PartitionFilter.UNDER_MIN_ISR:
            return len(partition.isr) < least
        case PartitionFilter.AT_MIN_ISR:
            return len(partition.isr) == least
        case PartitionFilter.UNAVAILABLE:
            return partition.leader == NO_NODE or partition.leader in partition.offline


def _topic_line(topic: TopicDescription, config: TopicConfig) -> str:
    replicas = max((len(each.replicas) for each in topic.partitions), default=0)
    told = ",".join(f"{key}={value}" for key, value in config.told)
    return (
        f"Topic: {topic.name}\tTopicId: {uuid_text(topic.id)}\t"
        f"PartitionCount: {len(topic.partitions)}\tReplicationFactor: {replicas}\tConfigs: {told}"
    )


def _partition_line(
    name: str, partition: PartitionDescription, ongoing: OngoingReassignment | None
) -> str:
    leader = "none" if partition.leader == NO_NODE else partition.leader
    moving = (
        ""
        if ongoing is None
        else f"\tAdding Replicas: {_listed(ongoing.adding)}"
        f"\tRemoving Replicas: {_listed(ongoing.removing)}"
    )
    return (
        f"\tTopic: {name}\tPartition: {partition.index}\tLeader: {leader}"
        f"\tReplicas: {_listed(partition.replicas)}\tIsr: {_listed(partition.isr)}{moving}"
        f"\tElr: {_listed(partition.elr)}\tLastKnownElr: {_listed(partition.last_known_elr)}"
    )


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
