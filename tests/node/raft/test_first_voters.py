"""The first minutes of a quorum whose voters are listed (KIP-856, "Bootstrapping"), and what wiped
disks may do to it."""

import random

import pytest

from chaos.cluster.sim.invariants import InvariantViolated
from node.ids import NodeId, ReplicaKey
from node.raft.replicas import Replicas
from node.raft.voter_forms import ListedNodes
from node.raft.voter_set import VoterSet
from node.records.control import AddVoter, LeaderChange, decode_control
from tests.node.raft.test_random_runs import assert_progress
from tests.support.quorum import MS, SECOND, Quorum


def new(size: int = 3, seed: int = 1) -> Quorum:
    return Quorum(size, seed=seed, invariants=True, listed=True)


def active(quorum: Quorum) -> NodeId:
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    return quorum.active()[0]


def kinds(quorum: Quorum, node: NodeId) -> list[list[type]]:
    """What each batch of its log holds; nothing of metadata."""
    return [
        [type(decode_control(record.key, record.value)) for record in batch.records()]
        if batch.header.is_control
        else []
        for batch in quorum.members[node].log.batches
    ]


def keys(quorum: Quorum) -> list[ReplicaKey]:
    return [member.key for member in quorum.members.values()]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_first_leader_names_all_in_one_batch(size: int) -> None:
    quorum = new(size)
    quorum.start()
    leader = active(quorum)
    assert list(quorum.core(leader).raft.quorum.voters.keys) == keys(quorum)
    first = kinds(quorum, leader)
    named = [AddVoter] * size
    assert first[: min(size, 2)] == (
        [[LeaderChange, *named]] if size == 1 else [[LeaderChange], named]
    )
    assert sum(AddVoter in batch for batch in first) == 1
    assert_progress(quorum)


def test_nobody_leads_before_all_are_there() -> None:
    quorum = new()
    quorum.start(1, 2)
    quorum.run_for(20 * SECOND)
    assert quorum.leaders() == []
    assert {quorum.core(node).raft.quorum.epoch for node in (1, 2)} == {0}, "nobody stands in vain"
    quorum.start(3)
    active(quorum)
    assert_progress(quorum)


def test_nothing_is_written_before_the_last_voter_has_the_first_records() -> None:
    quorum = new()
    quorum.start()
    assert quorum.run_until(lambda: is_named_by_leader(quorum), 20 * SECOND)
    leader = quorum.leaders()[0]
    last = next(node for node in quorum.members if node != leader)
    quorum.isolate(last)
    quorum.run_for(10 * SECOND)
    assert quorum.active() == []
    quorum.heal()
    active(quorum)
    assert_progress(quorum)


def is_named_by_leader(quorum: Quorum) -> bool:
    leaders = quorum.leaders()
    return bool(leaders) and quorum.core(leaders[0]).raft.log.voters.is_named


def test_a_quorum_that_wrote_once_needs_a_majority_only() -> None:
    quorum = new()
    quorum.start()
    first = active(quorum)
    quorum.run_for(SECOND)
    quorum.power_off(first)
    active(quorum)
    assert_progress(quorum)


def test_a_wiped_disk_is_an_observer_and_its_first_records_are_those_of_the_log() -> None:
    quorum = new()
    quorum.start()
    leader = active(quorum)
    lost = next(node for node in quorum.members if node != leader)
    before = list(quorum.core(leader).raft.quorum.voters.keys)
    quorum.power_off(lost)
    quorum.wipe(lost)
    quorum.start(lost)
    quorum.run_for(5 * SECOND)
    core = quorum.core(lost)
    assert not core.raft.quorum.is_voter
    assert list(core.raft.quorum.voters.keys) == before
    assert core.raft.log.end == quorum.core(leader).raft.log.end


def test_a_majority_of_wiped_disks_stops_the_quorum_and_forgets_nothing() -> None:
    quorum = new()
    quorum.start()
    leader = active(quorum)
    quorum.run_for(SECOND)
    kept, *lost = [leader, *(node for node in quorum.members if node != leader)]
    end = quorum.core(kept).raft.log.end
    for node in quorum.members:
        quorum.power_off(node)
    for node in lost:
        quorum.wipe(node)
        quorum.start(node)
    quorum.run_for(20 * SECOND)
    assert quorum.leaders() == []
    quorum.start(kept)
    quorum.run_for(20 * SECOND)
    assert quorum.leaders() == []
    assert quorum.core(kept).raft.log.end >= end


# --- power cuts, partitions and lost disks in the first minutes ---


def run_first_minutes(seed: int) -> None:
    """Any disk may be lost, also several, until the first metadata is written; from then on the
    invariants hold that nothing is forgotten."""
    rng = random.Random(f"{seed}:first-minutes")
    quorum = new(rng.choice([2, 3, 3, 4]), seed)
    quorum.start()
    for _ in range(rng.randrange(1, 8)):
        quorum.run_for(rng.randrange(20 * MS, 3 * SECOND))
        strike_early(quorum, rng)
    quorum.heal()
    for node in quorum.members:
        if not quorum.is_up(node):
            quorum.start(node)
    quorum.run_for(15 * SECOND)


def strike_early(quorum: Quorum, rng: random.Random) -> None:
    node = rng.choice(list(quorum.members))
    match rng.randrange(5):
        case 0:
            quorum.isolate(node)
        case 1:
            quorum.heal()
        case _:
            if quorum.is_up(node):
                quorum.power_off(node)
            if rng.random() < 0.3 and not has_metadata(quorum):
                quorum.wipe(node)
            quorum.start(node)


def has_metadata(quorum: Quorum) -> bool:
    batches = [batch for member in quorum.members.values() for batch in member.log.batches]
    return not all(batch.header.is_control for batch in batches)


@pytest.mark.parametrize("seed", range(6))
def test_no_voter_set_is_ever_half_known(seed: int) -> None:
    run_first_minutes(seed)


# --- what is planted is found, by its name ---


def half_and_one(_form: object, me: ReplicaKey) -> VoterSet:
    """A majority, as if nobody could have been wiped."""
    listed = [NodeId(1), NodeId(2), NodeId(3)]
    rows = [(me if node == me.id else ReplicaKey(node), (Quorum.inner(node),)) for node in listed]
    return VoterSet.of(rows)


def run_until_found(seeds: int) -> None:
    for seed in range(seeds):
        run_first_minutes(seed)


def at_once(*_: object) -> bool:
    return True


def test_writing_before_all_have_the_first_records_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Replicas, "may_write", at_once)
    with pytest.raises(InvariantViolated, match="P5-first-voters-on-all-before-more"):
        run_until_found(10)


def test_a_majority_of_unknown_voters_is_found_not_to_be_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ListedNodes, "first_set", half_and_one)
    quorum = new()
    quorum.start(1, 2)
    with pytest.raises(InvariantViolated, match="Q4-elected-by-a-majority"):
        quorum.run_for(20 * SECOND)
