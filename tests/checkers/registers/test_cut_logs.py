"""What is lost below a snapshot and what was overwritten there: by hand, and against a search.

The search tries every order in which the writes may have happened. A write is lost if there is no
order that gives what the disks have.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import pytest

from checkers.history.sealed_run import Run
from checkers.quorum.controllers import reads_are_committed
from checkers.registers.stored_values import NEVER
from checkers.registers.survival import acknowledged_writes_survive
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    Row,
    batch,
    config_record,
    delete,
    disk,
    make_run,
    read,
    write,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
ALL = (1, 2, 3)
Image = dict[str, int]
Records = Sequence[tuple[int, str, int | None]]  # offset, key, value


@dataclass
class Stored:
    """One disk: a snapshot of all below `end`, if there is one, and the log from `start` on."""

    node: int
    start: int = 0
    end: int = 0
    image: Image = field(default_factory=dict)
    log: Records = ()

    def records(self) -> Iterator[Row]:
        if self.end:
            head = config_record(self.node, self.end - 1, "", None)
            yield head | {"type": "SnapshotHeader"}
            for key, value in self.image.items():
                yield config_record(self.node, self.end - 1, key, value)
            yield head | {"type": "SnapshotFooter"}
        for offset, resource, written in self.log:
            yield config_record(self.node, offset, resource, written)

    def batches(self) -> Iterator[Row]:
        """One a record, after whatever lies before it."""
        ends = [offset for offset, *_ in self.log]
        for base, last in zip([self.start, *(end + 1 for end in ends)], ends, strict=False):
            yield batch(self.node, base, last, 1)


def run(ops: list[Row], *disks: Stored) -> Run:
    return make_run(
        ops=ops,
        records=[row for each in disks for row in each.records()],
        batches=[row for each in disks for row in each.batches()],
        disks=[disk(each.node) for each in disks],
    )


def judged(ops: list[Row], *disks: Stored) -> CheckResult:
    return acknowledged_writes_survive(run(ops, *disks))


def alike(start: int, end: int, image: Image, log: Records = ()) -> list[Stored]:
    return [Stored(node, start, end, image, log) for node in ALL]


def test_what_was_overwritten_below_a_snapshot_is_not_lost() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5)]
    for disks in (
        alike(9, 9, {"r-0": 3}),
        alike(9, 9, {"r-0": 2}, [(9, "r-0", 3)]),
        alike(8, 9, {"r-0": 2}, [(8, "r-0", 2), (9, "r-0", 3)]),
    ):
        result = judged(ops, *disks)
        assert (result.verdict, result.facts["lost"]) == (VALID, 0), result.message
        assert result.looked_at == 3
    assert (result.facts["overwritten"], result.facts["undecided"]) == (1, 0)
    assert "2 acknowledged writes are in the committed log" in result.message
    assert "1 was overwritten below a snapshot" in result.message


def test_what_should_be_the_current_value_and_is_not_in_the_snapshot_is_lost() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3)]
    assert judged(ops, *alike(9, 9, {"r-0": 1})).verdict is INVALID
    assert judged(ops, *alike(9, 9, {})).verdict is INVALID
    # Nor does what another register holds speak for it.
    assert judged(ops, *alike(9, 9, {"r-1": 2})).verdict is INVALID


def test_of_writes_side_by_side_either_may_have_been_the_last() -> None:
    ops = [write(1, 0, 3), write(2, 2, 4)]
    for value in (1, 2):
        result = judged(ops, *alike(9, 9, {"r-0": value}))
        assert (result.verdict, result.facts["overwritten"]) == (VALID, 1)


def test_a_deletion_may_have_followed_it_or_not() -> None:
    ops = [write(1, 0, 1), delete(2, 3, process=1)]
    assert judged(ops, *alike(9, 9, {})).verdict is VALID
    assert judged([write(1, 0, 1), delete(2, None)], *alike(9, 9, {})).verdict is VALID
    refused = delete(2, 3, outcome="fail", process=1)
    assert judged([write(1, 0, 1), refused], *alike(9, 9, {})).verdict is INVALID
    before = [delete(0, 1, process=1), write(1, 2, 3)]
    assert judged(before, *alike(9, 9, {})).verdict is INVALID


def test_what_began_after_a_write_of_the_log_must_be_in_the_log() -> None:
    """Also where another has overwritten it there."""
    ops = [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5)]
    assert judged(ops, *alike(9, 9, {}, [(9, "r-0", 1), (11, "r-0", 3)])).verdict is INVALID
    elsewhere = [write(1, 0, 1, key="r-1"), write(2, 2, 3), write(3, 4, 5)]
    assert judged(elsewhere, *alike(9, 9, {}, [(9, "r-1", 1), (11, "r-0", 3)])).verdict is INVALID
    hidden = judged(elsewhere, *alike(9, 12, {"r-1": 1, "r-0": 3}, [(11, "r-0", 3)]))
    assert (hidden.verdict, hidden.facts["overwritten"]) == (VALID, 1)


def test_of_a_value_that_was_asked_for_twice_nobody_knows_when_it_was_written() -> None:
    again = [write(1, 0, 1, key="r-1"), write(1, 0, None, key="r-1", process=3)]
    ops = [*again, write(2, 2, 3), write(3, 4, 5)]
    late = alike(9, 12, {"r-1": 1, "r-0": 3}, [(9, "r-1", 1), (11, "r-0", 3)])
    assert judged(ops, *late).verdict is VALID


def test_another_log_that_begins_earlier_tells_what_was_below_the_snapshot() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5)]
    cut = [Stored(node, 9, 9, {"r-0": 3}, [(9, "r-1", 4)]) for node in (2, 3)]
    ops.append(write(4, 6, 7, key="r-1"))
    tail = [(8, "r-0", 3), (9, "r-1", 4)]
    whole = Stored(1, log=[(1, "r-0", 1), (4, "r-0", 2), *tail])
    assert judged(ops, whole, *cut).verdict is VALID
    lacks = Stored(1, log=[(1, "r-0", 1), *tail])
    result = judged(ops, lacks, *cut)
    assert (result.verdict, result.facts["lost"]) == (INVALID, 1)
    # One that has gone another way says nothing of theirs.
    other = Stored(1, log=[(1, "r-0", 1), (2, "r-0", 3)])
    assert judged(ops, other, *cut).verdict is VALID


def test_a_log_without_records_continues_the_one_that_has_the_snapshots_last_batch() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3), write(3, 4, 5)]
    cut = [Stored(node, 9, 9, {"r-0": 3}) for node in (2, 3)]
    assert judged(ops, Stored(1, log=[(1, "r-0", 1), (4, "r-0", 2), (8, "r-0", 3)]), *cut)
    lacks = Stored(1, log=[(1, "r-0", 1), (8, "r-0", 3)])
    assert judged(ops, lacks, *cut).verdict is INVALID


def test_a_snapshot_that_has_less_than_the_log_it_stands_for_does_not_count() -> None:
    ops = [write(1, 0, 3), write(2, 2, 4)]  # side by side: the log tells which was the last
    whole = Stored(1, log=[(1, "r-0", 1), (8, "r-0", 2)])
    for value, verdict in ((2, VALID), (1, INVALID)):
        cut = [Stored(node, 9, 9, {"r-0": value}) for node in (2, 3)]
        assert judged(ops, whole, *cut).verdict is verdict


def test_what_a_lagging_log_has_stands_on_those_that_were_cut_behind_it() -> None:
    ops = [write(1, 0, 1, key="r-1"), write(2, 2, 3), write(3, 4, 5)]
    lags = Stored(1, log=[(1, "r-1", 1), (3, "r-0", 2)])
    cut = [Stored(node, 9, 9, {"r-1": 1, "r-0": 3}) for node in (2, 3)]
    assert judged(ops, lags, *cut).verdict is VALID
    forgot = [Stored(node, 9, 9, {"r-0": 3}) for node in (2, 3)]
    assert judged(ops, lags, *forgot).verdict is INVALID


def test_without_enough_disks_a_snapshot_leaves_it_open() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3)]
    first, *_ = alike(9, 9, {"r-0": 2})
    assert judged(ops, first).verdict is UNKNOWN
    torn = make_run(
        ops=ops,
        records=list(first.records()),
        disks=[disk(1), disk(2, problem="no footer"), disk(3, problem="no footer")],
    )
    assert acknowledged_writes_survive(torn).verdict is UNKNOWN


def test_unknown_writes_below_a_snapshot_stay_so_where_they_may_have_happened() -> None:
    ops = [write(1, 0, None), write(2, 2, 3), write(3, 1, None, process=9), write(4, 6, 7)]
    result = judged(ops, *alike(9, 9, {"r-0": 2}, [(9, "r-0", 4)]))
    assert (result.verdict, result.facts["not_happened"]) == (VALID, 0)
    ops[2] = write(3, 4, None, process=9)  # when the snapshot's value had been acknowledged
    result = judged(ops, *alike(9, 9, {"r-0": 2}, [(9, "r-0", 4)]))
    assert (result.verdict, result.facts["not_happened"]) == (VALID, 1)


def test_a_value_that_was_read_may_be_below_a_snapshot() -> None:
    ops = [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)]
    shown = reads_are_committed(run(ops, *alike(9, 9, {"r-0": 2})))
    assert (shown.verdict, shown.looked_at) == (VALID, 1)
    late = [write(2, 0, 1), write(1, 4, None), read(1, 6, 7)]
    shown = reads_are_committed(run(late, *alike(0, 0, {}, [(9, "r-0", 2)])))
    assert shown.verdict is INVALID
    shown = reads_are_committed(run(late, *alike(9, 9, {}, [(9, "r-0", 2)])))
    assert shown.verdict is INVALID


# --- against a search ---


@dataclass(frozen=True)
class Op:
    key: str
    value: int | None
    begun: int
    ended: int | None  # None: nobody knows whether it happened

    def row(self, process: int) -> Row:
        if self.value is None:
            return delete(self.begun, self.ended, key=self.key, process=process)
        return write(self.value, self.begun, self.ended, key=self.key, process=process)


def drawn_ops(rng: random.Random) -> list[Op]:
    """A few operations on two registers, at random one after the other or side by side."""
    count = rng.randint(2, 6)
    events = list(range(2 * count))
    rng.shuffle(events)
    # Short spans, so that many are certainly one after the other.
    spans = [sorted(events[2 * i : 2 * i + 2]) for i in range(count)]
    if rng.random() < 0.7:
        starts = sorted(rng.sample(range(4 * count), count))
        spans = [[at, at + rng.choice((1, 1, 3, 5))] for at in starts]
    found = []
    for number, (begun, ended) in enumerate(spans):
        # Two events are never at the same moment.
        times = (begun * 10 + number, ended * 10 + number)
        value = None if rng.random() < 0.2 else 100 + number
        end = None if number and rng.random() < 0.15 else times[1]
        found.append(Op(rng.choice(("r-0", "r-1")), value, times[0], end))
    return found


def orders(ops: Sequence[Op]) -> Iterator[list[Op]]:
    """Every order in which they may have happened: all that are known to, and some of the rest."""
    doubtful = [op for op in ops if op.ended is None]
    for chosen in range(1 << len(doubtful)):
        left_out = [op for at, op in enumerate(doubtful) if not chosen >> at & 1]
        happened = [op for op in ops if op not in left_out]
        yield from (
            list(order)
            for order in permutations(happened)
            if all(
                not (later.ended is not None and later.ended < op.begun)
                for at, op in enumerate(order)
                for later in order[at + 1 :]
            )
        )


def drawn_order(rng: random.Random, ops: Sequence[Op]) -> list[Op]:
    """One of them."""
    left = [op for op in ops if op.ended is not None or rng.random() < 0.5]
    order: list[Op] = []
    while left:
        first_done = min((op.ended for op in left if op.ended is not None), default=NEVER)
        order.append(rng.choice([op for op in left if op.begun < first_done]))
        left.remove(order[-1])
    return order


def replayed(order: Sequence[Op]) -> Image:
    image: Image = {}
    for op in order:
        if op.value is None:
            image.pop(op.key, None)
        else:
            image[op.key] = op.value
    return image


def cut(
    order: Sequence[Op], start: int, end: int
) -> tuple[Image, list[tuple[int, str, int | None]]]:
    """What is on a disk of a log of that order, at offsets from 0 on."""
    log = [(at, op.key, op.value) for at, op in enumerate(order)]
    return replayed(order[:end]), log[start:]


def explained(ops: Sequence[Op], start: int, end: int, image: Image, log: Records) -> bool:
    """Does any order give that snapshot and that log?"""
    visible = [(key, value) for _, key, value in log]

    def gives(order: Sequence[Op]) -> bool:
        at = len(order) - len(visible)
        same = at >= 0 and [(op.key, op.value) for op in order[at:]] == visible
        return same and replayed(order[: at + end - start]) == image

    return any(map(gives, orders(ops)))


def tells_apart(ops: Sequence[Op]) -> bool:
    """Of two deletions of a register nobody knows which one a record is of."""
    deleted = [op.key for op in ops if op.value is None]
    return len(deleted) == len(set(deleted))


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_and_the_search_agree_on_what_disks_may_have(seed: int) -> None:
    """Disks of a correct node, such that have lost a write, and such that have a wrong snapshot."""
    rng = random.Random(f"{seed}:cut-logs")
    found = {VALID: 0, INVALID: 0}
    for _ in range(60):
        ops = drawn_ops(rng)
        order = drawn_order(rng, ops)
        lost = rng.choice(order) if order and rng.random() < 0.5 else None
        kept = [op for op in order if op is not lost]
        start = rng.randint(1, max(1, len(kept)))
        end = rng.randint(start, max(start, len(kept)))
        image, log = cut(kept, start, end)
        is_wrong = bool(image) and rng.random() < 0.1
        if is_wrong:
            image.pop(rng.choice(sorted(image)))
        # As many offsets are gone as anybody likes: nobody knows how many there were.
        shifted = [(at + 20, key, value) for at, key, value in log]
        disks = alike(start + 20, end + 20, image, shifted)
        result = judged([op.row(number) for number, op in enumerate(ops)], *disks)
        may_be = explained(ops, start, end, image, log)
        shown = (ops, disks[0], result.message)
        if may_be:
            assert result.facts["lost"] == 0, shown
        elif lost is not None and lost.value is not None and not is_wrong and tells_apart(ops):
            assert result.verdict is INVALID, repr(shown)
        assert may_be or lost or is_wrong, shown
        if result.verdict in found:
            found[result.verdict] += 1
    assert all(found.values()), found


def drawn_disks(rng: random.Random, order: Sequence[Op], *, one_is_whole: bool) -> list[Stored]:
    """A log of that order on three disks, each cut where it likes, and one of them may lag."""
    disks = []
    for node in ALL:
        known = order[: rng.randint(1, len(order))] if node == 2 and rng.random() < 0.3 else order
        start = rng.randint(1, len(known))
        end = rng.randint(start, len(known))
        if node == 1 and one_is_whole:
            start = end = 0
        image, log = cut(known, start, end)
        disks.append(Stored(node, start, end, image, log))
    return disks


@pytest.mark.parametrize("seed", range(10))
def test_logs_that_are_cut_in_different_places_are_read_as_one(seed: int) -> None:
    """Nothing is missed while one disk has all; and a correct node is accused of nothing."""
    rng = random.Random(f"{seed}:cut-in-different-places")
    missed = 0
    for _ in range(40):
        ops = drawn_ops(rng)
        order = drawn_order(rng, ops)
        rows = [op.row(number) for number, op in enumerate(ops)]
        right = judged(rows, *drawn_disks(rng, order, one_is_whole=rng.random() < 0.5))
        assert (right.facts["lost"], right.facts["undecided"]) == (0, 0), (ops, right.message)
        lost = rng.choice(order)
        if lost.value is not None and lost.ended is not None and len(order) > 1:
            kept = [op for op in order if op is not lost]
            wrong = drawn_disks(rng, kept, one_is_whole=True)
            assert judged(rows, *wrong).verdict is INVALID, (ops, lost, wrong)
            missed += judged(rows, *drawn_disks(rng, kept, one_is_whole=False)).facts["lost"] == 0
    assert missed, "what is below all snapshots is nowhere"
