"""The hand-written frames that remove a voter are Kafka's, by kio's reading."""

import base64
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.remove_raft_voter.v0 import request, response

from tests.workloads.test_wire import NOW, read, write
from workloads.wire.header import Api
from workloads.wire.raft_voters import read_removed, remove_raft_voter


def test_the_request_is_sent_in_the_version_that_is_written() -> None:
    schema = request.RemoveRaftVoterRequest
    assert (schema.__api_key__, schema.__version__) == (81, Api.REMOVE_RAFT_VOTER.version)
    assert schema.__flexible__


@given(st.integers(0, 2**31 - 1), st.uuids(version=4))
def test_a_voter_is_named_with_its_directory(voter: int, directory: UUID) -> None:
    text = base64.urlsafe_b64encode(directory.bytes).decode().rstrip("=")
    found = read(request.RemoveRaftVoterRequest, remove_raft_voter(voter, text))
    assert found.cluster_id is None
    assert found.voter_id == voter
    assert found.voter_directory_id == directory


def test_the_error_is_read() -> None:
    answer = response.RemoveRaftVoterResponse(
        throttle_time=NOW, error_code=ErrorCode.voter_not_found, error_message="no such voter"
    )
    assert read_removed(write(answer)) == ErrorCode.voter_not_found.value
