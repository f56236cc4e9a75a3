"""A topic of which it is said where its replicas are."""

from collections.abc import Mapping, Sequence

from node.ids import NodeId
from node.wire.topic_changes import Assignment, NewTopic, TopicSetting


def assigned_topic(
    name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str]
) -> NewTopic:
    """`replicas`: of each partition, the leader first."""
    return NewTopic(
        name=name,
        partitions=-1,
        replication=-1,
        assignments=tuple(
            Assignment(index=index, brokers=tuple(map(NodeId, brokers)))
            for index, brokers in enumerate(replicas)
        ),
        configs=tuple(TopicSetting(name=key, value=value) for key, value in configs.items()),
    )
