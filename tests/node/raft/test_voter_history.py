"""The voter set has one owner: what a node does goes by what that says, in the middle of an epoch
too."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.effects import ElectionState, TraceValue
from node.ids import NEVER_NS, Endpoint, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.raft.roles import Candidate, Follower, Leader, Prospective, Unattached
from node.raft.voter_forms import DYNAMIC, STATIC
from node.raft.voter_history import VoterHistory
from node.raft.voter_set import VoterSet
from node.records.batch import Batch, encode_batch, read_header
from node.records.control import (
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    Voter,
    Voters,
    decode_control,
    encode_control,
)
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse, VoteRequest, VoteResponse
from tests.support.batches import snapshot
from tests.support.memory_log import MemoryLog
from tests.support.quorum import SECOND, Quorum
from tests.support.rig import ME, PORTS, QUIET, Rig, asked_node, batch, fetch, key


def row(node: int, directory: int | None = None) -> Voter:
    at = Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node)
    return Voter(key=key(node, directory), endpoints=(at,))


def voters(*nodes: int) -> VoterSet:
    return VoterSet.of_rows(map(row, nodes))


def addresses(*nodes: int) -> list[tuple[ReplicaKey, tuple[Endpoint, ...]]]:
    return [(each.key, each.endpoints) for each in map(row, nodes)]


def control_batch(base: int, epoch: int, *records: ControlRecord) -> Batch:
    data = encode_batch(
        [encode_control(record) for record in records],
        base_offset=Offset(base),
        leader_epoch=Epoch(epoch),
        timestamp_ms=0,
        control=True,
    )
    return Batch(header=read_header(data), data=data)


def changed(rig: Rig, *nodes: int) -> None:
    """From here on these vote, as the next step finds."""
    log, record = rig.core.raft.log, Voters(voters=tuple(map(row, nodes)))
    if isinstance(rig.role, Leader):
        log.append_as_leader([encode_control(record)], rig.role.epoch, rig.now(), control=True)
    else:
        batch = control_batch(log.end.offset, rig.role.epoch, record)
        log.voters = log.voters.appended(batch)
    rig.request(DescribeQuorumRequest(), connection=99)


def caught_up(rig: Rig, replica: ReplicaKey) -> None:
    end = rig.core.raft.log.end
    rig.request(
        fetch(replica=replica, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0),
        connection=replica.id,
    )


def lagging(rig: Rig, replica: ReplicaKey) -> None:
    rig.request(fetch(replica=replica, offset=0, max_wait_ms=0), connection=replica.id)


def led() -> Rig:
    rig = Rig(timeouts=QUIET)
    rig.become_leader()
    return rig


def told_who_leads(rig: Rig) -> list[int]:
    return [asked_node(a) for a in rig.asked if isinstance(a.request, BeginQuorumEpochRequest)]


def test_a_set_is_in_force_from_its_offset_on() -> None:
    history = VoterHistory.formatted(addresses(1, 2, 3), DYNAMIC)
    history = history.appended(control_batch(10, 1, Voters(voters=(row(1), row(2)))))
    assert [history.at(Offset(n)) for n in (0, 9)] == [voters(1, 2, 3)] * 2
    assert [history.at(Offset(n)) for n in (10, 99)] == [voters(1, 2)] * 2
    assert history.newest == voters(1, 2)


def test_a_voter_that_is_added_is_told_who_leads_and_counts() -> None:
    rig = led()
    changed(rig, 1, 2, 3, 4)
    assert told_who_leads(rig).count(4) == 1
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == committed, "two of four are no majority"
    caught_up(rig, key(4))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_who_is_removed_counts_no_more_and_is_an_observer() -> None:
    rig = led()
    changed(rig, 1, 2)
    lagging(rig, key(2))
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(3))
    assert rig.core.raft.quorum.committed == committed
    described = rig.request(DescribeQuorumRequest(), connection=9)
    assert isinstance(described, DescribeQuorumResponse)
    assert [status.key for status in described.voters] == [ME, key(2)]
    assert [status.key for status in described.observers] == [key(3)]
    for node in (2, 3):  # and has nothing to tell for half a fetch time-out
        rig.reply(node, QuorumEpochResponse(leader=ME.id, epoch=rig.role.epoch))
    before = len(told_who_leads(rig))
    rig.pass_ms(QUIET.fetch_ms)
    assert told_who_leads(rig)[before:] == [2]
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_a_leader_outside_the_set_leads_on_and_does_not_count_itself() -> None:
    rig = led()
    changed(rig, 2, 3, 4)
    assert isinstance(rig.role, Leader)
    lagging(rig, key(3))
    committed = rig.core.raft.quorum.committed
    caught_up(rig, key(2))
    assert rig.core.raft.quorum.committed == committed
    caught_up(rig, key(4))
    assert rig.core.raft.quorum.committed == rig.core.raft.log.end.offset


def test_a_follower_that_is_no_voter_any_more_does_not_stand_for_election() -> None:
    rig = Rig(timeouts=QUIET)
    rig.follow(leader=2)
    changed(rig, 2, 3)
    rig.pass_ms(2 * QUIET.fetch_ms)
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns == NEVER_NS


def test_a_candidate_asks_whoever_votes_now() -> None:
    rig = Rig(timeouts=QUIET)
    while not isinstance(rig.role, Prospective):
        rig.pass_ms(50)
    changed(rig, 1, 2, 3, 4, 5)
    asked = {asked_node(ask) for ask in rig.asked if isinstance(ask.request, VoteRequest)}
    assert asked == {2, 3, 4, 5}
    rig.reply(2, VoteResponse(granted=True))
    assert isinstance(rig.role, Prospective), "two of five are no majority"
    rig.reply(5, VoteResponse(granted=True))
    assert isinstance(rig.role, Candidate)


def test_a_candidate_does_not_ask_the_voter_that_its_lost_disk_was() -> None:
    rig = Rig(timeouts=QUIET)
    log = rig.core.raft.log
    rows = tuple(map(row, (1, 2, 3)))
    record = Voters(voters=(*rows, row(1, 7)))
    log.voters = log.voters.appended(control_batch(0, 1, record))
    while not isinstance(rig.role, Prospective):
        rig.pass_ms(50)
    asked = {asked_node(ask) for ask in rig.asked if isinstance(ask.request, VoteRequest)}
    assert asked == {2, 3}


def fetched_from(rig: Rig, *batches: Batch, leader: int = 2) -> None:
    """The leader that is followed answers with these."""
    records = b"".join(batch.data for batch in batches)
    epoch = rig.role.epoch
    rig.reply(leader, FetchResponse(leader=NodeId(leader), epoch=epoch, records=records))


def traced(rig: Rig) -> list[tuple[TraceValue, TraceValue, list[int | str]]]:
    """Offset, epoch and node ids of each set that was traced."""
    told = [trace.fields for trace in rig.traces if trace.event == "q.voters"]
    found: list[tuple[TraceValue, TraceValue, list[int | str]]] = []
    for fields in told:
        assert isinstance(fields["voters"], list)
        found.append((fields["offset"], fields["epoch"], [v["id"] for v in fields["voters"]]))
    return found


def following() -> Rig:
    """A follower of n2 in epoch 3."""
    rig = Rig(timeouts=QUIET, election=ElectionState(epoch=Epoch(3), leader=NodeId(2)))
    rig.pass_ms(1)
    assert isinstance(rig.role, Follower)
    return rig


def test_a_set_counts_from_its_append_and_not_after_its_truncation() -> None:
    rig = following()
    fetched_from(
        rig,
        control_batch(0, 2, LeaderChange(leader=NodeId(2), voters=(), granting_voters=())),
        control_batch(1, 3, Voters(voters=(row(2), row(3)))),
    )
    assert list(rig.core.raft.quorum.voters.keys) == [key(2), key(3)]
    assert rig.core.raft.quorum.committed is None
    rig.reply(
        2,
        FetchResponse(
            leader=NodeId(2),
            epoch=rig.role.epoch,
            diverging=LogPosition(Epoch(2), Offset(1)),
        ),
    )
    assert list(rig.core.raft.quorum.voters.keys) == [ME, key(2), key(3)]
    assert traced(rig) == [(0, 0, [1, 2, 3]), (1, 3, [2, 3]), (0, 0, [1, 2, 3])]


def test_the_log_is_searched_for_voters_at_start() -> None:
    log = MemoryLog()
    log.append(control_batch(0, 1, Voters(voters=(row(1), row(2)))).data + batch(1, 1, 3))
    log.append(control_batch(4, 2, Voters(voters=(row(2), row(4)))).data + batch(5, 2))
    log.flush()
    rig = Rig(timeouts=QUIET, log=log)
    assert list(rig.core.raft.quorum.voters.keys) == [key(2), key(4)]
    assert list(rig.core.raft.log.voters.at(Offset(3)).keys) == [ME, key(2)]
    assert traced(rig) == [(0, 1, [1, 2]), (4, 2, [2, 4])], "the newest may not be committed"


def test_who_is_no_voter_does_not_stand() -> None:
    log = MemoryLog()
    log.append(control_batch(0, 1, Voters(voters=(row(2), row(3)))).data)
    log.append(control_batch(1, 1, Voters(voters=(row(2), row(3), row(4)))).data)
    log.flush()
    rig = Rig(timeouts=QUIET, log=log)
    rig.pass_ms(10 * QUIET.fetch_ms)
    assert isinstance(rig.role, Unattached)


def test_who_is_removed_stands_until_it_knows_that_to_be_committed() -> None:
    """Raft thesis 4.2.2: the others may lack the record that removes it."""
    log = MemoryLog()
    log.append(control_batch(0, 1, Voters(voters=(row(1), row(2), row(3)))).data)
    log.append(control_batch(1, 1, Voters(voters=(row(2), row(3)))).data)
    log.flush()
    rig = Rig(timeouts=QUIET, log=log)
    rig.pass_ms(2 * QUIET.election_ms)
    assert isinstance(rig.role, Prospective)
    assert ME in rig.role.ballot.granted
    rig.follow(2, 2)
    rig.feed(hwm=1, epoch=2)
    rig.pass_ms(QUIET.fetch_ms)
    assert isinstance(rig.role, Prospective), "the record lies above the high watermark"
    rig.follow(2, 3)
    rig.feed(hwm=2, epoch=3)
    rig.pass_ms(10 * QUIET.fetch_ms)
    assert isinstance(rig.role, Follower | Unattached)


def test_who_learns_that_it_votes_waits_for_an_election_from_then_on() -> None:
    log = MemoryLog()
    log.append(control_batch(0, 1, Voters(voters=(row(2), row(3)))).data)
    log.flush()
    rig = Rig(timeouts=QUIET, log=log)
    assert isinstance(rig.role, Unattached)
    changed(rig, 1, 2, 3)
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns < NEVER_NS
    rig.pass_ms(2 * QUIET.election_ms)
    assert isinstance(rig.role, Prospective)


def test_who_stood_in_vain_and_was_removed_starts_as_an_observer() -> None:
    """Apache Kafka ends (`kraft-chaos finding removed-candidate`)."""
    log = MemoryLog()
    log.append(control_batch(0, 3, Voters(voters=(row(2), row(3)))).data)
    log.flush()
    stood = ElectionState(epoch=Epoch(3), leader=NodeId(2), voted=ME)
    rig = Rig(timeouts=QUIET, log=log, election=stood)
    assert isinstance(rig.role, Follower)
    rig.pass_ms(10 * QUIET.fetch_ms)
    assert isinstance(rig.role, Unattached), "who is no voter does not stand"


@pytest.mark.parametrize("voted", [None, ME], ids=["unattached", "candidate"])
def test_who_was_removed_by_what_its_snapshot_vouches_for_starts_as_an_observer(
    voted: ReplicaKey | None,
) -> None:
    log = MemoryLog()
    log.append(control_batch(0, 1, Voters(voters=(row(1), row(2), row(3)))).data)
    log.append(control_batch(1, 1, Voters(voters=(row(2), row(3)))).data)
    log.flush()
    taken_at = LogPosition(Epoch(1), Offset(2))
    log.write_snapshot(taken_at, 0, snapshot(taken_at, 1, size=100))
    log.finish_snapshot(taken_at)
    rig = Rig(timeouts=QUIET, log=log, election=ElectionState(epoch=Epoch(1), voted=voted))
    assert rig.core.raft.quorum.committed == taken_at.offset
    rig.pass_ms(10 * QUIET.fetch_ms)
    assert isinstance(rig.role, Unattached), "it knows that its removal is committed"


def test_a_leader_that_is_no_voter_here_is_followed_where_it_says_it_listens() -> None:
    rig = Rig(timeouts=QUIET)
    at = Endpoint(name="CONTROLLER", host="node-9", port=PORTS + 9)
    answer = rig.request(
        BeginQuorumEpochRequest(
            cluster_id=None,
            voter=ME.id,
            voter_directory=ME.directory,
            leader=NodeId(9),
            epoch=Epoch(5),
            leader_endpoints=(Endpoint(name="OTHER", host="x", port=1), at),
        )
    )
    assert answer == QuorumEpochResponse(
        leader=NodeId(9), epoch=Epoch(5), leader_endpoint=replace(at, name="")
    )
    assert isinstance(rig.role, Follower)
    fetches = [ask for ask in rig.asked if isinstance(ask.request, FetchRequest)]
    assert (asked_node(fetches[-1]), fetches[-1].endpoint) == (9, at)


def test_a_leader_that_removes_itself_is_followed_on() -> None:
    rig = following()
    fetched_from(rig, control_batch(0, 3, Voters(voters=(row(1), row(3)))))
    fetched = [asked_node(ask) for ask in rig.asked if isinstance(ask.request, FetchRequest)]
    assert fetched == [2, 2]


def test_a_voter_set_without_voters_or_addresses_is_not_taken() -> None:
    for bad in ((), (row(1), row(1)), (replace(row(1), endpoints=()),)):
        rig = following()
        fetched_from(rig, control_batch(0, 3, Voters(voters=bad)))
        assert rig.core.raft.log.end.offset == 0
        assert [trace.event for trace in rig.traces].count("q.garbled") == 1


def test_the_first_leader_writes_whom_the_disks_were_formatted_with() -> None:
    history = VoterHistory.formatted(addresses(1, 2, 3), DYNAMIC)
    assert not history.is_named
    records = history.first_records(())
    assert records == (KRaftVersion(version=1), Voters(voters=(row(1), row(2), row(3))))
    change = LeaderChange(leader=NodeId(1), voters=(), granting_voters=())
    written = history.appended(control_batch(0, 1, change, *records))
    assert written.is_named
    assert written.first_records(()) == ()
    assert written.truncated(Offset(0)) == history
    assert VoterHistory.formatted(addresses(1), STATIC).first_records(()) == ()


def test_a_new_quorum_writes_its_voters_once() -> None:
    quorum = Quorum(3, seed=1)
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 10 * SECOND)
    (first,) = quorum.active()
    quorum.power_off(first)
    assert quorum.run_until(lambda: bool(quorum.active()), 10 * SECOND)
    (second,) = quorum.active()
    kinds = [
        [type(decode_control(record.key, record.value)) for record in batch.records()]
        for batch in quorum.members[second].log.batches
        if batch.header.is_control
    ]
    assert kinds[0] == [LeaderChange, KRaftVersion, Voters]
    assert kinds[1:] == [[LeaderChange]] * (len(kinds) - 1)


# --- a history against a naive one ---


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_any_appends_and_truncations(rng: random.Random, steps: int) -> None:
    """The newest set is that of the last record in the log, at every offset, whatever was cut."""
    first = VoterHistory.formatted(addresses(1, 2, 3), DYNAMIC)
    history, log = first, list[tuple[Batch, tuple[int, ...] | None]]()
    for _ in range(steps):
        end = log[-1][0].header.next_offset if log else 0
        if log and rng.random() < 0.3:
            at = rng.randrange(len(log))
            history = history.truncated(log[at][0].header.base_offset)
            del log[at:]
        elif rng.random() < 0.5:
            nodes = tuple(sorted(rng.sample(range(1, 7), rng.randint(1, 5))))
            rows = Voters(voters=tuple(map(row, nodes)))
            change = LeaderChange(leader=NodeId(1), voters=(), granting_voters=())
            records = (change, KRaftVersion(version=1), rows) if rng.random() < 0.3 else (rows,)
            log.append((control_batch(end, 1, *records), nodes))
            history = history.appended(log[-1][0])
        else:
            header = read_header(data := batch(end, 1, rng.randint(1, 3)))
            log.append((Batch(header=header, data=data), None))
        for offset in range(end + 5):
            named = [n for b, n in log if n is not None and b.header.last_offset <= offset]
            assert tuple(history.at(Offset(offset)).by_id) == (named[-1] if named else (1, 2, 3))
        assert history.newest == history.at(Offset(10**6))
        again = first
        for each, nodes_named in log:
            again = again.appended(each) if nodes_named is not None else again
        assert again == history, "a restart reads the same"
    cut = Offset(rng.randrange(0, 50))
    behind = first.after_snapshot(history.records_at(cut), cut)
    assert behind.newest == history.at(Offset(max(cut - 1, 0)))
    assert behind.is_named
