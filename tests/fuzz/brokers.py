"""Brokers and topics for a controller that is stepped, and values of fields that speak of them."""

from collections.abc import Mapping
from functools import partial
from random import Random
from uuid import UUID

from node import limits
from node.ids import ConnectionId, NodeId
from node.wire import decode_response, encode_request
from node.wire.apis import Request, Response
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from tests.fuzz.bench import Bench
from tests.fuzz.drawing import CLUSTER, RESOURCES, Draw, one_of
from tests.support import brought_up

BROKERS = tuple(map(NodeId, (1, 2, 3)))
TOPICS = ("t", "u")


def bring_up(bench: Bench) -> dict[str, Draw]:
    """Values of fields that speak of these brokers in their epochs, and of these topics."""
    epochs = [brought_up.bring_up(partial(_ask, bench), broker, CLUSTER) for broker in BROKERS]
    topics = tuple(NewTopic(name=name, partitions=3, replication=2) for name in TOPICS)
    created = _ask(bench, CreateTopicsRequest(topics=topics))
    assert isinstance(created, CreateTopicsResponse)
    return {
        **_OF_A_CLUSTER,
        "broker_epoch": one_of(*epochs, epochs[0], -1),
        "previous_broker_epoch": one_of(*epochs, -1),
        "DeleteTopicState.topic_id": one_of(UUID(int=0)),
        "topic_id": one_of(*(result.id for result in created.results), UUID(int=1)),
    }


def _ask(bench: Bench, request: Request) -> Response:
    header, frame = encode_request(request, correlation_id=1, client_id="broker")
    answer = bench.ask(frame, ConnectionId(5))
    assert answer is not None, f"hung up on {request}"
    return decode_response(header, answer)


def _directory(rng: Random) -> UUID:
    return rng.choice((UUID(int=2001), UUID(int=2002), UUID(int=rng.getrandbits(128))))


_IDS = one_of(*BROKERS, *BROKERS, 7)
_TOPIC_NAMES = one_of(*TOPICS, "a")
_OF_A_CLUSTER: Mapping[str, Draw] = {
    "broker_id": _IDS,
    "controller_id": one_of(1, 2),
    "incarnation_id": one_of(*(UUID(int=1000 + each) for each in BROKERS), UUID(int=5)),
    "log_dirs[]": _directory,
    "offline_log_dirs[]": _directory,
    "id_": _directory,
    "min_supported_version": one_of(0, 7, 1),
    "max_supported_version": one_of(30, 30, 1),
    "listeners": one_of(0, 1, 1, limits.MAX_ENDPOINTS + 1),
    "port": one_of(1, 9092, 0),
    "host": one_of("h", "h", "h" * limits.MAX_HOST_CHARACTERS, "not a host"),
    "rack": one_of(None, "r", "r" * 32_767),
    "current_metadata_offset": one_of(0, 1 << 40),
    "want_fence": one_of(False, False, False, True),
    "want_shut_down": one_of(False, False, False, True),
    "Feature.name": one_of("metadata.version", "metadata.version", "x"),
    "CreatableTopic.name": one_of(*"abcdefgh", *TOPICS),
    "CreatableTopic.configs": one_of(0, 0, 1),
    "CreatableTopicConfig.name": one_of("min.insync.replicas", "retention.ms", "x"),
    "DeleteTopicState.name": _TOPIC_NAMES,
    "topic_names[]": _TOPIC_NAMES,
    "CreatePartitionsTopic.name": _TOPIC_NAMES,
    "ReassignableTopic.name": _TOPIC_NAMES,
    "ListPartitionReassignmentsTopics.name": _TOPIC_NAMES,
    "topic": _TOPIC_NAMES,
    "topic_name": _TOPIC_NAMES,
    "partition_index": one_of(0, 1, 2, 3),
    "partition_indexes[]": one_of(0, 1, 2, 3),
    "partitions[]": one_of(0, 1, 2, 3),
    "num_partitions": one_of(-1, 1, 3, limits.MAX_NEW_PARTITIONS, limits.MAX_NEW_PARTITIONS + 1),
    "replication_factor": one_of(-1, 1, 2, 3, 4),
    "count": one_of(4, 5, 6, 20, limits.MAX_NEW_PARTITIONS + 4),
    "assignments": one_of(0, 0, 0, 1, 2),
    "broker_ids": one_of(1, 2),
    "broker_ids[]": _IDS,
    "replicas": one_of(1, 2, 3),
    "replicas[]": _IDS,
    "new_isr_with_epochs": one_of(1, 2),
    "new_isr[]": _IDS,
    "partition_epoch": one_of(0, 0, 1, 2),
    "election_type": one_of(0, 1),
    "feature": one_of("metadata.version", "eligible.leader.replicas.version", "x"),
    "max_version_level": one_of(0, 1, 29, 30),
    "upgrade_type": one_of(1, 2, 3),
    "resource_type": one_of(16, 16, 2, 4, 4),
    "resource_name": one_of(*RESOURCES, "", "", "1", *TOPICS),
}
