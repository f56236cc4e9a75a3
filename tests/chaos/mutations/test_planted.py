"""Each planted bug breaks the invariant that it is known for, in a quorum within one process.

The cheapest place to see them, and the quickest to see that a check of ours has gone blind. What
only containers show (a disk, a deadline that passed) is in `tests/container/test_selftest.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from random import Random

import pytest

from chaos.bugs.planted import planted_by
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.invariants import InvariantViolated
from node.ids import NodeId
from node.storage.disk import METADATA_DIRECTORY, CorruptLog
from node.storage.log import Log
from tests.node.raft.test_random_runs import run_seed
from tests.support.batches import batch
from tests.support.power import Powered
from tests.support.quorum import MS, SECOND, Quorum
from tests.support.registers import CLIENT_METRICS, write_request

SEEDS = range(40)


@pytest.fixture
def plant() -> Iterator[Callable[[str], None]]:
    with ExitStack() as planted:
        yield lambda mutation: planted.enter_context(planted_by(mutation).planted())


def broken_in_random_runs() -> str:
    """The first violation that random faults bring about; "" if they bring about none."""
    for seed in SEEDS:
        try:
            run_seed(seed)
        except AssertionError as error:
            return str(error) or "not linearizable"
    return ""


@pytest.mark.parametrize(
    ("mutation", "invariants"),
    [
        ("Q-NO-FSYNC", ("Q18", "Q9", "Q7", "Q11")),
        ("Q-VOTE-LATE", ("Q3", "Q2")),
        ("Q-SAME-EPOCH", ("Q17",)),
        ("Q-HWM-EPOCH", ("Q13",)),
    ],
)
def test_random_faults_find(
    plant: Callable[[str], None], mutation: str, invariants: tuple[str, ...]
) -> None:
    plant(mutation)
    assert broken_in_random_runs().startswith(invariants)


def elected(quorum: Quorum) -> NodeId:
    """Start a quorum and let it elect; the active controller."""
    quorum.start()
    assert quorum.run_until(lambda: len(quorum.active()) == 1, 20 * SECOND)
    return quorum.active()[0]


def claims_before_its_leader_change(quorum: Quorum) -> bool:
    elected(quorum)
    appended = [line for line in quorum.lines if line.event == "q.append"]
    starts = {line.fields["epoch"]: line.fields["base"] for line in reversed(appended)}
    active = next(line for line in quorum.lines if line.event == "c.active")
    return int(str(active.fields["offset"])) <= int(str(starts[active.fields["epoch"]]))


def keeps_what_nobody_committed(quorum: Quorum) -> bool:
    leader = elected(quorum)
    quorum.isolate(leader)
    quorum.ask(leader, write_request("orphan", 1234), lambda _: None)
    quorum.run_for(5 * SECOND)
    assert leader not in quorum.active()
    return bool(quorum.core(leader).role.controller.image.config((CLIENT_METRICS, "orphan")))


def leads_on_when_cut_off(quorum: Quorum) -> bool:
    leader = elected(quorum)
    quorum.isolate(leader)
    quorum.run_for(5 * SECOND)
    return leader in quorum.leaders()


def deposes_a_leader_that_is_well(quorum: Quorum) -> bool:
    leader = elected(quorum)
    epoch = quorum.core(leader).raft.quorum.epoch
    quorum.isolate(next(node for node in quorum.members if node != leader))
    quorum.run_for(6 * SECOND)
    quorum.heal()
    quorum.run_for(4 * SECOND)
    return any(quorum.core(node).raft.quorum.epoch > epoch for node in quorum.members)


class SlowLater(Quorum):
    """Its links slow down when told."""

    slow = False

    def _latency(self) -> int:
        return 100 * MS if self.slow else super()._latency()


def deposes_a_leader_that_the_others_hear(quorum: Quorum) -> bool:
    """Only the link to the leader is cut; the third node hears both."""
    leader = elected(quorum)
    epoch = quorum.core(leader).raft.quorum.epoch
    quorum.run_for(SECOND)
    quorum.cut_between(leader, next(node for node in quorum.members if node != leader))
    quorum.run_for(6 * SECOND)
    return any(quorum.core(node).raft.quorum.epoch > epoch for node in quorum.members)


def elects_nobody_when_links_are_slow(quorum: Quorum) -> bool:
    assert isinstance(quorum, SlowLater)
    quorum.power_off(elected(quorum))
    quorum.slow = True
    return not quorum.run_until(lambda: bool(quorum.active()), 15 * SECOND)


@pytest.mark.parametrize(
    ("mutation", "goes_wrong"),
    [
        ("Q-EARLY-ACTIVE", claims_before_its_leader_change),
        ("Q-STALE-REVERT", keeps_what_nobody_committed),
        ("Q-ZOMBIE", leads_on_when_cut_off),
        ("Q-DISRUPT", deposes_a_leader_that_is_well),
        ("Q-PREVOTE-GREEDY", deposes_a_leader_that_the_others_hear),
        ("Q-LIVELOCK", elects_nobody_when_links_are_slow),
    ],
)
def test_a_story_tells_the_planted_from_the_correct(
    plant: Callable[[str], None], mutation: str, goes_wrong: Callable[[Quorum], bool]
) -> None:
    assert not any(goes_wrong(SlowLater(seed=seed)) for seed in range(5))
    plant(mutation)
    assert any(goes_wrong(SlowLater(seed=seed)) for seed in range(5))


def returns_before_its_follower(seed: int) -> str:
    """The leader of five and one follower are cut off, with a write that nobody else has; the
    leader comes back first, and follows another, while the follower still waits for its answer.

    The invariant that this breaks; "" if none is.
    """
    quorum = Quorum(5, seed=seed, invariants=True)
    old = elected(quorum)
    quorum.run_for(SECOND)
    follower, *others = (node for node in quorum.members if node != old)
    for node in others:
        quorum.cut_between(old, node)
        quorum.cut_between(follower, node)
    quorum.ask(old, write_request("orphan", 1234), lambda _: None)
    assert quorum.run_until(lambda: bool({*quorum.active()} - {old}), 10 * SECOND)
    new = next(node for node in quorum.active() if node != old)
    for value in range(12):  # more than the old leader has written meanwhile
        quorum.ask(new, write_request("child", 2000 + value), lambda _: None)
        quorum.run_for(10 * MS)
    quorum.cut -= {(one, two) for one, two in quorum.cut if follower not in (one, two)}
    try:
        quorum.run_for(3 * SECOND)
        quorum.heal()
        quorum.run_for(5 * SECOND)
    except InvariantViolated as violated:
        return violated.invariant
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "invariants"),
    [
        ("Q-PURGATORY", ("Q12-committed-agree",)),
        ("Q-EPOCH-MIX", ("Q5-log-matching",)),
    ],
)
def test_what_a_deposed_leader_answers_late_breaks_its_follower(
    plant: Callable[[str], None], mutation: str, invariants: tuple[str, ...]
) -> None:
    assert {returns_before_its_follower(seed) for seed in range(8)} == {""}
    plant(mutation)
    found = [returns_before_its_follower(seed) for seed in range(8)]
    assert {*found} - {""} == {*invariants}


@pytest.mark.parametrize("mode", [PowerCutMode.LOSE_DATA, PowerCutMode.TORN])
def test_a_mark_that_is_early_makes_a_torn_tail_rot(
    plant: Callable[[str], None], mode: PowerCutMode
) -> None:
    plant("Q-MARK-EARLY")
    refused = 0
    for seed in range(20):
        power = Powered()
        log = Log.open(power.disk, METADATA_DIRECTORY, 1 << 20)
        log.append(batch(0, 1, size=300))
        log.flush()
        log.append(b"".join(batch(offset, 1, size=300) for offset in range(1, 30)))
        power.power_off(mode, Random(seed))
        try:
            assert Log.open(power.disk, METADATA_DIRECTORY, 1 << 20).cut is None
        except CorruptLog:
            refused += 1
    assert refused > 0
