"""Every white-box invariant fires on a node that breaks it, and on no correct one."""

from collections.abc import Callable, Sequence

import pytest

from chaos.bugs.planted import planted_by
from chaos.cluster.sim.invariants import InvariantViolated, Watch
from node.effects import AppendBatches, ElectionState
from node.ids import METADATA_LOG, Epoch, Offset
from node.raft.replicas import Replicas
from node.raft.votes import Votes
from tests.chaos.cluster.sim.breaches import (
    BREACHES,
    Three,
    elected,
    names,
    says_done,
    votes_twice,
)
from tests.node.raft.test_planted_bugs import ForgetsElections, believe_any_log, count_unflushed
from tests.node.raft.test_random_runs import run_seed
from tests.support.doctored import Doctored, moved, unattached
from tests.support.quorum_members import Mischief
from tests.support.rig import batch, key

STOOD = ("prospective", "candidate")


@pytest.fixture
def three() -> Three:
    """Nodes 1, 2 and 3, none of which knows anything. In all epochs of the breaches somebody
    has stood for election."""
    watch = Watch(key(node) for node in (1, 2, 3))
    stood = (
        moved(state, epoch - (state == "prospective")) for epoch in range(1, 6) for state in STOOD
    )
    Doctored(1, watch).start().step(*stood)
    one, two, other = (Doctored(node, watch).start() for node in (1, 2, 3))
    return one, two, other


def test_an_honest_quorum_is_not_accused(three: Three) -> None:
    one, two, other = elected(three)
    one.append(batch(1, 1)).append(batch(2, 1, count=3))
    two.append(batch(1, 1) + batch(2, 1, count=3)).fetch(5)
    one.publish(5)
    two.publish(2).publish(5)
    other.vote(2, 2)
    two.lead(2, granting=(2, 3))
    other.follow(2, 2, voted=2).append(batch(0, 1) + batch(1, 1) + batch(2, 1, count=3))
    other.append(batch(5, 2)).fetch(6)
    two.publish(6).take_read().take_read()
    other.fetch(6, epoch=2)
    two.answer_reads(2)
    one.append(batch(5, 1), flush=False)
    one.follow(2, 2).truncate(5).append(batch(5, 2)).publish(6)


@pytest.mark.parametrize(("invariant", "breach"), BREACHES)
def test_who_breaks_an_invariant_is_accused(
    three: Three, invariant: str, breach: Callable[[Three], None]
) -> None:
    with pytest.raises(InvariantViolated) as caught:
        breach(three)
    assert f"{caught.value.invariant}-".startswith(f"{invariant}-")


def test_a_committed_change_of_the_voters_may_be_acknowledged(three: Three) -> None:
    one, two, _ = elected(three)
    for offset, nodes in ((1, (1, 2, 3)), (2, (1, 2))):
        for member in (one, two):
            names(member, offset, *nodes)
        one.publish(offset + 1)
    says_done(one)


def test_a_resigned_leader_goes_on_in_the_next_epoch_by_itself(three: Three) -> None:
    one, two, _ = three
    one.step(moved("resigned", 5))
    one.become(unattached(6))
    two.become(unattached(6))


def found_to_have_led(*voters: int) -> Doctored:
    """Node 1 was struck in the very first step of its life, and its disk says that it leads."""
    watch = Watch(key(node) for node in voters)
    one = Doctored(1, watch).start()
    one.disk.election = ElectionState(epoch=Epoch(1), leader=key(1).id)
    return one


def test_who_votes_alone_stands_and_leads_within_a_step_that_nobody_saw() -> None:
    found_to_have_led(1).start().become(unattached(2))
    with pytest.raises(InvariantViolated, match="epochs-have-an-origin"):
        found_to_have_led(1).become(unattached(7))


def test_who_does_not_vote_alone_leads_in_no_epoch_that_nobody_stood_in() -> None:
    with pytest.raises(InvariantViolated, match="epochs-have-an-origin"):
        found_to_have_led(1, 2, 3).start()


def test_who_was_silent_for_a_fetch_timeout_may_be_given_up(three: Three) -> None:
    three[1].step(moved("prospective", 1, silent_ns=1_800_000_000))


@pytest.mark.parametrize(("granting", "is_a_majority"), [((1, 2), False), ((1, 2, 3), True)])
def test_half_of_four_voters_is_no_majority(granting: Sequence[int], is_a_majority: bool) -> None:
    watch = Watch(key(node) for node in (1, 2, 3, 4))
    one, *others = (Doctored(node, watch).start() for node in (1, 2, 3, 4))
    one.step(moved("prospective", 0), moved("candidate", 1))
    for other in others:
        other.vote(1, 1)
    if is_a_majority:
        one.lead(1, granting=granting)
        return
    with pytest.raises(InvariantViolated, match="Q4-elected-by-a-majority"):
        one.lead(1, granting=granting)


def test_a_violation_says_what_who_and_when(three: Three) -> None:
    with pytest.raises(InvariantViolated) as caught:
        votes_twice(three)
    assert str(caught.value) == (
        "Q3-one-vote-per-epoch: n2 votes for n3 in epoch 1, after n1  "
        "(n2, life 1, step 2, t=0.000000002 s)"
    )


def test_who_dies_amid_a_truncation_may_have_cut_or_not(three: Three) -> None:
    _, _, other = elected(three)
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 2))
    assert other.life is not None
    other.life.before_truncation(Offset(1))
    other.log.truncate(Offset(1))
    other.disk.log_end = other.log.flush()
    other.start().append(batch(1, 3))


def test_what_a_killed_node_did_unseen_is_found_on_its_disk(three: Three) -> None:
    """It persisted and appended, and died before the step was over."""
    one, two, _ = elected(three)
    one.append(batch(1, 1))
    two.log.append(batch(1, 1))
    two.disk = type(two.disk)(ElectionState(epoch=Epoch(2)), Offset(1))
    two.role = unattached(2)
    two.start().step()
    two.disk.log_end = two.log.flush()
    two.step().fetch(2)


def test_a_wiped_disk_is_another_replica_and_counts_for_no_majority(three: Three) -> None:
    one, two, _ = elected(three)
    watch = one.watch
    wiped = Doctored(2, watch)
    wiped.life = watch.begin(key(2, directory=7), wiped, at_ns=0)
    wiped.append(batch(0, 1)).step(AppendBatches(log=METADATA_LOG, data=b""))
    one.append(batch(1, 1))
    wiped.append(batch(1, 1))
    with pytest.raises(InvariantViolated, match=r"Q9.*only 1 voters"):
        one.publish(2)
    assert two.life is not None


# --- the node itself, under random faults ---


def accused_of(seeds: range, mischief: Mischief | None = None) -> str:
    """The first invariant that random faults see broken; "" if they see none."""
    for seed in seeds:
        try:
            run_seed(seed, mischief, pause_ms=30, invariants=True)
        except InvariantViolated as violated:
            return violated.invariant
    return ""


@pytest.mark.slow
def test_the_correct_node_is_not_accused_under_random_faults() -> None:
    assert accused_of(range(2)) == ""


@pytest.mark.parametrize(
    ("mutation", "invariant"),
    [
        ("Q-NO-FSYNC", "Q18-durable-before-counted"),
        ("Q-VOTE-LATE", "durable-before-visible"),
        ("Q-SAME-EPOCH", "Q17-no-leader-again"),
        ("Q-HWM-EPOCH", "Q13-high-watermark-above-leader-change"),
        ("Q-EARLY-ACTIVE", "M2-active-after-replay"),
    ],
)
def test_planted_bugs_are_seen_in_the_first_run(mutation: str, invariant: str) -> None:
    with planted_by(mutation).planted():
        assert accused_of(range(1)) == invariant


def test_votes_that_never_reach_a_disk_are_seen() -> None:
    assert accused_of(range(1), ForgetsElections()) == "durable-before-visible"


@pytest.mark.parametrize(
    ("owner", "decision", "bug", "first", "invariant"),
    [
        (Replicas, "voter_ends", count_unflushed, 3, "Q9-committed-by-majority"),
        (Votes, "is_up_to_date", believe_any_log, 3, "votes-for-newer-logs"),
    ],
)
def test_wrong_decisions_are_seen_within_a_few_runs(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    decision: str,
    bug: Callable[..., object],
    first: int,
    invariant: str,
) -> None:
    """`first` is a seed that is known to do it, for the sake of time."""
    monkeypatch.setattr(owner, decision, bug)
    assert accused_of(range(first, first + 8)) == invariant
