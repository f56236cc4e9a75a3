"""One replica of a partition: KIP-841, KIP-966, and what Kafka does where they are silent."""

import random
from dataclasses import replace
from uuid import UUID

import pytest

from node.broker.isr import Proposal
from node.broker.replica import Replica
from node.controller.image import Partition
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch, LogPosition, NodeId, Offset
from node.storage.leader_epochs import LeaderEpochs
from node.wire.alter_partition import IsrMember, PartitionResult

LAG = 30_000
ME, ONE, TWO = NodeId(0), NodeId(1), NodeId(2)


class World:
    """The leader 0 of a partition, and a controller that does what the test tells it."""

    def __init__(
        self, isr: tuple[int, ...] = (0, 1, 2), min_isr: int = 2, replicas: int = 3, end: int = 0
    ) -> None:
        self.now = 1_000_000
        self.inactive: set[int] = set()
        self.epochs = {broker: 100 + broker for broker in range(replicas)}
        self.min_isr = min_isr
        self.replica = Replica(
            ME,
            end=Offset(end),
            epochs=LeaderEpochs([Epoch(1)], [Offset(0)]) if end else LeaderEpochs(),
            high_watermark=Offset(0),
            may_join=self.may_join,
            lag_ns=LAG,
        )
        self.state = Partition(
            replicas=tuple(range(replicas)),
            isr=isr,
            leader=0,
            leader_epoch=5,
            partition_epoch=10,
            directories=(ZERO_UUID,) * replicas,
        )
        self.update()

    def may_join(self, broker: int, epoch: int) -> bool:
        return broker not in self.inactive and epoch in (-1, self.epochs[broker])

    def update(self, **changes: object) -> None:
        if changes:
            changes = {"partition_epoch": self.state.partition_epoch + 1, **changes}
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.replica.update(self.state, self.min_isr, self.now)

    def append(self, count: int = 1) -> None:
        end = self.replica.end
        self.replica.appended(Epoch(5), end, Offset(end + count), self.now)

    def fetch(self, broker: int, offset: int) -> Proposal | None:
        self.now += 1
        epoch = self.epochs[broker]
        return self.replica.fetched_by(NodeId(broker), Offset(offset), epoch, self.now)

    def answer(self, proposal: Proposal, error: ErrorCode = ErrorCode.NONE) -> bool:
        done = error is ErrorCode.NONE
        result = PartitionResult(
            topic=UUID(int=9),
            index=0,
            error=error,
            leader=ME,
            leader_epoch=proposal.leader_epoch,
            partition_epoch=proposal.partition_epoch + 1 if done else 0,
            isr=proposal.brokers if done else (),
        )
        return self.replica.answered(proposal, result, self.now)

    @property
    def hwm(self) -> int:
        return self.replica.high_watermark

    @property
    def maximal(self) -> frozenset[int]:
        assert self.replica.leading is not None
        return self.replica.leading.isr.maximal


# --- the high watermark ---


def test_it_is_the_end_that_all_of_the_isr_have() -> None:
    world = World()
    world.append(10)
    world.fetch(1, 10)
    assert world.hwm == 0, "2 has not fetched"
    world.fetch(2, 7)
    assert world.hwm == 7
    world.fetch(2, 9)
    world.fetch(1, 3)
    assert world.hwm == 9, "it never goes down"


def test_below_min_isr_it_stays_whatever_was_asked_of_the_records() -> None:
    """KIP-966, "Additional High Watermark advancement requirement": for acks 0 and 1 as well."""
    world = World(isr=(0,), min_isr=2)
    world.append(5)
    assert world.hwm == 0
    assert not world.replica.may_append_for_all()
    assert world.replica.acknowledgement(Offset(5)) is None


def test_min_isr_above_the_replication_factor_is_that() -> None:
    """KIP-966: the effective one is min(min.insync.replicas, replication factor)."""
    world = World(isr=(0, 1), min_isr=3, replicas=2)
    world.append(4)
    world.fetch(1, 4)
    assert world.hwm == 4
    assert world.replica.may_append_for_all()


def test_a_larger_maximal_isr_does_not_stand_in_for_the_committed_one() -> None:
    """KIP-966: ISR [0], ELR [1], maximal ISR [0, 2]. The ELR has nothing above."""
    world = World(isr=(0,), min_isr=2)
    world.append(3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert proposal.brokers == (0, 2)
    assert world.maximal == {0, 2}
    assert world.hwm == 0, "on two brokers, and the controller knows of one"
    world.answer(proposal)
    assert world.hwm == 3, "as soon as the ISR is committed (KAFKA-13091)"


def test_what_is_committed_waits_for_the_maximal_isr() -> None:
    """KIP-966: "the message should be replicated to the maximal ISR"."""
    world = World(isr=(0, 1), min_isr=2)
    world.append(3)
    world.fetch(1, 3)
    assert world.hwm == 3
    proposal = world.fetch(2, 3)
    assert proposal is not None
    world.append()
    world.fetch(1, 4)
    assert world.hwm == 3
    world.fetch(2, 4)
    assert world.hwm == 4


def test_who_has_caught_up_is_waited_for_before_it_is_proposed() -> None:
    world = World(isr=(0, 1), min_isr=1)
    world.append(2)
    world.fetch(1, 2)
    world.inactive.add(2)
    world.fetch(2, 2)  # caught up, and fenced: not counted on
    world.append(1)
    world.fetch(1, 3)
    assert world.hwm == 3
    world.inactive.clear()
    world.append(1)
    world.fetch(1, 4)
    assert world.hwm == 3, "2 had caught up a moment ago"
    world.now += LAG + 1
    world.fetch(1, 4)
    assert world.hwm == 4


def test_alone_with_min_isr_1_it_is_the_log_end() -> None:
    world = World(isr=(0,), min_isr=1, end=4)
    assert world.hwm == 4
    world.append()
    assert world.hwm == 5


# --- acks ---


def test_acks_all_is_answered_once_the_isr_has_it() -> None:
    world = World()
    world.append(2)
    assert world.replica.acknowledgement(Offset(2)) is None
    world.fetch(1, 2)
    world.fetch(2, 2)
    assert world.replica.acknowledgement(Offset(2)) is ErrorCode.NONE


def test_acks_all_fails_if_the_isr_shrank_meanwhile() -> None:
    world = World()
    world.append(2)
    world.fetch(1, 2)
    world.fetch(2, 2)
    world.update(isr=(0,))
    assert world.replica.acknowledgement(Offset(2)) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


# --- the ISR ---


def test_a_follower_joins_with_the_epoch_in_which_it_fetched() -> None:
    """KIP-903."""
    world = World(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    assert IsrMember(broker=TWO, epoch=102) in proposal.isr


def test_a_follower_below_the_high_watermark_or_the_epochs_start_does_not_join() -> None:
    world = World(isr=(0, 1), end=5)
    assert world.fetch(2, 4) is None, "the leader began with 5"
    world.append(3)
    world.fetch(1, 8)
    assert world.hwm == 8
    assert world.fetch(2, 7) is None
    assert world.fetch(2, 8) is not None


@pytest.mark.parametrize("epoch", [102, 103])
def test_an_inactive_or_restarted_follower_is_not_proposed(epoch: int) -> None:
    """KIP-841: the leader only considers active replicas; KIP-903: of that broker epoch."""
    world = World(isr=(0, 1))
    if epoch == 102:
        world.inactive.add(2)
    world.epochs[2] = 102
    assert world.replica.fetched_by(TWO, Offset(0), epoch, world.now) is None
    world.inactive.clear()
    assert world.fetch(2, 0) is not None


def test_one_proposal_at_a_time() -> None:
    world = World(isr=(0,), min_isr=1)
    assert world.fetch(1, 0) is not None
    assert world.fetch(2, 0) is None
    assert world.replica.shrinking(world.now + LAG + 2) is None


def test_who_does_not_fetch_is_shrunk_from_the_isr_and_counted_on_until_then() -> None:
    world = World()
    world.append(2)
    world.fetch(1, 2)
    world.now += LAG + 1
    world.fetch(1, 2)
    proposal = world.replica.shrinking(world.now)
    assert proposal is not None
    assert proposal.brokers == (0, 1)
    assert world.maximal == {0, 1, 2}
    assert world.hwm == 0
    world.answer(proposal)
    assert world.hwm == 2


def test_a_follower_at_the_end_is_in_sync_however_long_it_is_silent() -> None:
    world = World(isr=(0, 1))
    world.append(2)
    world.fetch(1, 2)
    assert world.replica.shrinking(world.now + 10 * LAG) is None


def test_under_load_who_has_what_there_was_at_its_last_fetch_has_caught_up() -> None:
    world = World(isr=(0, 1))
    for _ in range(20):
        world.append(1)
        end = world.replica.end
        world.now += LAG // 2
        world.append(1)
        world.fetch(1, end)
        assert world.replica.shrinking(world.now) is None


@pytest.mark.parametrize(
    "error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.UNKNOWN_TOPIC_ID], ids=lambda e: e.name
)
def test_what_the_controller_refused_is_taken_back(error: ErrorCode) -> None:
    """KIP-841: "revert back its state to the last committed state"."""
    world = World(isr=(0, 1))
    world.append(3)
    world.fetch(1, 3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert not world.answer(proposal, error)
    assert world.maximal == {0, 1}
    assert world.fetch(2, 3) is not None, "a later Fetch tries again"


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
    ],
    ids=lambda e: e.name,
)
def test_where_it_may_have_taken_effect_the_metadata_log_is_awaited(error: ErrorCode) -> None:
    """Were it taken back, records could be shown that a new member of the ISR does not have."""
    world = World(isr=(0, 1))
    world.append(3)
    world.fetch(1, 3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert not world.answer(proposal, error)
    world.append(1)
    world.fetch(1, 4)
    assert world.maximal == {0, 1, 2}
    assert world.hwm == 3
    world.update(isr=(0, 1))
    assert world.maximal == {0, 1}


def test_other_errors_are_asked_again_with_the_same_proposal() -> None:
    world = World(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    assert world.answer(proposal, ErrorCode.NOT_CONTROLLER)
    assert world.maximal == {0, 1, 2}


def test_an_answer_that_the_metadata_log_has_overtaken_changes_nothing() -> None:
    world = World(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    world.update(isr=(0,))
    world.answer(proposal)
    assert world.maximal == {0}
    assert world.state.isr == (0,)


def test_an_older_state_is_ignored() -> None:
    world = World()
    newer = replace(world.state, partition_epoch=20, isr=(0,))
    world.replica.update(newer, 2, world.now)
    world.replica.update(world.state, 2, world.now)
    assert world.maximal == {0}


def test_a_new_leader_epoch_begins_anew() -> None:
    """Ends that were told to this leader in an older epoch say nothing: logs were cut since."""
    world = World()
    world.append(3)
    world.fetch(1, 3)
    world.fetch(2, 3)
    world.update(leader_epoch=6)
    assert world.replica.leading is not None
    assert world.replica.leading.epoch_start == 3
    world.replica.appended(Epoch(6), Offset(3), Offset(4), world.now)
    world.fetch(1, 4)
    assert world.hwm == 3
    world.fetch(2, 4)
    assert world.hwm == 4


# --- epochs ---


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, ErrorCode.NONE),
        (5, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_requests_of_another_epoch_are_refused(epoch: int, error: ErrorCode) -> None:
    assert World().replica.refusal(epoch) is error


def test_who_does_not_lead_says_so() -> None:
    world = World()
    world.update(leader=1, leader_epoch=6)
    assert world.replica.refusal(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.replica.refusal(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fresh_leader_does_not_know_its_high_watermark() -> None:
    world = World(end=5)
    assert not world.replica.knows_its_high_watermark
    world.fetch(1, 5)
    world.fetch(2, 5)
    assert world.replica.knows_its_high_watermark


EPOCHS = LeaderEpochs([Epoch(1), Epoch(3), Epoch(6)], [Offset(0), Offset(10), Offset(20)])


def replica_with(epochs: LeaderEpochs, end: int, high_watermark: int = 0) -> Replica:
    copy = LeaderEpochs(list(epochs.epochs), list(epochs.starts))
    return Replica(
        ME,
        end=Offset(end),
        epochs=copy,
        high_watermark=Offset(high_watermark),
        may_join=lambda _broker, _epoch: True,
        lag_ns=LAG,
    )


@pytest.mark.parametrize(
    ("last_epoch", "offset", "expected"),
    [
        (6, 25, None),
        (6, 30, None),
        (6, 31, (6, 30)),
        (3, 15, None),
        (3, 20, None),
        (3, 21, (3, 20)),
        (5, 25, (3, 20)),
        (-1, 25, None),
        (1, 0, None),
        (0, 5, (0, 0)),
    ],
)
def test_where_a_follower_parts(
    last_epoch: int, offset: int, expected: tuple[int, int] | None
) -> None:
    found = replica_with(EPOCHS, 30).divergence(last_epoch, Offset(offset))
    assert found == (
        None if expected is None else LogPosition(Epoch(expected[0]), Offset(expected[1]))
    )


@pytest.mark.parametrize(
    ("epoch", "offset", "expected"),
    [(3, 15, 15), (3, 25, 20), (4, 25, 20), (6, 22, 22), (2, 5, 10), (0, 0, 0)],
)
def test_where_a_follower_cuts(epoch: int, offset: int, expected: int) -> None:
    """The lower of both ends of an epoch that both have, else the end of the one before."""
    assert (
        replica_with(EPOCHS, 30).truncation(LogPosition(Epoch(epoch), Offset(offset))) == expected
    )


def test_a_cut_takes_the_high_watermark_along() -> None:
    replica = replica_with(EPOCHS, 30, high_watermark=25)
    replica.truncated(Offset(15))
    assert replica.high_watermark == 15
    assert replica.position() == LogPosition(Epoch(3), Offset(15))
    replica.told_high_watermark(Offset(40))
    assert replica.high_watermark == 15
    replica.told_high_watermark(Offset(12))
    assert replica.high_watermark == 12


# --- any order ---

STEPS = ["append", "fetch", "fetch", "fetch", "wait", "shrink", "grant", "grant", "refuse"]
STEPS += ["lose", "fence", "unfence", "unfence", "log"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_all_who_may_lead_have_what_was_shown(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        isr = rng.choice([(0,), (0, 1), (0, 1, 2)])
        steps = [(rng.choice(STEPS), rng.randrange(3), rng.randrange(5)) for _ in range(60)]
        lead_through(steps, rng.randint(1, 4), isr)


def lead_through(steps: list[tuple[str, int, int]], min_isr: int, isr: tuple[int, ...]) -> None:
    """The controller's ISR and ELR (by the words of KIP-966) against the leader's high watermark:
    P6, P8, P9 and P12."""
    world = World(isr, min_isr=min_isr)
    minimum = min(min_isr, 3)
    ends = [0, 0, 0]  # of the logs; followers only add to theirs
    elr, epoch = frozenset[int](), world.state.partition_epoch
    out: Proposal | None = None

    def commit(after: tuple[int, ...]) -> None:
        nonlocal isr, elr, epoch
        left = frozenset() if len(after) >= minimum else (elr | set(isr)) - set(after)
        isr, elr, epoch = after, left, epoch + 1

    def tell() -> None:
        world.update(isr=isr, partition_epoch=epoch)

    for what, broker, number in steps:
        shown = world.hwm
        assert world.replica.leading is not None
        known = world.replica.leading.isr.committed
        match what:
            case "append":
                world.append(number + 1)
                ends[0] += number + 1
            case "fetch" if broker:
                ends[broker] = min(ends[broker] + number, ends[0])
                out = world.fetch(broker, ends[broker]) or out
            case "wait":
                world.now += LAG // 2
            case "shrink":
                out = world.replica.shrinking(world.now) or out
            case "fence" if broker:
                world.inactive.add(broker)
                if broker in isr:
                    commit(tuple(each for each in isr if each != broker))
            case "unfence":
                world.inactive.discard(broker)
            case "log":
                tell()
            case "grant" | "refuse" | "lose" if out is not None:
                is_current = out.partition_epoch == epoch
                is_eligible = not world.inactive & set(out.brokers)
                if not is_current:
                    world.answer(out, ErrorCode.INVALID_UPDATE_VERSION)
                    out = None
                elif not is_eligible or what == "refuse":
                    world.answer(out, ErrorCode.INELIGIBLE_REPLICA)
                    out = None
                else:
                    commit(out.brokers)
                    if what == "grant":
                        world.answer(out)
                        world.state = replace(world.state, partition_epoch=epoch, isr=isr)
                    # Else the answer was lost: the leader asks again, and is told of the log.
                    out = None if what == "grant" else out
        assert world.hwm >= shown
        assert world.hwm <= ends[0]
        assert world.replica.leading is not None
        now_known = world.replica.leading.isr.committed
        if world.hwm > shown:
            assert max(len(known), len(now_known)) >= minimum
        for each in (*isr, *elr):
            assert ends[each] >= world.hwm, f"{each} lacks what was shown; ISR {isr}, ELR {elr}"
