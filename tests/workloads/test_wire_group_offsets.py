"""The hand-written frames of OffsetCommit and OffsetFetch are Kafka's, by kio's reading."""

import io
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.offset_commit.v8 import request as commit_request
from kio.schema.offset_fetch.v8 import request as offset_request
from kio.serial import entity_reader, entity_writer

from tests.support.group_offsets import GroupOffsets
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.group_members import commit_offset, fetch_offset, read_commit, read_group_offset
from workloads.wire.header import Api

COMMIT = commit_offset("mine", "append-0", 2, 345)
FETCH = fetch_offset("mine", "append-0", 2)


def read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value


def write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def test_an_offset_is_committed_by_nobody_of_the_group() -> None:
    request = read(commit_request.OffsetCommitRequest, COMMIT)
    assert (request.__api_key__, request.__version__) == (8, Api.OFFSET_COMMIT.version)
    assert (request.group_id, request.member_id, request.group_instance_id) == ("mine", "", None)
    assert request.generation_id_or_member_epoch == -1
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.committed_offset) == (
        "append-0",
        2,
        345,
    )
    assert (partition.committed_leader_epoch, partition.committed_metadata) == (-1, None)


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.not_coordinator])
def test_what_becomes_of_a_commit_is_read(error: ErrorCode) -> None:
    answer = write(
        GroupOffsets(error=error).commit(read(commit_request.OffsetCommitRequest, COMMIT))
    )
    assert read_commit(answer, "append-0", 2) == error.value
    with pytest.raises(MalformedResponseError, match="append-0-2"):
        read_commit(answer, "append-0", 1)
    for size in range(len(answer)):
        with pytest.raises(MalformedResponseError):
            read_commit(answer[:size], "append-0", 2)


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.coordinator_load_in_progress])
def test_what_is_committed_is_read(error: ErrorCode) -> None:
    request = read(offset_request.OffsetFetchRequest, FETCH)
    assert (request.__api_key__, request.__version__) == (9, Api.OFFSET_FETCH.version)
    assert not request.require_stable
    answer = write(GroupOffsets({"mine": [7, 345]}, error).fetch(request))
    found = read_group_offset(answer, "mine", "append-0", 2)
    assert (found.error, found.offset) == (error.value, -1 if error else 345)
    for size in range(len(answer)):
        with pytest.raises(MalformedResponseError):
            read_group_offset(answer[:size], "mine", "append-0", 2)


def test_an_answer_for_another_group_or_partition_is_malformed() -> None:
    request = read(offset_request.OffsetFetchRequest, FETCH)
    answer = write(GroupOffsets({"mine": [7]}).fetch(request))
    with pytest.raises(MalformedResponseError, match="answers mine"):
        read_group_offset(answer, "other", "append-0", 2)
    with pytest.raises(MalformedResponseError, match="append-0-2"):
        read_group_offset(answer, "mine", "append-0", 1)
