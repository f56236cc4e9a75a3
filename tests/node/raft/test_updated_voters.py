"""UpdateRaftVoter at the leader: where voters listen, and what static ones tell of themselves."""

from dataclasses import replace

import pytest

from node.errors import ErrorCode
from node.ids import NodeId, ReplicaKey
from node.raft.roles import Leader
from node.raft.voter_forms import STATIC
from node.raft.voter_history import VoterHistory
from node.wire.api_versions import (
    UPGRADE,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.raft_voters import (
    UpdateVoterResponse,
)
from tests.support.rig import ME, QUIET, Rig, fetch, key
from tests.support.voter_requests import (
    ANOTHER,
    OPERATOR,
    at,
    led,
    refusal,
    update,
)


def test_a_voter_tells_where_it_listens_now() -> None:
    rig = led()
    answer = rig.request(update(3, rig.role.epoch, host="new"), OPERATOR)
    assert answer == UpdateVoterResponse(
        leader=ME.id, epoch=rig.role.epoch, leader_endpoint=replace(at(1)[0], name="")
    )
    assert rig.core.raft.quorum.voters.endpoints_of(key(3))[0].host == "new"
    end = rig.core.raft.log.end
    assert refusal(rig.request(update(3, rig.role.epoch, host="new"), OPERATOR)) is ErrorCode.NONE
    assert rig.core.raft.log.end == end, "what is known is not written again"
    another = rig.request(update(2, rig.role.epoch), OPERATOR)
    assert refusal(another) is ErrorCode.REQUEST_TIMED_OUT, "one change at a time"


def static() -> Rig:
    """Node 1 leads nodes 1, 2 and 3, which are known by their ids alone; nothing is committed."""
    listed = [(ReplicaKey(NodeId(node)), at(node)) for node in (1, 2, 3)]
    voters = VoterHistory.formatted(listed, STATIC)
    rig = Rig(timeouts=QUIET, me=ReplicaKey(NodeId(1)), voters=voters)
    rig.become_leader()
    return rig


def test_what_a_static_voter_tells_of_itself_is_kept_and_not_written() -> None:
    """`UpdateVoterHandler` of Kafka 4.3: by the id alone, in memory, for as long as it leads."""
    rig = static()
    epoch = rig.role.epoch
    early = rig.request(update(2, epoch), OPERATOR)
    assert refusal(early) is ErrorCode.REQUEST_TIMED_OUT, "nothing of its epoch is committed"
    end = rig.core.raft.log.end
    asked = fetch(
        replica=ReplicaKey(NodeId(2)), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0
    )
    rig.request(asked, connection=2)
    end = rig.core.raft.log.end
    for request, error in (
        (update(2, epoch), ErrorCode.NONE),
        (replace(update(3, epoch), max_kraft_version=0), ErrorCode.NONE),
        (update(4, epoch), ErrorCode.VOTER_NOT_FOUND),
        (replace(update(2, epoch), voter=ReplicaKey(NodeId(2))), ErrorCode.INVALID_REQUEST),
        (replace(update(2, epoch), min_kraft_version=1), ErrorCode.INVALID_REQUEST),
        (replace(update(2, epoch), endpoints=()), ErrorCode.INVALID_REQUEST),
    ):
        assert refusal(rig.request(request, OPERATOR)) is error
    leader = rig.role
    assert isinstance(leader, Leader)
    assert {node: row.key for node, row in leader.told.items()} == {2: key(2), 3: key(3)}
    assert rig.core.raft.quorum.voters.endpoint(NodeId(2)) == at(2)[0], "the file says where it is"
    assert rig.core.raft.log.end == end, "nothing is written of it"
    assert rig.core.raft.voters_without(1) == [1, 3]
    assert rig.core.raft.voters_without(0) == [1]


def test_no_kraft_version_is_raised_that_not_all_voters_support() -> None:
    rig = static()
    end = rig.core.raft.log.end
    asked = fetch(
        replica=ReplicaKey(NodeId(2)), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0
    )
    rig.request(asked, connection=2)
    assert refusal(rig.request(update(2, rig.role.epoch), OPERATOR)) is ErrorCode.NONE
    raised = FeatureUpdate(name="kraft.version", level=1, kind=UPGRADE)
    answer = rig.request(UpdateFeaturesRequest(updates=(raised,), validate_only=False), ANOTHER)
    assert isinstance(answer, UpdateFeaturesResponse)
    assert answer.error is ErrorCode.INVALID_UPDATE_VERSION
    assert "these did not: 1, 3." in (answer.message or "")
    assert rig.core.raft.log.voters.kraft_version == STATIC


@pytest.mark.parametrize("kind", [2, 3])
def test_a_kraft_version_that_cannot_be_lowered_says_so(kind: int) -> None:
    rig = led()
    lowered = FeatureUpdate(name="kraft.version", level=0, kind=kind)
    answer = rig.request(UpdateFeaturesRequest(updates=(lowered,), validate_only=False), ANOTHER)
    assert isinstance(answer, UpdateFeaturesResponse)
    assert answer.error is ErrorCode.INVALID_UPDATE_VERSION
    assert "cannot be lowered" in (answer.message or "")


def test_where_voters_are_written_nobody_is_waited_for_to_tell_of_itself() -> None:
    assert led().core.raft.voters_without(1) is None
