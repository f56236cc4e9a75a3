"""Requests for something else than `__cluster_metadata`-0 are decoded, and marked."""

from datetime import timedelta
from importlib import import_module
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
from kio.serial import entity_writer

from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from node.wire import decode_request
from node.wire.apis import BY_KEY
from node.wire.fetch import FetchRequest
from node.wire.raft_voters import DescribeQuorumRequest
from node.wire.vote import BeginQuorumEpochRequest, EndQuorumEpochRequest, VoteRequest


def frame_of(key: int, version: int, entity: Any) -> bytes:
    buffer = BytesIO()
    flexible = type(entity).__flexible__
    header = key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\1\xff\xff"
    buffer.write(header + (b"\0" if flexible else b""))
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def partition_fields(key: int) -> dict[str, Any]:
    fields: dict[int, dict[str, Any]] = {
        52: {"replica_epoch": 1, "replica_id": 1, "last_offset_epoch": 0, "last_offset": 0},
        53: {"leader_id": 1, "leader_epoch": 1},
        54: {"leader_id": 1, "leader_epoch": 1, "preferred_successors": ()},
        55: {},
    }
    return fields[key]


TOPICS = [
    ((), False),
    (((METADATA_TOPIC, (0,)),), True),
    (((METADATA_TOPIC, (1,)),), False),
    (((METADATA_TOPIC, ()),), False),
    (((METADATA_TOPIC, (0, 1)),), False),
    ((("other", (0,)),), False),
    (((METADATA_TOPIC, (0,)), ("other", (0,))), False),
]


@pytest.mark.parametrize("key", [52, 53, 54, 55])
@pytest.mark.parametrize(("topics", "expected"), TOPICS)
def test_named_topics(key: int, topics: Any, expected: bool) -> None:
    kio = import_module(f"kio.schema.{BY_KEY[key].package}.v0.request")
    data = tuple(
        kio.TopicData(
            topic_name=name,
            partitions=tuple(
                kio.PartitionData(partition_index=i, **partition_fields(key)) for i in indexes
            ),
        )
        for name, indexes in topics
    )
    entity = getattr(kio, f"{BY_KEY[key].name}Request")(topics=data)
    _, request = decode_request(frame_of(key, 0, entity))
    assert isinstance(
        request,
        VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | DescribeQuorumRequest,
    )
    assert request.partition_ok is expected


@pytest.mark.parametrize("version", range(12, 19))
@pytest.mark.parametrize(("topics", "expected"), TOPICS)
def test_fetched_topics(version: int, topics: Any, expected: bool) -> None:
    kio = import_module(f"kio.schema.fetch.v{version}.request")
    data = tuple(
        kio.FetchTopic(
            **_topic_name(name, version),
            partitions=tuple(
                kio.FetchPartition(partition=i, fetch_offset=0, partition_max_bytes=9)
                for i in indexes
            ),
        )
        for name, indexes in topics
    )
    entity = kio.FetchRequest(
        max_wait=timedelta(milliseconds=500), min_bytes=0, topics=data, forgotten_topics_data=()
    )
    _, request = decode_request(frame_of(1, version, entity))
    assert isinstance(request, FetchRequest)
    assert request.partition_ok is expected
    assert request.max_wait_ms == 500


def _topic_name(name: str, version: int) -> dict[str, Any]:
    if version < 13:
        return {"topic": name}
    return {"topic_id": METADATA_TOPIC_ID if name == METADATA_TOPIC else UUID(int=5)}
