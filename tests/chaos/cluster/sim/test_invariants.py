"""Every white-box invariant fires on a node that breaks it, and on no correct one."""

from collections.abc import Callable, Sequence

import pytest

from chaos.cluster.sim.invariants import InvariantViolated, Watch
from chaos.mutations.planted import planted_by
from node.effects import AppendBatches, ElectionState, Trace
from node.ids import Epoch, NodeId, Offset
from node.raft.fetch_leader import LeaderFetch
from node.raft.vote import Votes
from node.records.batch import encode_batch
from node.records.control import LeaderChange, encode_control
from tests.node.raft.test_planted_bugs import ForgetsElections, believe_any_log, count_unflushed
from tests.node.raft.test_random_runs import run_seed
from tests.support.doctored import Doctored, granted, leader, moved, unattached
from tests.support.quorum import Mischief
from tests.support.rig import NO_OP, batch, key

Three = tuple[Doctored, Doctored, Doctored]


@pytest.fixture
def three() -> Three:
    """Nodes 1, 2 and 3, none of which knows anything. In all epochs that a story may name, somebody
    has stood for election."""
    watch = Watch(key(node) for node in (1, 2, 3))
    Doctored(9, watch).start().step(*(moved("candidate", epoch) for epoch in range(1, 6)))
    one, two, other = (Doctored(node, watch).start() for node in (1, 2, 3))
    return one, two, other


def elected(three: Three) -> Three:
    """Node 1 leads epoch 1 and has committed its LeaderChange, with node 2."""
    one, two, _ = three
    two.vote(1, 1)
    one.lead(1)
    two.follow(1, 1, voted=1).append(batch(0, 1)).fetch(1)
    one.publish(1)
    two.publish(1)
    return three


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


def leader_change(offset: int, epoch: int, *, granting: Sequence[int]) -> bytes:
    record = LeaderChange(
        leader=NodeId(granting[0]),
        voters=tuple(map(NodeId, (1, 2, 3))),
        granting_voters=tuple(map(NodeId, granting)),
    )
    return encode_batch(
        [encode_control(record)],
        base_offset=Offset(offset),
        leader_epoch=Epoch(epoch),
        timestamp_ms=0,
        control=True,
    )


# --- each of these breaks one promise, in its last line ---


def goes_back_an_epoch(three: Three) -> None:
    one, _, _ = three
    one.become(unattached(5)).become(unattached(4))


def restarts_in_an_older_epoch(three: Three) -> None:
    one, _, _ = three
    one.become(unattached(5))
    one.disk.election = ElectionState(epoch=Epoch(4))
    one.start()


def is_in_an_epoch_that_nobody_began(three: Three) -> None:
    one, _, _ = three
    one.become(unattached(6))


def goes_on_in_an_epoch_after_another_resigned(three: Three) -> None:
    one, two, _ = three
    one.step(moved("resigned", 5))
    two.become(unattached(6))


def gives_up_a_leader_that_it_hears(three: Three) -> None:
    three[1].step(moved("prospective", 1, silent_ns=1_799_000_000))


def answers_a_read_by_an_earlier_fetch(three: Three) -> None:
    one, two, _ = elected(three)
    two.fetch(1)
    one.take_read().answer_reads(1)


def answers_a_read_by_a_fetch_of_another_epoch(three: Three) -> None:
    one, two, _ = elected(three)
    one.take_read()
    two.fetch(1, epoch=2)
    one.answer_reads(1)


def two_are_taken_for_the_leader(three: Three) -> None:
    one, two, _ = three
    one.follow(3, 1)
    two.follow(1, 1)


def finds_another_leader_on_its_disk(three: Three) -> None:
    one, two, _ = three
    one.follow(3, 1)
    two.disk.election = ElectionState(epoch=Epoch(1), leader=key(1).id)
    two.start()


def votes_twice(three: Three) -> None:
    _, two, _ = three
    two.vote(1, 1)
    two.vote(3, 1)


def votes_again_after_a_restart(three: Three) -> None:
    _, two, _ = three
    two.vote(1, 1)
    two.role, two.disk.election = unattached(1), ElectionState(epoch=Epoch(1))
    two.start()
    two.vote(3, 1)


def forgets_its_vote(three: Three) -> None:
    _, two, _ = three
    two.vote(1, 1)
    two.become(unattached(1))


def forgets_its_vote_when_it_restarts(three: Three) -> None:
    _, two, _ = three
    two.vote(1, 1)
    two.disk.election = ElectionState(epoch=Epoch(1))
    two.start().become(unattached(1))


def answers_with_a_vote_it_did_not_cast(three: Three) -> None:
    elected(three)[1].step(granted(3, 1))


def leads_after_too_few_votes(three: Three) -> None:
    one, two, _ = three
    two.become(unattached(1))
    one.lead(1, granting=(1, 2))


def names_too_few_that_elected_it(three: Three) -> None:
    one, two, _ = three
    two.vote(1, 1)
    one.role = leader(1, 1)
    one.disk.election = ElectionState(epoch=Epoch(1), leader=key(1).id)
    one.append(leader_change(0, 1, granting=(1,)))


def another_batch_at_the_same_place(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1))
    other.become(unattached(1)).append(batch(0, 1)).append(batch(1, 1, text=NO_OP + b"\x00"))


def the_same_batch_after_others(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1, count=2)).append(batch(3, 1))
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 1, count=2))
    other.truncate(1)
    other.append(batch(1, 0, count=2) + batch(3, 1))


def an_epoch_goes_on_from_where_it_did_not_end(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1, count=2)).append(batch(3, 1))
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 1, count=2) + batch(3, 1))
    other.truncate(1)
    other.append(batch(1, 0) + batch(2, 1))


def a_leader_cuts_its_log(three: Three) -> None:
    one, _, _ = elected(three)
    one.append(batch(1, 1))
    one.truncate(1)


def lowers_its_high_watermark_as_a_leader(three: Three) -> None:
    one, two, _ = elected(three)
    one.append(batch(1, 1))
    two.append(batch(1, 1))
    one.publish(2)
    one.publish(1)


def lowers_its_high_watermark(three: Three) -> None:
    _, two, _ = elected(three)
    two.committed = Offset(0)
    two.step()


def publishes_beyond_its_log(three: Three) -> None:
    _, two, _ = elected(three)
    two.publish(2)


def commits_what_one_disk_holds(three: Three) -> None:
    one, two, _ = elected(three)
    one.append(batch(1, 1))
    two.append(batch(1, 1), flush=False)
    one.publish(2)


def loses_what_was_committed_from_a_majority(three: Three) -> None:
    _, two, _ = elected(three)
    two.start()
    two.truncate(0)


def cuts_below_its_high_watermark(three: Three) -> None:
    _, two, _ = elected(three)
    two.truncate(0)


def leads_without_what_is_committed(three: Three) -> None:
    _, two, other = elected(three)
    two.vote(3, 2)
    other.lead(2, granting=(2, 3))


def a_deposed_leader_commits_what_its_successor_lacks(three: Three) -> None:
    one, two, other = elected(three)
    one.append(batch(1, 1))
    other.become(unattached(1)).append(batch(0, 1)).vote(2, 2)
    two.lead(2, granting=(2, 3))
    other.append(batch(1, 1))
    one.publish(2)


def two_logs_are_committed(three: Three) -> None:
    """Node 3 has another batch of another epoch where the committed one is."""
    one, two, other = elected(three)
    one.append(batch(1, 1))
    two.append(batch(1, 1))
    one.publish(2)
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 0))
    other.publish(2)


def a_follower_commits_first(three: Three) -> None:
    one, two, _ = elected(three)
    one.append(batch(1, 1))
    two.append(batch(1, 1)).publish(2)


def publishes_before_its_leader_change(three: Three) -> None:
    one, two, other = elected(three)
    other.become(unattached(1)).append(batch(0, 1)).vote(2, 2)
    one.become(leader(1, 1, high_watermark=Offset(1)))
    two.lead(2, granting=(2, 3)).publish(1)


def leads_again_after_a_restart(three: Three) -> None:
    one, _, _ = elected(three)
    one.start().become(leader(1, 1))


def fetches_from_what_is_not_flushed(three: Three) -> None:
    _, two, _ = elected(three)
    two.append(batch(1, 1), flush=False).fetch(2)


def asks_for_votes_with_what_is_not_flushed(three: Three) -> None:
    _, two, _ = elected(three)
    two.append(batch(1, 1), flush=False).ask_for_vote(1, 2).ask_for_vote(2, 2)


def votes_for_an_older_log(three: Three) -> None:
    _, two, _ = elected(three)
    two.become(unattached(2, voted=3)).step(granted(3, 2, log=(1, 1)))
    two.step(granted(3, 2, log=(0, 7)))


def votes_again_for_less(three: Three) -> None:
    _, two, _ = elected(three)
    two.become(unattached(2, voted=3)).step(granted(3, 2, log=(1, 1)))
    two.step(granted(3, 2, log=(1, 0)))


def is_active_before_its_leader_change(three: Three) -> None:
    elected(three)[0].step(Trace(event="c.active", fields={"epoch": 1, "offset": 0}))


def speaks_of_a_vote_that_is_not_on_its_disk(three: Three) -> None:
    _, two, _ = three
    two.vote(1, 1, persists=False)


def claims_to_lead_before_its_disk_says_so(three: Three) -> None:
    one, two, _ = three
    two.vote(1, 1)
    one.become(leader(1, 1), persists=False)


def finds_less_than_was_durable(three: Three) -> None:
    _, _, other = elected(three)
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 0))
    other.log.truncate(Offset(1))
    other.disk.log_end = other.log.flush()
    other.start()


def acknowledges_what_is_not_committed(three: Three) -> None:
    one, _, _ = elected(three)
    one.append(batch(1, 1))
    one.applied = Offset(2)
    one.step()


@pytest.mark.parametrize(
    ("invariant", "story"),
    [
        ("Q1", goes_back_an_epoch),
        ("Q1", restarts_in_an_older_epoch),
        ("epochs-have-an-origin", is_in_an_epoch_that_nobody_began),
        ("epochs-have-an-origin", goes_on_in_an_epoch_after_another_resigned),
        ("heard-leader-is-kept", gives_up_a_leader_that_it_hears),
        ("reads-are-confirmed", answers_a_read_by_an_earlier_fetch),
        ("reads-are-confirmed", answers_a_read_by_a_fetch_of_another_epoch),
        ("Q2", two_are_taken_for_the_leader),
        ("Q2", finds_another_leader_on_its_disk),
        ("Q3", votes_twice),
        ("Q3", votes_again_after_a_restart),
        ("Q3", forgets_its_vote),
        ("Q3", forgets_its_vote_when_it_restarts),
        ("Q3", answers_with_a_vote_it_did_not_cast),
        ("Q4", leads_after_too_few_votes),
        ("Q4", names_too_few_that_elected_it),
        ("Q5", another_batch_at_the_same_place),
        ("Q5", the_same_batch_after_others),
        ("Q5", an_epoch_goes_on_from_where_it_did_not_end),
        ("Q6", a_leader_cuts_its_log),
        ("Q8", lowers_its_high_watermark_as_a_leader),
        ("Q8", lowers_its_high_watermark),
        ("Q8", publishes_beyond_its_log),
        ("Q9", commits_what_one_disk_holds),
        ("Q9", loses_what_was_committed_from_a_majority),
        ("Q10", cuts_below_its_high_watermark),
        ("Q11", leads_without_what_is_committed),
        ("Q11", a_deposed_leader_commits_what_its_successor_lacks),
        ("Q12", two_logs_are_committed),
        ("Q12", a_follower_commits_first),
        ("Q13", publishes_before_its_leader_change),
        ("Q17", leads_again_after_a_restart),
        ("Q18", fetches_from_what_is_not_flushed),
        ("durable-before-asked", asks_for_votes_with_what_is_not_flushed),
        ("votes-for-newer-logs", votes_for_an_older_log),
        ("votes-for-newer-logs", votes_again_for_less),
        ("M2", is_active_before_its_leader_change),
        ("durable-before-visible", speaks_of_a_vote_that_is_not_on_its_disk),
        ("durable-before-visible", claims_to_lead_before_its_disk_says_so),
        ("durable-stays", finds_less_than_was_durable),
        ("committed-before-applied", acknowledges_what_is_not_committed),
    ],
)
def test_who_breaks_an_invariant_is_accused(
    three: Three, invariant: str, story: Callable[[Three], None]
) -> None:
    with pytest.raises(InvariantViolated) as caught:
        story(three)
    assert f"{caught.value.invariant}-".startswith(f"{invariant}-")


def test_a_resigned_leader_goes_on_in_the_next_epoch_by_itself(three: Three) -> None:
    one, two, _ = three
    one.step(moved("resigned", 5))
    one.become(unattached(6))
    two.become(unattached(6))


def test_who_was_silent_for_a_fetch_timeout_may_be_given_up(three: Three) -> None:
    three[1].step(moved("prospective", 1, silent_ns=1_800_000_000))


@pytest.mark.parametrize(("granting", "is_a_majority"), [((1, 2), False), ((1, 2, 3), True)])
def test_half_of_four_voters_is_no_majority(granting: Sequence[int], is_a_majority: bool) -> None:
    watch = Watch(key(node) for node in (1, 2, 3, 4))
    one, *others = (Doctored(node, watch).start() for node in (1, 2, 3, 4))
    one.step(moved("candidate", 1))
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
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 0))
    assert other.life is not None
    other.life.before_truncation(Offset(1))
    other.log.truncate(Offset(1))
    other.disk.log_end = other.log.flush()
    other.start().append(batch(1, 1))


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
    wiped.append(batch(0, 1)).step(AppendBatches(data=b""))
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
        (LeaderFetch, "voter_ends", count_unflushed, 1, "Q9-committed-by-majority"),
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
