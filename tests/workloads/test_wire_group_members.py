"""The hand-written frames of members of groups are Kafka's, by kio's reading."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.heartbeat.v4 import request as heartbeat_request
from kio.schema.join_group.v9 import request as join_request
from kio.schema.leave_group.v5 import request as leave_request
from kio.schema.offset_commit.v8 import request as commit_request
from kio.schema.sync_group.v5 import request as sync_request
from kio.serial import entity_reader, entity_writer

from tests.support.joining_members import JoiningMembers
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.group_members import (
    MemberTimeouts,
    commit_as_member,
    heartbeat,
    join_group,
    leave_group,
    read_heartbeat,
    read_joined,
    read_left,
    read_synced,
    sync_group,
)
from workloads.wire.header import Api

JOIN = join_group("g", "m1", MemberTimeouts(session_ms=6000, rebalance_ms=1500))
SYNC = sync_group("g", 3, "m1", ("m1", "m2"))
BEAT = heartbeat("g", 3, "m1")
LEAVE = leave_group("g", "m1")


def read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value


def write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def version_of(request: Any) -> tuple[int, int]:
    return request.__api_key__, request.__version__


def test_a_member_joins_with_its_time_outs() -> None:
    request = read(join_request.JoinGroupRequest, JOIN)
    assert version_of(request) == (11, Api.JOIN_GROUP.version)
    assert (request.group_id, request.member_id, request.group_instance_id) == ("g", "m1", None)
    assert request.session_timeout.total_seconds() == 6
    assert request.rebalance_timeout.total_seconds() == 1.5
    assert (request.protocol_type, [each.name for each in request.protocols]) == (
        "consumer",
        ["range"],
    )


def test_the_leader_shares_out() -> None:
    request = read(sync_request.SyncGroupRequest, SYNC)
    assert version_of(request) == (14, Api.SYNC_GROUP.version)
    assert (request.group_id, request.generation_id, request.member_id) == ("g", 3, "m1")
    assert (request.protocol_type, request.protocol_name) == ("consumer", "range")
    shares = [(each.member_id, each.assignment) for each in request.assignments]
    assert shares == [("m1", b"m1"), ("m2", b"m2")]


def test_a_member_says_that_it_lives_commits_and_leaves() -> None:
    beat = read(heartbeat_request.HeartbeatRequest, BEAT)
    assert version_of(beat) == (12, Api.HEARTBEAT.version)
    assert (beat.group_id, beat.generation_id, beat.member_id) == ("g", 3, "m1")
    body = commit_as_member("g", 3, "m1", "append-0", 2, 345)
    commit = read(commit_request.OffsetCommitRequest, body)
    assert (commit.group_id, commit.member_id) == ("g", "m1")
    assert commit.generation_id_or_member_epoch == 3
    assert commit.topics[0].partitions[0].committed_offset == 345
    leave = read(leave_request.LeaveGroupRequest, LEAVE)
    assert version_of(leave) == (13, Api.LEAVE_GROUP.version)
    assert (leave.group_id, [each.member_id for each in leave.members]) == ("g", ["m1"])


def refuses_shorter(answer: bytes, read_answer: Callable[[bytes], object]) -> None:
    for size in range(len(answer)):
        with pytest.raises(MalformedResponseError):
            read_answer(answer[:size])


@pytest.mark.parametrize("error", [ErrorCode.none, ErrorCode.not_coordinator])
def test_what_a_member_is_answered_is_read(error: ErrorCode) -> None:
    group = JoiningMembers(error)
    answer = write(group.answer(11, JOIN))
    joined = read_joined(answer)
    assert (joined.error, joined.member) == (error.value, "m1")
    assert joined.members == (() if error else ("m1",))
    refuses_shorter(answer, read_joined)
    answer = write(group.answer(14, SYNC))
    assert read_synced(answer) == (error.value, b"m1")
    refuses_shorter(answer, read_synced)
    group.generation = group.joined["m1"] = 3
    answer = write(group.answer(12, BEAT))
    assert read_heartbeat(answer) == error.value
    refuses_shorter(answer, read_heartbeat)
    answer = write(group.answer(13, LEAVE))
    assert read_left(answer, "m1") == error.value
    refuses_shorter(answer, lambda body: read_left(body, "m1"))
    with pytest.raises(MalformedResponseError, match="answers m1, not m2"):
        read_left(answer, "m2")
