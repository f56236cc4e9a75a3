"""What gives a controller the most work that knows `BROKERS`: their configs, and as many topics and
partitions as there may be. In this order: the later ones go by what the earlier ones wrote."""

from collections.abc import Iterator
from itertools import pairwise

from node import limits
from node.ids import NodeId
from node.wire.apis import Request
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from node.wire.reassignments import (
    PREFERRED,
    UNCLEAN,
    AlterReassignmentsRequest,
    ElectLeadersRequest,
    ListReassignmentsRequest,
    NamedPartition,
    Reassignment,
)
from node.wire.topic_changes import (
    Assignment,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeletedTopic,
    DeleteTopicsRequest,
    NewTopic,
    WantedPartitions,
)

BROKERS = (1, 2, 3)
_TOPIC, _BROKER = 2, 4
_SET = 0


def cluster_requests(max_bytes: int) -> Iterator[tuple[str, Request]]:
    """What each is, and the request."""
    yield from _configs(max_bytes)
    yield from _topics()


def _configs(max_bytes: int) -> Iterator[tuple[str, Request]]:
    count, longest = limits.MAX_CONFIGS_PER_RESOURCE, limits.MAX_STRING_BYTES
    names = [f"k{number}" for number in range(count)]
    yield "sets a key that is too long", _set([("k" * 40_000, "v")])
    yield "sets as many keys as there may be", _set([(name, "") for name in names])
    yield "sets more keys", _set([(f"more-{name}", "") for name in names])
    yield "describes the cluster many times", _describe(_BROKER, [""] * limits.MAX_ELEMENTS)
    keys = tuple(names[: limits.MAX_ELEMENTS - 1])
    query = ResourceQuery(type=_BROKER, name="", keys=keys)
    yield "describes many keys of the cluster", DescribeConfigsRequest(resources=(query,))
    none = (ResourceQuery(type=_BROKER, name="", keys=()),) * limits.MAX_ELEMENTS
    yield "describes no key of the cluster", DescribeConfigsRequest(resources=none)
    at_once = max_bytes // (longest + 100)
    for first, end in pairwise([*range(0, count, at_once), count]):
        values = [(name, "v" * longest) for name in names[first:end]]
        yield f"sets long values from {first} on", _set(values)
    yield "describes all long values", _describe(_BROKER, ["", ""])


def _topics() -> Iterator[tuple[str, Request]]:
    many = limits.MAX_ELEMENTS
    most = limits.MAX_NEW_PARTITIONS - limits.NEW_TOPIC_AS_PARTITIONS
    too_large = [_topic(f"large-{number}", 9_999) for number in range(many)]
    yield "creates topics that are too large", CreateTopicsRequest(topics=tuple(too_large))
    small = tuple(_topic(f"small-{number}", 1) for number in range(many))
    yield "creates small topics", CreateTopicsRequest(topics=small)
    large = _topic("large", most)
    yield "validates a large topic", CreateTopicsRequest(topics=(large,), validate_only=True)
    yield "creates a large topic", CreateTopicsRequest(topics=(large,))
    wanted = (WantedPartitions(topic="large", count=2 * most, assignments=None),)
    yield "adds many partitions", CreatePartitionsRequest(topics=wanted)
    left = limits.MAX_PARTITIONS - many - 2 * most
    yield "creates the last topic", CreateTopicsRequest(topics=(_topic("last", left),))
    yield "creates one more", CreateTopicsRequest(topics=(_topic("more", 1),))
    yield "describes topics", _describe(_TOPIC, [topic.name for topic in small])
    yield "describes a topic many times", _describe(_TOPIC, ["large"] * many)
    for kind in (PREFERRED, UNCLEAN):
        yield f"elects leaders of all, {kind}", ElectLeadersRequest(kind=kind, partitions=None)
    yield "lists reassignments of all", ListReassignmentsRequest(partitions=None)
    moved = tuple(
        Reassignment(partition=NamedPartition(topic="large", index=number), replicas=(NodeId(1),))
        for number in range(many // 3)  # a topic, a partition and a replica each
    )
    yield "moves many partitions", AlterReassignmentsRequest(reassignments=moved)
    names = [*(topic.name for topic in small[: many - 2]), "large", "last"]
    deleted = tuple(DeletedTopic(name=name) for name in names)
    yield "deletes topics", DeleteTopicsRequest(topics=deleted)


def requests_of_all() -> Iterator[tuple[str, Request]]:
    """What names as many topics, partitions or resources as there may be, of a controller that
    knows nothing but `BROKERS`: in this order."""
    most, every = limits.MAX_PARTITIONS, tuple(map(NodeId, BROKERS))
    names = [f"named-{number}" for number in range(most)]
    topics = tuple(_topic(name, 1) for name in names)
    yield "creates a topic a partition", CreateTopicsRequest(topics=topics)
    assignments = tuple(Assignment(index=number, brokers=every) for number in range(most))
    assigned = NewTopic(name="assigned", partitions=-1, replication=-1, assignments=assignments)
    yield "creates a topic of all partitions", CreateTopicsRequest(topics=(assigned,))
    wide = tuple((f"wide-{number}", 2_300) for number in range(4))
    for name, count in wide:
        yield f"creates {name}", CreateTopicsRequest(topics=(_topic(name, count),))
    wanted = tuple(WantedPartitions(topic=name, count=2, assignments=None) for name in names)
    yield "adds a partition to each", CreatePartitionsRequest(topics=wanted)
    there = [NamedPartition(topic=name, index=n) for name, count in wide for n in range(count)]
    places = {"others": every[1:] + every[:1], "one": every[:1], "nowhere": None}
    for where, replicas in places.items():
        moved = tuple(Reassignment(partition=each, replicas=replicas) for each in there)
        yield f"moves all to {where}", AlterReassignmentsRequest(reassignments=moved)
        yield f"lists all, moved to {where}", ListReassignmentsRequest(partitions=tuple(there))
    absent = tuple(NamedPartition(topic=name, index=0) for name in names)
    moved = tuple(Reassignment(partition=each, replicas=every) for each in absent)
    yield "moves one of each topic", AlterReassignmentsRequest(reassignments=moved)
    for kind in (PREFERRED, UNCLEAN):
        for which, named in (("all", tuple(there)), ("one of each topic", absent)):
            yield f"elects {which}, {kind}", ElectLeadersRequest(kind=kind, partitions=named)
    one = (ConfigChange(name="retention.ms", operation=_SET, value="1000"),)
    changes = tuple(ResourceChange(type=_TOPIC, name=name, changes=one) for name in names)
    yield "alters each topic", AlterConfigsRequest(resources=changes, validate_only=False)
    yield "describes each topic", _describe(_TOPIC, names)
    keys = tuple(ResourceQuery(type=_TOPIC, name=name, keys=("retention.ms",)) for name in names)
    yield "describes a key of each topic", DescribeConfigsRequest(resources=keys)
    deleted = tuple(DeletedTopic(name=name) for name in (*names, *(name for name, _ in wide)))
    yield "deletes each topic", DeleteTopicsRequest(topics=deleted)


def _topic(name: str, partitions: int) -> NewTopic:
    return NewTopic(name=name, partitions=partitions, replication=len(BROKERS))


def _set(values: list[tuple[str, str]]) -> AlterConfigsRequest:
    """Of the whole cluster."""
    changes = tuple(ConfigChange(name=key, operation=_SET, value=value) for key, value in values)
    change = ResourceChange(type=_BROKER, name="", changes=changes)
    return AlterConfigsRequest(resources=(change,), validate_only=False)


def _describe(kind: int, names: list[str]) -> DescribeConfigsRequest:
    queries = (ResourceQuery(type=kind, name=name, keys=None) for name in names)
    return DescribeConfigsRequest(resources=tuple(queries))
