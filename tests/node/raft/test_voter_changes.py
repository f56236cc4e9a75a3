"""AddRaftVoter and RemoveRaftVoter at the leader: what each waits for, and every answer."""

from dataclasses import replace

import pytest

from node.errors import ErrorCode
from node.ids import MS, ZERO_UUID, Endpoint, NodeId, ReplicaKey
from node.limits import MAX_ENDPOINTS
from node.raft.replicas import without_directories
from node.raft.roles import Leader, Resigned
from node.raft.voter_forms import DYNAMIC
from node.wire.api_versions import ApiVersionsResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from node.wire.vote import BeginQuorumEpochRequest, EndQuorumEpochRequest
from tests.support.rig import QUIET, Rig, asked_node, fetch, key
from tests.support.voter_requests import (
    ANOTHER,
    OPERATOR,
    SERVED,
    add,
    asked_what_it_serves,
    at,
    fetches,
    led,
    operate,
    refusal,
    remove,
    shows_itself,
    update,
    voting,
)


def test_a_voter_is_added_in_steps() -> None:
    rig = led()
    fetches(rig, 4)
    assert operate(rig, add(4), OPERATOR) is None
    assert voting(rig) == [1, 2, 3, 4], "in force from its append"
    told = [asked_node(a) for a in rig.asked if isinstance(a.request, BeginQuorumEpochRequest)]
    assert told.count(NodeId(4)) == 2, "to show itself, and as a voter"
    fetches(rig, 4)
    assert rig.answered(OPERATOR) == [], "two of four are no majority"
    fetches(rig, 2)
    assert rig.answered(OPERATOR) == [VoterChangeResponse()]


def test_it_waits_until_the_replica_has_caught_up() -> None:
    rig = led()
    rig.request(fetch(replica=key(4), offset=0, max_wait_ms=0), connection=4)
    assert operate(rig, add(4), OPERATOR) is None
    assert voting(rig) == [1, 2, 3]
    fetches(rig, 4)
    assert voting(rig) == [1, 2, 3, 4]


def test_who_does_not_answer_where_it_is_to_be_asked_for_votes_is_not_added() -> None:
    rig = led()
    fetches(rig, 4)
    assert rig.request(add(4, timeout_ms=5000), OPERATOR) is None
    assert asked_what_it_serves(rig, 4) == [at(4)[0]]
    rig.lose(4)
    rig.pass_ms(100)
    assert asked_what_it_serves(rig, 4) == 2 * [at(4)[0]], "it is asked again"
    fetches(rig, 2, 4)
    for _ in range(49):
        rig.pass_ms(100)
        fetches(rig, 2, 4)
    (answer,) = rig.answered(OPERATOR)
    assert refusal(answer) is ErrorCode.REQUEST_TIMED_OUT
    assert isinstance(answer, VoterChangeResponse)
    assert "does not answer at node-4:9104" in (answer.message or "")
    assert voting(rig) == [1, 2, 3]


@pytest.mark.parametrize(
    "told",
    [
        replace(SERVED, supported=(("kraft.version", 0, 0),)),
        replace(SERVED, supported=(("kraft.version", 2, 3),)),
        replace(SERVED, supported=()),
        ApiVersionsResponse(error=ErrorCode.UNSUPPORTED_VERSION, apis=()),
    ],
)
def test_who_does_not_support_the_kraft_version_of_the_quorum_is_not_added(
    told: ApiVersionsResponse,
) -> None:
    rig = led()
    fetches(rig, 4)
    rig.request(add(4), OPERATOR)
    rig.reply(4, told)
    (answer,) = rig.answered(OPERATOR)
    assert refusal(answer) is ErrorCode.INVALID_REQUEST
    assert voting(rig) == [1, 2, 3]


def test_what_a_new_voter_supports_is_written() -> None:
    rig = led()
    fetches(rig, 4)
    rig.request(add(4), OPERATOR)
    shows_itself(rig, 4, replace(SERVED, supported=(("kraft.version", 1, 2),)))
    row = rig.core.raft.quorum.voters.rows[key(4)]
    assert (row.min_kraft_version, row.max_kraft_version) == (1, 2)


def test_an_answer_from_where_it_is_not_counts_for_no_other_address() -> None:
    """An operator who mistyped tries again while the first try still waits."""
    rig = led()
    fetches(rig, 4)
    mistyped = replace(add(4), endpoints=at(9))
    rig.request(mistyped, OPERATOR)
    rig.lose(9)
    rig.request(add(4), ANOTHER)
    rig.pass_ms(100)
    assert asked_what_it_serves(rig, 4) == [at(4)[0]]
    shows_itself(rig, 4)
    assert rig.core.raft.quorum.voters.endpoints_of(key(4)) == at(4)


def test_only_who_fetches_is_asked() -> None:
    rig = led()
    rig.request(add(4), OPERATOR)
    rig.request(add(2), ANOTHER)
    assert asked_what_it_serves(rig, 4) == asked_what_it_serves(rig, 2) == []
    fetches(rig, 4)
    assert asked_what_it_serves(rig, 4) == [at(4)[0]]
    assert voting(rig) == [1, 2, 3], "that it fetches does not tell where it is reached"


def test_it_waits_until_the_epoch_and_the_change_before_are_committed() -> None:
    rig = led(commits=False)
    assert rig.request(remove(3), OPERATOR) is None
    assert voting(rig) == [1, 2, 3], "LeaderChange is not committed"
    fetches(rig, 2)
    assert voting(rig) == [1, 2]
    assert operate(rig, add(4), ANOTHER) is None
    fetches(rig, 4)
    shows_itself(rig, 4)
    assert voting(rig) == [1, 2], "the removal is not committed"
    fetches(rig, 2)
    assert rig.answered(OPERATOR) == [VoterChangeResponse()]
    fetches(rig, 4)
    assert voting(rig) == [1, 2, 4]


@pytest.mark.parametrize("asked", [add(4), remove(3)])
def test_nothing_changes_while_an_observer_knows_no_directories(
    asked: AddVoterRequest | RemoveVoterRequest,
) -> None:
    """KIP-856, "Compatibility": supported if all voters and observers do."""
    rig = led()
    fetches(rig, 4)
    without = fetch(replica=ReplicaKey(NodeId(7)), offset=0, max_wait_ms=0)
    rig.request(without, connection=7)
    answer = operate(rig, asked, OPERATOR)
    assert refusal(answer) is ErrorCode.UNSUPPORTED_VERSION
    assert isinstance(answer, VoterChangeResponse)
    assert "node 7" in (answer.message or "")
    assert voting(rig) == [1, 2, 3]
    rig.pass_ms(1)
    fetches(rig, 7)
    assert refusal(operate(rig, asked, OPERATOR) or VoterChangeResponse()) is ErrorCode.NONE
    assert voting(rig) != [1, 2, 3], "it was upgraded, and fetches with its directory id"


def test_an_observer_that_is_gone_is_in_nobodys_way() -> None:
    rig = led()
    rig.request(fetch(replica=ReplicaKey(NodeId(7)), offset=0, max_wait_ms=0), connection=7)
    leader = rig.role
    assert isinstance(leader, Leader)
    now_ns = leader.replicas[ReplicaKey(NodeId(7))].last_fetch_ns
    assert without_directories(leader, now_ns) == [7]
    assert without_directories(leader, now_ns + 300_000 * MS) == []


def test_whoever_asks_may_be_answered_at_the_append() -> None:
    rig = led()
    fetches(rig, 4)
    assert operate(rig, add(4, acks_append=True), OPERATOR) == VoterChangeResponse()
    assert voting(rig) == [1, 2, 3, 4]


def test_a_removed_leader_leads_on_until_its_removal_is_committed() -> None:
    rig = led()
    assert rig.request(remove(1), OPERATOR) is None
    assert isinstance(rig.role, Leader)
    assert voting(rig) == [2, 3]
    fetches(rig, 2)
    assert isinstance(rig.role, Leader), "it does not count itself"
    fetches(rig, 3)
    assert rig.answered(OPERATOR) == [VoterChangeResponse()]
    assert isinstance(rig.role, Resigned)
    ended = [asked_node(a) for a in rig.asked if isinstance(a.request, EndQuorumEpochRequest)]
    assert sorted(ended) == [2, 3]
    rig.pass_ms(2 * QUIET.election_ms)
    assert not isinstance(rig.role, Resigned), "it does not stay resigned for ever"


def test_a_leader_that_loses_its_epoch_says_so() -> None:
    rig = led()
    fetches(rig, 4)
    assert operate(rig, add(4), OPERATOR) is None
    rig.follow(leader=2, epoch=9)
    assert refusal(rig.answered(OPERATOR)[0]) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refusal(operate(rig, add(4), ANOTHER)) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_waits_too_long_is_told_for_what_it_waited() -> None:
    rig = led()
    operate(rig, add(5, timeout_ms=50), OPERATOR)
    rig.request(fetch(replica=key(4), offset=0, max_wait_ms=0), connection=4)
    operate(rig, add(4, timeout_ms=60), ANOTHER)
    rig.pass_ms(100)
    assert refusal(rig.answered(OPERATOR)[0]) is ErrorCode.INVALID_REQUEST, "it never fetched"
    assert refusal(rig.answered(ANOTHER)[0]) is ErrorCode.REQUEST_TIMED_OUT
    fetches(rig, 4)
    operate(rig, add(4, timeout_ms=50), ANOTHER)
    rig.pass_ms(50)
    assert refusal(rig.answered(ANOTHER)[1]) is ErrorCode.REQUEST_TIMED_OUT
    assert voting(rig) == [1, 2, 3, 4], "what is written may still be committed"
    rig.request(remove(2), OPERATOR)
    rig.pass_ms(QUIET.request_ms)
    assert refusal(rig.answered(OPERATOR)[1]) is ErrorCode.REQUEST_TIMED_OUT
    assert voting(rig) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (replace(add(4), cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (replace(remove(2), cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (replace(add(4), voter=ReplicaKey(NodeId(4), ZERO_UUID)), ErrorCode.INVALID_REQUEST),
        (replace(add(4), voter=replace(key(4), id=NodeId(-1))), ErrorCode.INVALID_REQUEST),
        (replace(add(4), endpoints=()), ErrorCode.INVALID_REQUEST),
        (replace(add(4), endpoints=(replace(at(4)[0], name="X"),)), ErrorCode.INVALID_REQUEST),
        (replace(remove(2), voter=ReplicaKey(NodeId(2))), ErrorCode.INVALID_REQUEST),
        (add(2), ErrorCode.DUPLICATE_VOTER),
        (replace(add(2), voter=key(2, directory=7)), ErrorCode.DUPLICATE_VOTER),
        (remove(4), ErrorCode.VOTER_NOT_FOUND),
        (replace(remove(2), voter=key(2, directory=7)), ErrorCode.VOTER_NOT_FOUND),
        (update(4, 1), ErrorCode.VOTER_NOT_FOUND),
        (update(2, 0), ErrorCode.FENCED_LEADER_EPOCH),
        (update(2, 2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replace(update(2, 1), endpoints=()), ErrorCode.INVALID_REQUEST),
        (replace(update(2, 1), max_kraft_version=0), ErrorCode.INVALID_REQUEST),
        (replace(update(2, 1), cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
    ],
)
def test_what_is_refused_at_once(
    request_: AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest, error: ErrorCode
) -> None:
    rig = led()
    assert rig.role.epoch == 1
    end = rig.core.raft.log.end
    assert refusal(rig.request(request_, OPERATOR)) is error
    assert rig.core.raft.log.end == end


LISTENER = at(4)[0]
UNDIALLED = [
    (replace(LISTENER, host=""),),
    (replace(LISTENER, host="h" * 64),),
    (replace(LISTENER, host="a..b"),),
    (replace(LISTENER, host="a\0b"),),
    (replace(LISTENER, host=".".join(["label"] * 43)),),
    (replace(LISTENER, port=0),),
    (LISTENER, LISTENER),
    (LISTENER, replace(LISTENER, name="E" * 256)),
    (LISTENER, *(replace(LISTENER, name=str(n)) for n in range(MAX_ENDPOINTS))),
]


@pytest.mark.parametrize("endpoints", UNDIALLED)
def test_what_no_node_could_dial_or_keep_never_enters_the_log(
    endpoints: tuple[Endpoint, ...],
) -> None:
    rig = led()
    fetches(rig, 4)
    end = rig.core.raft.log.end
    for request in (
        replace(add(4), endpoints=endpoints),
        replace(update(2, 1), endpoints=endpoints),
    ):
        assert refusal(rig.request(request, OPERATOR)) is ErrorCode.INVALID_REQUEST
    assert rig.core.raft.log.end == end


def test_the_last_voter_is_not_removed() -> None:
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC, size=1)
    rig.pass_ms(1)
    assert isinstance(rig.role, Leader)
    assert refusal(rig.request(remove(1), OPERATOR)) is ErrorCode.VOTER_NOT_FOUND


def test_static_voters_are_not_changed() -> None:
    rig = Rig(timeouts=QUIET)
    rig.become_leader()
    fetches(rig, 2)
    for request in (add(4), remove(2)):
        assert refusal(rig.request(request, OPERATOR)) is ErrorCode.UNSUPPORTED_VERSION
    told = rig.request(replace(update(2, rig.role.epoch), max_kraft_version=0), OPERATOR)
    assert refusal(told) is ErrorCode.NONE


def test_one_voter_becomes_two_and_one_again() -> None:
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC, size=1)
    rig.pass_ms(10 * QUIET.fetch_ms)
    fetches(rig, 2)
    operate(rig, add(2), OPERATOR)
    rig.pass_ms(QUIET.fetch_ms)
    assert isinstance(rig.role, Leader), "the new voter has time to fetch"
    fetches(rig, 2)
    assert rig.answered(OPERATOR) == [VoterChangeResponse()]
    rig.request(remove(2), ANOTHER)
    assert rig.answered(ANOTHER) == [VoterChangeResponse()], "it is a majority of itself"
