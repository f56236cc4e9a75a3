"""What three nodes may do wrong: each breaks one invariant, in its last line."""

from collections.abc import Callable, Sequence

from node.effects import ElectionState, Trace
from node.ids import ConnectionId, Epoch, NodeId, Offset, ReplicaKey
from node.outbox import ResponseTo
from node.records.batch import encode_batch
from node.records.control import LeaderChange, Voter, Voters, encode_control
from node.wire.raft_voters import DescribeQuorumResponse, ReplicaStatus, VoterChangeResponse
from tests.support.doctored import Doctored, granted, leader, moved, unattached
from tests.support.rig import NO_OP, batch, key

Three = tuple[Doctored, Doctored, Doctored]


def elected(three: Three) -> Three:
    """Node 1 leads epoch 1 and has committed its LeaderChange, with node 2."""
    one, two, _ = three
    two.vote(1, 1)
    one.lead(1)
    two.follow(1, 1, voted=1).append(batch(0, 1)).fetch(1)
    one.publish(1)
    two.publish(1)
    return three


def leader_change(offset: int, epoch: int, *, granting: Sequence[ReplicaKey]) -> bytes:
    record = LeaderChange(
        leader=granting[0].id,
        voters=tuple(ReplicaKey(NodeId(node)) for node in (1, 2, 3)),
        granting_voters=tuple(granting),
    )
    return encode_batch(
        [encode_control(record)],
        base_offset=Offset(offset),
        leader_epoch=Epoch(epoch),
        timestamp_ms=0,
        control=True,
    )


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


def tells_of_others_than_vote(three: Three) -> None:
    """In the second answer: n3 votes as well."""
    one, _, _ = elected(three)
    for nodes in ((1, 2, 3), (1, 2)):
        voters = tuple(
            ReplicaStatus(key=key(node), log_end=1, last_fetch_ms=0, last_caught_up_ms=0)
            for node in nodes
        )
        told = DescribeQuorumResponse(leader=NodeId(1), epoch=Epoch(1), voters=voters)
        one.step(ResponseTo(ConnectionId(1), told))


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
    _names(three, granting=[ReplicaKey(NodeId(1))])


def names_a_disk_without_a_vote_that_elected_it(three: Three) -> None:
    _names(three, granting=[key(1), key(2, directory=1)])


def _names(three: Three, *, granting: Sequence[ReplicaKey]) -> None:
    one, two, _ = three
    two.vote(1, 1)
    one.role = leader(1, 1)
    one.disk.election = ElectionState(epoch=Epoch(1), leader=key(1).id)
    one.append(leader_change(0, 1, granting=granting))


def another_batch_at_the_same_place(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1))
    other.become(unattached(1)).append(batch(0, 1)).append(batch(1, 1, text=NO_OP + b"\x00"))


def the_same_batch_after_others(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1, count=2)).append(batch(3, 1))
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 1, count=2))
    other.truncate(0)
    other.append(batch(0, 0) + batch(1, 0, count=2) + batch(3, 1))


def an_epoch_goes_on_from_where_it_did_not_end(three: Three) -> None:
    one, _, other = elected(three)
    one.append(batch(1, 1, count=2)).append(batch(3, 1))
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 1, count=2) + batch(3, 1))
    other.truncate(0)
    other.append(batch(0, 0) + batch(1, 0) + batch(2, 1))


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
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 2))
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
    other.become(unattached(1)).append(batch(0, 1) + batch(1, 2))
    other.log.truncate(Offset(1))
    other.disk.log_end = other.log.flush()
    other.start()


def acknowledges_what_is_not_committed(three: Three) -> None:
    one, _, _ = elected(three)
    one.append(batch(1, 1))
    one.applied = Offset(2)
    one.step()


def named(offset: int, epoch: int, *nodes: int) -> bytes:
    """A batch that says who votes."""
    rows = tuple(Voter(key=key(node), endpoints=()) for node in nodes)
    return encode_batch(
        [encode_control(Voters(voters=rows))],
        base_offset=Offset(offset),
        leader_epoch=Epoch(epoch),
        timestamp_ms=0,
        control=True,
    )


def names(member: Doctored, offset: int, *nodes: int) -> Doctored:
    """In epoch 1 its log names them, and it believes so."""
    member.believes = frozenset(key(node) for node in nodes)
    return member.append(named(offset, 1, *nodes))


def says_done(member: Doctored) -> Doctored:
    """To somebody who asked for a change of the voters."""
    return member.step(ResponseTo(connection=ConnectionId(1), response=VoterChangeResponse()))


def acknowledges_a_change_that_is_not_committed(three: Three) -> None:
    one, _, _ = elected(three)
    says_done(names(one, 1, 1, 2))


def acknowledges_two_changes_of_which_one_is_committed(three: Three) -> None:
    one, two, _ = elected(three)
    for member in (one, two):
        names(member, 1, 1, 2)
    says_done(says_done(one.publish(2)))


def acknowledges_a_change_though_the_voters_are_the_same(three: Three) -> None:
    one, two, _ = elected(three)
    for member in (one, two):
        names(member, 1, 1, 2, 3)
    says_done(one.publish(2))


def acknowledges_a_change_and_leads_nobody(three: Three) -> None:
    says_done(elected(three)[1])


def lets_a_change_wait_for_ever(three: Three) -> None:
    one, _, _ = elected(three)
    one.change_due_ns = 10
    for one.polled_ns in (8, 9, 10):
        one.step()


def is_of_another_cluster(three: Three) -> None:
    three[2].cluster_id = "other"
    three[2].start()


BREACHES: list[tuple[str, Callable[[Three], None]]] = [
    ("Q1", goes_back_an_epoch),
    ("Q1", restarts_in_an_older_epoch),
    ("epochs-have-an-origin", is_in_an_epoch_that_nobody_began),
    ("epochs-have-an-origin", goes_on_in_an_epoch_after_another_resigned),
    ("heard-leader-is-kept", gives_up_a_leader_that_it_hears),
    ("reads-are-confirmed", answers_a_read_by_an_earlier_fetch),
    ("reads-are-confirmed", answers_a_read_by_a_fetch_of_another_epoch),
    ("told-quorum-is-so", tells_of_others_than_vote),
    ("Q2", two_are_taken_for_the_leader),
    ("Q2", finds_another_leader_on_its_disk),
    ("Q3", votes_twice),
    ("Q3", votes_again_after_a_restart),
    ("Q3", forgets_its_vote),
    ("Q3", forgets_its_vote_when_it_restarts),
    ("Q3", answers_with_a_vote_it_did_not_cast),
    ("Q4", leads_after_too_few_votes),
    ("Q4", names_too_few_that_elected_it),
    ("Q4", names_a_disk_without_a_vote_that_elected_it),
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
    ("V5", acknowledges_a_change_that_is_not_committed),
    ("V5", acknowledges_two_changes_of_which_one_is_committed),
    ("V5", acknowledges_a_change_though_the_voters_are_the_same),
    ("V5", acknowledges_a_change_and_leads_nobody),
    ("V11", lets_a_change_wait_for_ever),
    ("Q20", is_of_another_cluster),
    ("M2", is_active_before_its_leader_change),
    ("durable-before-visible", speaks_of_a_vote_that_is_not_on_its_disk),
    ("durable-before-visible", claims_to_lead_before_its_disk_says_so),
    ("durable-stays", finds_less_than_was_durable),
    ("committed-before-applied", acknowledges_what_is_not_committed),
]
