"""Voters by what controller.quorum.voters lists (KIP-856): sets by deltas, and who may change."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import ErrorCode
from node.ids import ZERO_UUID, Endpoint, NodeId, Offset, ReplicaKey
from node.raft.voter_forms import DYNAMIC, ListedNodes
from node.raft.voter_history import VoterHistory
from node.records.batch import Batch, read_header
from node.records.control import (
    AddVoter,
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    RemoveVoter,
    Voters,
    decode_control,
)
from node.wire.api_versions import ApiVersionsResponse
from node.wire.apis import API_RANGES
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest
from tests.node.raft.test_voter_history import addresses, control_batch, row
from tests.support.rig import ME, PORTS, batch, key

CHANGE = LeaderChange(leader=NodeId(1), voters=(), granting_voters=())
FIRST = (AddVoter(key=key(1)), AddVoter(key=key(2)), AddVoter(key=key(3)))


def listing(*nodes: int) -> dict[NodeId, tuple[Endpoint, ...]]:
    at = {
        node: Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node) for node in nodes
    }
    return {NodeId(node): (endpoint,) for node, endpoint in at.items()}


def empty(*nodes: int) -> VoterHistory:
    return VoterHistory.listed(listing(*nodes or (1, 2, 3)), ME)


def keys(history: VoterHistory) -> list[ReplicaKey]:
    return list(history.newest.keys)


def named() -> VoterHistory:
    return empty().appended(control_batch(0, 1, *FIRST))


def test_an_empty_log_names_nobody_and_all_that_are_listed_vote() -> None:
    history = empty()
    assert keys(history) == [ME, ReplicaKey(NodeId(2)), ReplicaKey(NodeId(3))]
    assert history.newest.majority == 3, "all of them elect, and a wiped disk is one of all"
    assert not history.is_named
    assert not history.lets_write([Offset(99)] * 3)
    assert history.records_at(Offset(5)) == ()


def test_all_are_named_at_once_and_only_when_all_are_known() -> None:
    history = empty()
    assert history.first_records([key(2)]) == ()
    assert history.first_records([key(2), ReplicaKey(NodeId(3))]) == ()
    assert history.first_records([key(2), key(9), key(3)]) == FIRST
    met = [key(3), key(2), key(3, 7), ReplicaKey(NodeId(3))]
    assert history.first_records(met)[2] == AddVoter(key=key(3, 7)), "the disk that it has now"
    assert named().first_records([key(2), key(3)]) == ()
    assert empty(1).first_records(()) == (AddVoter(key=ME),)


def test_the_first_records_are_the_whole_set_and_their_truncation_forgets_it() -> None:
    history = named()
    assert keys(history) == [ME, key(2), key(3)]
    assert (history.newest.majority, history.newest_since) == (2, 2)
    assert history.newest.endpoint(NodeId(3)) == listing(3)[NodeId(3)][0]
    assert history.truncated(Offset(0)) == empty()


def test_two_directories_of_one_node_vote_until_one_is_removed() -> None:
    history = named().appended(control_batch(3, 1, AddVoter(key=key(3, 7))))
    assert keys(history) == [ME, key(2), key(3, 7), key(3)]
    assert (history.newest.majority, list(history.newest.by_id)) == (3, [1, 2, 3])
    history = history.appended(control_batch(4, 1, RemoveVoter(key=key(3))))
    assert keys(history) == [ME, key(2), key(3, 7)]
    assert history.records_at(Offset(4)) == (*FIRST[:2], AddVoter(key=key(3, 7)), FIRST[2])
    assert history.truncated(Offset(3)) == named()


def test_nothing_else_is_written_before_all_voters_have_the_first_records() -> None:
    assert not named().lets_write([Offset(3), Offset(3), Offset(2)])
    assert named().lets_write([Offset(3)] * 3)
    dynamic = VoterHistory.formatted(addresses(1, 2, 3), DYNAMIC)
    assert dynamic.lets_write([Offset(0)] * 3)


@pytest.mark.parametrize(
    ("history", "record", "why"),
    [
        (empty(), AddVoter(key=key(4)), "names node 4 as a voter"),
        (named(), Voters(voters=(row(1),)), "leave controller.quorum.voters out"),
        (empty(), KRaftVersion(version=1), "leave controller.quorum.voters out"),
        (
            VoterHistory.formatted(addresses(1), DYNAMIC),
            FIRST[0],
            "its voters in controller.quorum.voters",
        ),
        (
            VoterHistory.formatted((), DYNAMIC),
            RemoveVoter(key=ME),
            "its voters in controller.quorum.voters",
        ),
    ],
)
def test_a_log_that_is_not_for_this_node_changes_nothing_and_says_why(
    history: VoterHistory, record: ControlRecord, why: str
) -> None:
    for found in (
        history.appended(control_batch(9, 2, CHANGE, record)),
        history.after_snapshot([record], Offset(9)),
    ):
        assert why in str(found.fault)
        assert "\n  try: " in str(found.fault)
        assert found.newest == history.newest or found.newest == history.sets[0].voters


# --- changes ---


def add(replica: ReplicaKey) -> AddVoterRequest:
    return AddVoterRequest(cluster_id=None, voter=replica, endpoints=(), timeout_ms=0)


def remove(replica: ReplicaKey) -> RemoveVoterRequest:
    return RemoveVoterRequest(cluster_id=None, voter=replica)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (add(key(3, 7)), None),  # a second directory, first: add, then remove
        (add(key(3)), ErrorCode.DUPLICATE_VOTER),
        (add(key(4)), ErrorCode.INVALID_REQUEST),
        (remove(key(4)), ErrorCode.INVALID_REQUEST),
        (remove(key(3, 7)), ErrorCode.VOTER_NOT_FOUND),
        (remove(key(3)), ErrorCode.INVALID_REQUEST),  # its node would vote no more
    ],
)
def test_who_may_be_added_and_removed(
    change: AddVoterRequest | RemoveVoterRequest, error: ErrorCode | None
) -> None:
    form, voters = ListedNodes(listing(1, 2, 3)), named().newest
    refused = form.refuses(change, 0, "CONTROLLER") or form.forbids(change, voters)
    assert (refused and refused[0]) == error


ALL = ApiVersionsResponse(error=ErrorCode.NONE, apis=API_RANGES)


@pytest.mark.parametrize("api_key", [1, 52, 53, 54, 55, 59, 80, 81])
def test_a_voter_serves_what_tells_voters_by_their_directories(api_key: int) -> None:
    """KIP-856, "Compatibility, Deprecation, and Migration Plan"."""
    form = ListedNodes(listing(1, 2, 3))
    assert form.lacks(ALL, 0) is None
    others = tuple(api for api in API_RANGES if api.api_key != api_key)
    (kept,) = (api for api in API_RANGES if api.api_key == api_key)
    refused = form.lacks(replace(ALL, apis=others), 0)
    assert refused is not None
    assert refused[0] is ErrorCode.UNSUPPORTED_VERSION
    least = {1: 17, 55: 2, 80: 0, 81: 0}.get(api_key, 1)
    enough = (*others, replace(kept, max_version=least))
    assert form.lacks(replace(ALL, apis=enough), 0) is None
    too_old = (*others, replace(kept, max_version=least - 1))
    assert form.lacks(replace(ALL, apis=too_old), 0) is not None


# --- a history against a naive one ---


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_any_deltas_and_truncations(rng: random.Random, steps: int) -> None:
    """At every offset those vote whom the records up to there leave, whatever was cut since; a
    restart and a snapshot say the same."""
    first = empty()
    history, log = first, list[Batch]()
    for _ in range(steps):
        end = log[-1].header.next_offset if log else Offset(0)
        if log and rng.random() < 0.3:
            at = rng.randrange(len(log))
            history = history.truncated(log[at].header.base_offset)
            del log[at:]
        elif rng.random() < 0.2:
            data = batch(end, 1, rng.randint(1, 3))
            log.append(Batch(header=read_header(data), data=data))
        else:
            log.append(control_batch(end, 1, *drawn_records(rng, history)))
            history = history.appended(log[-1])
        assert_says_the_same(history, first, log)


def drawn_records(rng: random.Random, history: VoterHistory) -> list[ControlRecord]:
    if rng.random() < 0.3:
        return [CHANGE]
    if not history.is_named:
        directories = [key(node, rng.choice([None, 7])) for node in (1, 2, 3)]
        added = [AddVoter(key=each) for each in directories]
        return [CHANGE, *added] if rng.random() < 0.5 else [*added]
    candidate = key(rng.randint(1, 3), rng.choice([None, 7, 8]))
    if candidate in history.newest:
        return [RemoveVoter(key=candidate)] if len(history.newest) > 1 else [CHANGE]
    return [AddVoter(key=candidate)]


def assert_says_the_same(history: VoterHistory, first: VoterHistory, log: list[Batch]) -> None:
    again = first
    for each in log:
        again = again.appended(each) if each.header.is_control else again
        voting = naive(log, each.header.last_offset)
        if voting:
            assert set(again.newest.keys) == voting
            assert set(history.at(each.header.last_offset).keys) == voting
        else:
            assert history.at(each.header.last_offset) == first.newest
    assert again == history
    end = log[-1].header.next_offset if log else Offset(0)
    behind = first.after_snapshot(history.records_at(end), end)
    assert behind.newest == history.newest
    assert behind.is_named == history.is_named


def naive(log: list[Batch], last: Offset) -> set[ReplicaKey]:
    voting = set[ReplicaKey]()
    for each in log:
        if each.header.is_control and each.header.last_offset <= last:
            for record in each.records():
                match decode_control(record.key, record.value):
                    case AddVoter(key=added):
                        voting.add(added)
                    case RemoveVoter(key=removed):
                        voting.discard(removed)
                    case _:
                        pass
    return voting


def test_whom_nobody_knows_by_directory_may_be_any_of_its_node() -> None:
    voters = empty().newest
    assert voters.may_include(key(2, 7))
    assert not voters.may_include(key(4))
    assert not voters.may_include(key(1, 7)), "our own disk is known"
    assert not named().newest.may_include(replace(key(2), directory=ZERO_UUID))
