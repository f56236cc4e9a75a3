"""The hand-written frames that add and remove a voter are Kafka's, by kio's reading."""

import base64
from uuid import UUID

import kio.schema.add_raft_voter.v0 as add
import kio.schema.remove_raft_voter.v0 as remove
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from tests.workloads.test_wire import NOW, read, write
from workloads.wire.describe_quorum import add_raft_voter, read_voters_changed, remove_raft_voter
from workloads.wire.header import Api

VOTERS, DIRECTORIES = st.integers(0, 2**31 - 1), st.uuids(version=4)


@pytest.mark.parametrize(
    ("schema", "key", "api"),
    [
        (add.AddRaftVoterRequest, 80, Api.ADD_RAFT_VOTER),
        (remove.RemoveRaftVoterRequest, 81, Api.REMOVE_RAFT_VOTER),
    ],
)
def test_requests_are_sent_in_the_version_that_is_written(
    schema: type[add.AddRaftVoterRequest], key: int, api: Api
) -> None:
    assert (schema.__api_key__, schema.__version__) == (key, api.version)
    assert schema.__flexible__


@given(VOTERS, DIRECTORIES)
def test_a_voter_that_goes_is_named_with_its_directory(voter: int, directory: UUID) -> None:
    found = read(remove.RemoveRaftVoterRequest, remove_raft_voter(voter, text_of(directory)))
    assert found.cluster_id is None
    assert found.voter_id == voter
    assert found.voter_directory_id == directory


@given(VOTERS, DIRECTORIES, st.text(max_size=300), st.text(max_size=300), st.integers(0, 65535))
def test_a_voter_that_comes_is_named_with_its_directory_and_where_it_is_reached(
    voter: int, directory: UUID, listener: str, host: str, port: int
) -> None:
    body = add_raft_voter(
        voter, text_of(directory), listener=listener, host=host, port=port, timeout_ms=1500
    )
    found = read(add.AddRaftVoterRequest, body)
    assert found.cluster_id is None
    assert found.timeout.total_seconds() == 1.5
    assert found.voter_id == voter
    assert found.voter_directory_id == directory
    assert [(each.name, each.host, each.port) for each in found.listeners] == [
        (listener, host, port)
    ]


@pytest.mark.parametrize("schema", [add.AddRaftVoterResponse, remove.RemoveRaftVoterResponse])
def test_the_error_is_read(
    schema: type[add.AddRaftVoterResponse] | type[remove.RemoveRaftVoterResponse],
) -> None:
    answer = schema(
        throttle_time=NOW, error_code=ErrorCode.voter_not_found, error_message="no such voter"
    )
    assert read_voters_changed(write(answer)) == ErrorCode.voter_not_found.value


def text_of(directory: UUID) -> str:
    return base64.urlsafe_b64encode(directory.bytes).decode().rstrip("=")
