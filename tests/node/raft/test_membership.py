"""Voters come and go while nodes lose power and links are cut: safety at every step, and progress.

A failure names its seed; `run_seed(N)` in this file reproduces it exactly.
"""

import random

import pytest

from chaos.cluster.sim.invariants import InvariantViolated
from node.errors import ErrorCode
from node.ids import NodeId, Offset, ReplicaKey
from node.raft import replicas
from node.raft.replicas import Replicas
from node.raft.roles import Leader, Resigned
from node.raft.voter_changes import VoterChanges
from node.raft.voter_history import VoterHistory
from node.wire.raft_voters import AddVoterRequest, RemoveVoterRequest, VoterChangeResponse
from tests.node.raft.test_random_runs import assert_progress
from tests.support.quorum import CLUSTER_ID, MS, SECOND, Quorum
from tests.support.registers import Registers, assert_linearizable

CHURN_NS = 25 * SECOND


class Operator:
    """Adds and removes voters one after the other, and notes what it was told. Where nodes are
    listed (KIP-856), a disk that was lost is replaced: the new one is added, the old one removed;
    and now and then what must be refused is asked for."""

    def __init__(self, quorum: Quorum, rng: random.Random) -> None:
        self.quorum = quorum
        self.rng = rng
        self.answers: list[object] = []

    def begin(self) -> None:
        self.quorum.at(self.quorum.now_ns + self.rng.randrange(100 * MS, 800 * MS), self.ask)

    def ask(self) -> None:
        if self.quorum.now_ns > CHURN_NS:
            return
        for leader in self.quorum.leaders():
            self.quorum.ask(leader, self._request(leader), self.answers.append)
        self.begin()

    def _request(self, leader: NodeId) -> AddVoterRequest | RemoveVoterRequest:
        voters = self.quorum.core(leader).raft.quorum.voters
        member = self.quorum.members[self.rng.choice(list(self.quorum.members))]
        replaced = [key for key in voters.keys if key != self.quorum.members[key.id].key]
        if self.quorum.is_listed and replaced and self.rng.random() < 0.8:
            disk = self.quorum.members[replaced[0].id].key
            return removal(replaced[0]) if disk in voters else addition(self.quorum, disk.id)
        if len(voters) > 2 and self.rng.random() < 0.5:
            return removal(self.rng.choice(list(voters.keys)))
        return addition(self.quorum, member.key.id)

    def count(self, error: ErrorCode) -> int:
        return sum(isinstance(a, VoterChangeResponse) and a.error is error for a in self.answers)


def addition(quorum: Quorum, node: int, timeout_ms: int = 2000) -> AddVoterRequest:
    return AddVoterRequest(
        cluster_id=CLUSTER_ID,
        voter=quorum.members[NodeId(node)].key,
        endpoints=(quorum.inner(node),),
        timeout_ms=timeout_ms,
    )


def removal(key: ReplicaKey) -> RemoveVoterRequest:
    return RemoveVoterRequest(cluster_id=CLUSTER_ID, voter=key)


def strike(quorum: Quorum, rng: random.Random) -> None:
    """A power cut, or links that are cut for a while; and again later."""
    if quorum.now_ns > CHURN_NS:
        return
    leaders = quorum.leaders()
    nodes = leaders if leaders and rng.random() < 0.5 else list(quorum.members)
    node = rng.choice(nodes)
    match rng.randrange(4):
        case 0 | 1:
            if quorum.is_up(node):
                quorum.power_off(node)
                if quorum.is_listed and rng.random() < 0.5:
                    lose_disk(quorum, node)
                back = quorum.now_ns + rng.randrange(50 * MS, 2 * SECOND)
                quorum.at(back, lambda: None if quorum.is_up(node) else quorum.start(node))
        case 2:
            quorum.isolate(node)
        case _:
            quorum.cut_between(node, rng.choice(list(quorum.members)))
    quorum.at(quorum.now_ns + rng.randrange(200 * MS, 2 * SECOND), quorum.heal)
    quorum.at(quorum.now_ns + rng.randrange(300 * MS, 3 * SECOND), lambda: strike(quorum, rng))


def lose_disk(quorum: Quorum, node: NodeId) -> None:
    """Once metadata was written, and while no other disk is lost that any node takes for a voter's:
    a quorum of three or four is promised to outlive one."""
    logs = [quorum.core(each).raft.log for each in quorum.members if quorum.is_up(each)]
    voting = {key for log in logs for key in log.voters.newest.keys}
    disks = {quorum.members[each].key for each in quorum.members}
    if any(log.metadata_from is not None for log in logs) and voting <= disks:
        quorum.wipe(node)


def run_seed(seed: int, *, listed: bool = False) -> tuple[Operator, Registers]:
    rng = random.Random(f"{seed}:membership")
    quorum = Quorum(3, observers=1 if listed else 2, seed=seed, invariants=True, listed=listed)
    quorum.start()
    clients = Registers(quorum, processes=2, keys=2, seed=seed, pause_ms=200)
    operator = Operator(quorum, rng)
    operator.begin()
    strike(quorum, rng)
    quorum.run_for(CHURN_NS + 3 * SECOND)
    quorum.heal()
    assert_progress(quorum)
    clients.stop()
    quorum.run_for(2 * SECOND)
    assert_linearizable(clients.operations)
    return operator, clients


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_safe_while_voters_change_and_live_after(seed: int, listed: bool) -> None:
    operator, clients = run_seed(seed, listed=listed)
    assert operator.count(ErrorCode.NONE) > 1, "too little changed to mean anything"
    assert clients.acknowledged_writes() > 20, "too little happened to mean anything"


# --- stories ---


def led(size: int = 3, observers: int = 1, seed: int = 7) -> tuple[Quorum, NodeId]:
    quorum = Quorum(size, observers=observers, seed=seed, invariants=True)
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    quorum.run_for(SECOND)
    return quorum, quorum.active()[0]


def changed(quorum: Quorum, at: NodeId, request: AddVoterRequest | RemoveVoterRequest) -> None:
    answers: list[object] = []
    quorum.ask(at, request, answers.append)
    assert quorum.run_until(lambda: bool(answers), 10 * SECOND)
    assert answers == [VoterChangeResponse()]


def test_a_disk_that_was_replaced_is_a_voter_again_after_a_remove_and_an_add() -> None:
    """KIP-856, "Disk Failure Recovery Scenario", in the order of KIP-853."""
    quorum, leader = led(observers=0)
    lost = next(node for node in quorum.members if node != leader)
    old = quorum.members[lost].key
    quorum.power_off(lost)
    quorum.wipe(lost)
    quorum.start(lost)
    quorum.run_for(2 * SECOND)
    core = quorum.core(lost)
    assert not core.raft.quorum.is_voter
    assert core.raft.log.end == quorum.core(leader).raft.log.end, "it follows as an observer"
    changed(quorum, leader, removal(old))
    changed(quorum, leader, addition(quorum, lost))
    assert quorum.run_until(lambda: quorum.core(lost).raft.quorum.is_voter, 5 * SECOND)
    other = next(node for node in quorum.members if node not in (leader, lost))
    quorum.power_off(other)
    assert_progress(quorum)


def test_a_leader_is_removed_and_another_leads() -> None:
    quorum, leader = led()
    changed(quorum, leader, removal(quorum.members[leader].key))
    assert quorum.run_until(lambda: any(node != leader for node in quorum.active()), 10 * SECOND)
    quorum.run_for(5 * SECOND)
    role = quorum.core(leader).raft.quorum.role
    assert not isinstance(role, Leader | Resigned)
    assert quorum.core(leader).raft.log.end.offset > 0
    assert_progress(quorum)


@pytest.mark.parametrize("loses_power", [False, True])
@pytest.mark.parametrize("size", [2, 4])
def test_who_alone_knows_that_it_is_removed_is_elected_and_commits_that(
    size: int, loses_power: bool
) -> None:
    """Raft thesis 4.2.2. The others need its vote, one of four being off, and their logs are too
    old for it."""
    quorum, leader = led(size=size, observers=0)
    another, *others = (node for node in quorum.members if node != leader)
    for unneeded in others[1:]:
        quorum.power_off(unneeded)
    quorum.isolate(leader)
    quorum.ask(leader, removal(quorum.members[leader].key), lambda _: None)
    assert quorum.run_until(lambda: not quorum.core(leader).raft.quorum.is_voter, SECOND)
    quorum.run_for(SECOND)
    if loses_power:
        quorum.power_off(leader)
        quorum.start(leader)
    quorum.run_for(20 * SECOND)
    assert not quorum.active()
    quorum.heal()
    assert quorum.run_until(lambda: any(node != leader for node in quorum.active()), 20 * SECOND)
    assert leader not in quorum.core(another).raft.quorum.voters.by_id
    assert_progress(quorum)


def remove_leader_and_others(quorum: Quorum, leader: NodeId) -> None:
    """All asked for at once, until another leads."""
    others = [member.key for node, member in quorum.members.items() if node != leader]
    for key in (quorum.members[leader].key, *others[:2]):
        quorum.ask(leader, removal(key), lambda _: None)
    assert quorum.run_until(lambda: any(node != leader for node in quorum.active()), 10 * SECOND)


@pytest.mark.parametrize("seed", range(4))
def test_a_leader_that_was_removed_writes_no_other_change(seed: int) -> None:
    """Also not one that waits for its own removal to be committed."""
    quorum, leader = led(size=5, seed=seed)
    gone, epoch = quorum.members[leader].key, quorum.core(leader).raft.quorum.epoch
    remove_leader_and_others(quorum, leader)
    sets = [s.voters for s in quorum.core(leader).raft.log.voters.sets if s.epoch == epoch]
    assert gone not in sets[-1]
    assert all(gone in voters for voters in sets[:-1])


def test_all_voters_are_replaced_one_by_one() -> None:
    quorum, _ = led(size=2, observers=2)
    for old, new in ((1, 3), (2, 4)):
        for request in (addition(quorum, new), removal(quorum.members[NodeId(old)].key)):
            assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
            changed(quorum, quorum.active()[0], request)
    quorum.run_for(3 * SECOND)
    for gone in (1, 2):
        quorum.power_off(NodeId(gone))
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    assert_progress(quorum)


# --- what is planted is found, by its name ---


def accused(first: int) -> str:
    """`first` is a seed that is known to do it, for the sake of time."""
    for seed in (first, *range(12)):
        try:
            run_seed(seed)
        except InvariantViolated as violated:
            return violated.invariant
    return ""


def keeps_what_was_truncated(history: VoterHistory, _end: Offset) -> VoterHistory:
    return history


def always(*_: object) -> bool:
    return True


def never(*_: object) -> bool:
    return False


def as_computed(candidate: Offset, _known: Offset | None) -> Offset:
    return candidate


def counts_itself(replicas: Replicas, leader: Leader) -> list[Offset]:
    quorum, log = replicas._quorum, replicas._log
    others = [key for key in quorum.voters.keys if key != quorum.key]
    ends = [leader.replicas[key].end if key in leader.replicas else None for key in others]
    return [log.durable, *(end or Offset(0) for end in ends)]


def waits_on(*_: object) -> None:
    return None


PLANTED = [
    (VoterChanges, "_timed_out", waits_on, 1, "V11-changes-come-to-an-end"),
    (VoterChanges, "is_pending", never, 2, "V2-one-change-uncommitted"),
    (VoterChanges, "is_caught_up", always, 2, "V10-added-when-caught-up"),
    (VoterChanges, "_is_done", always, 0, "V5-acknowledged-changes-stay"),
    (VoterChanges, "is_removed", never, 0, "V9-removed-leader-resigns"),
    (VoterHistory, "truncated", keeps_what_was_truncated, 2, "V4-voters-of-the-log"),
    (Replicas, "voter_ends", counts_itself, 1, "Q9-committed-by-majority"),
    (replicas, "never_lower", as_computed, 1, "Q8-node-high-watermark"),
]


@pytest.mark.parametrize(("owner", "decision", "wrong", "first", "invariant"), PLANTED)
def test_a_planted_bug_is_named(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    decision: str,
    wrong: object,
    first: int,
    invariant: str,
) -> None:
    monkeypatch.setattr(owner, decision, wrong)
    assert accused(first) == invariant


def test_a_change_before_anything_of_the_epoch_is_committed_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a second leader, which nobody follows yet; the first one names the voters."""
    monkeypatch.setattr(VoterChanges, "has_committed_epoch", always)
    quorum, first = led(observers=0)
    quorum.power_off(first)
    assert quorum.run_until(lambda: bool(quorum.leaders()), 20 * SECOND)
    (leader,) = quorum.leaders()
    quorum.isolate(leader)
    quorum.ask(leader, removal(quorum.members[first].key), lambda _: None)
    with pytest.raises(InvariantViolated, match="V3-epoch-committed-before-change"):
        quorum.run_for(SECOND)


def may_change_though_removed(changes: VoterChanges, leader: Leader) -> bool:
    return changes.has_committed_epoch(leader) and not changes.is_pending()


def test_a_removed_leader_that_writes_another_change_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the set behind which it wrote the newest one."""
    monkeypatch.setattr(VoterChanges, "may_change", may_change_though_removed)
    quorum, leader = led(size=5, seed=0)
    with pytest.raises(InvariantViolated, match="V9-removed-leader-resigns"):
        remove_leader_and_others(quorum, leader)
