"""Deletes, the order of the committed log, and what was read, against each other; by hand, and
against every way in which they can be."""

import random
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from checkers.check import Check
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import LINEARIZABLE_READS, Run
from checkers.registers.log_and_clients import reads_match_the_log, written_in_order
from checkers.registers.log_times import _matched
from checkers.registers.requests import records_were_asked_for, requests_are_whole
from checkers.registers.survival import acknowledged_writes_survive
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    NodeTrace,
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
Place = tuple[str, int | None]  # a register and its value, an offset each in this order


def run(ops: Sequence[Row], *places: Place, disks: int = 3, **rest: object) -> Run:
    nodes = range(1, disks + 1)
    records = [
        config_record(node, offset, key, value)
        for node in nodes
        for offset, (key, value) in enumerate(places)
    ]
    return make_run(
        ops=ops,
        records=records,
        batches=[batch(node, 0, max(len(places) - 1, 0), 1) for node in nodes],
        disks=[disk(node, log_end=len(places)) for node in nodes],
        **rest,  # type: ignore[arg-type]  # of `make_run`
    )


def judged(check: Check, ops: Sequence[Row], *places: Place, **rest: object) -> CheckResult:
    return check(Evidence(run(ops, *places, **rest)))  # type: ignore[arg-type]  # of `run`


WRITTEN = [write(1, 0, 1), delete(2, 3), write(2, 4, 5)]
STORED: list[Place] = [("r-0", 1), ("r-0", None), ("r-0", 2)]


# --- deletes that were acknowledged ---


def test_a_delete_that_is_in_the_log() -> None:
    result = judged(acknowledged_writes_survive, WRITTEN, *STORED)
    assert (result.verdict, result.looked_at) == (VALID, 3), result.message


def test_a_delete_that_is_in_no_log_is_lost() -> None:
    result = judged(acknowledged_writes_survive, WRITTEN, ("r-0", 1), ("r-0", 2))
    assert result.verdict is INVALID
    assert result.message == "the delete of r-0 by process 0, acknowledged, is lost"
    assert [row["f"] for row in result.witness] == ["delete"]


def test_one_deletion_is_not_of_two_deletes() -> None:
    ops = [write(1, 0, 1), delete(2, 3), write(2, 4, 5), delete(6, 7)]
    assert judged(acknowledged_writes_survive, ops, *STORED).verdict is INVALID
    assert judged(acknowledged_writes_survive, ops, *STORED, ("r-0", None)).verdict is VALID


def test_what_had_no_value_may_be_deleted_without_a_record() -> None:
    """Before the first write, after another deletion, and beside a write of which nobody knows."""
    for ops, places in (
        ([delete(0, 1), write(1, 2, 3)], [("r-0", 1)]),
        ([write(1, 0, 1), delete(2, 3), delete(4, 5)], [("r-0", 1), ("r-0", None)]),
        ([delete(0, 5), write(1, 2, None, process=1)], [("r-0", 1)]),
    ):
        assert judged(acknowledged_writes_survive, ops, *places).verdict is VALID
    late = [write(1, 0, 1), delete(2, 3)]
    assert judged(acknowledged_writes_survive, late, ("r-0", 1)).verdict is INVALID


def test_other_registers_tell_when_a_deletion_can_have_been_written() -> None:
    """It stands before what was acknowledged before the delete was asked for."""
    ops = [write(1, 0, 1), delete(2, None, process=1), write(7, 4, 5, key="r-1"), delete(6, 7)]
    early = [("r-0", 1), ("r-0", None), ("r-1", 7)]
    # The first delete, which nobody answered, is what is there, and the second found nothing.
    assert judged(acknowledged_writes_survive, ops, *early).verdict is VALID
    again = [*ops[:3], write(2, 6, 7), delete(8, 9)]
    assert judged(acknowledged_writes_survive, again, *early, ("r-0", 2)).verdict is INVALID


def test_a_deletion_above_the_highest_high_watermark_is_not_committed() -> None:
    low, high = NodeTrace(1).start().hwm(2, 1), NodeTrace(1).start().hwm(3, 1)
    places: list[Place] = [("r-0", 1), ("r-1", 5), ("r-0", None)]
    asked = [write(1, 0, 1), write(5, 2, None, key="r-1", process=1), delete(3, 4)]
    assert judged(acknowledged_writes_survive, asked, *places, traces=[low]).verdict is INVALID
    assert judged(acknowledged_writes_survive, asked, *places, traces=[high]).verdict is VALID


def test_what_is_not_on_the_disks_that_were_read_may_be_on_the_other() -> None:
    ops = [write(1, 0, 1), delete(2, 3)]
    assert judged(acknowledged_writes_survive, ops, ("r-0", 1), disks=2).verdict is UNKNOWN


# --- deletions in the log ---


def test_each_deletion_is_of_a_delete_of_its_own() -> None:
    assert judged(records_were_asked_for, WRITTEN, *STORED).verdict is VALID
    result = judged(records_were_asked_for, WRITTEN, *STORED, ("r-0", None))
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message == "no delete asked for the deletion of r-0 at offset 3 on node 1"


def test_a_delete_that_was_refused_asked_for_nothing() -> None:
    refused = [write(1, 0, 1), delete(2, 3, outcome="fail")]
    result = judged(records_were_asked_for, refused, ("r-0", 1), ("r-0", None))
    assert result.verdict is INVALID
    unknown = [write(1, 0, 1), delete(2, None)]
    assert judged(records_were_asked_for, unknown, ("r-0", 1), ("r-0", None)).verdict is VALID


def test_a_deletion_behind_what_was_asked_for_only_after_its_delete_had_been_answered() -> None:
    ops = [write(1, 0, 1), delete(2, 3), write(2, 4, 5), write(3, 6, 7)]
    places: list[Place] = [("r-0", 1), ("r-0", 2), ("r-0", None), ("r-0", 3)]
    assert judged(records_were_asked_for, ops, *places).verdict is INVALID


def test_more_deletions_than_deletes_in_tails_that_were_never_committed() -> None:
    tail = [config_record(1, 3, "r-0", None) | {"epoch": 2}]
    stored = [
        config_record(node, at, *place) for node in (1, 2, 3) for at, place in enumerate(STORED)
    ]
    rest = {
        "batches": [batch(node, 0, 2, 1) for node in (1, 2, 3)],
        "disks": [disk(node, log_end=3) for node in (1, 2, 3)],
    }
    sound = make_run(ops=[*WRITTEN, delete(6, None)], records=[*stored, *tail], **rest)  # type: ignore[arg-type]  # rows
    assert records_were_asked_for(sound).verdict is VALID
    alone = make_run(ops=WRITTEN, records=[*stored, *tail], **rest)  # type: ignore[arg-type]  # rows
    result = records_were_asked_for(alone)
    assert (result.verdict, result.count) == (INVALID, 1)


# --- the order of the log ---


def test_the_log_has_what_was_asked_for_in_the_order_of_real_time() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3, key="r-1")]
    assert judged(written_in_order, ops, ("r-0", 1), ("r-1", 2)).verdict is VALID
    result = judged(written_in_order, ops, ("r-1", 2), ("r-0", 1))
    assert (result.verdict, result.count) == (INVALID, 1)
    assert "1 of r-0 is at offset 1 of the committed log, behind 2 of r-1 at 0" in result.message
    assert [row["value"] for row in result.witness] == [1, 2]


def test_side_by_side_either_comes_first() -> None:
    ops = [write(1, 0, 3), write(2, 1, 2, process=1)]
    for places in permutations([("r-0", 1), ("r-0", 2)]):
        assert judged(written_in_order, ops, *places).verdict is VALID


def test_what_was_not_acknowledged_may_stand_anywhere_behind_its_beginning() -> None:
    ops = [write(1, 0, None), write(2, 2, 3, process=1)]
    assert judged(written_in_order, ops, ("r-0", 2), ("r-0", 1)).verdict is VALID
    late = [write(2, 0, 1), write(1, 2, None, process=1)]
    assert judged(written_in_order, late, ("r-0", 1), ("r-0", 2)).verdict is INVALID


def test_of_a_value_that_was_sent_again_nobody_knows_which_attempt_it_is() -> None:
    ops = [write(1, 0, None), write(2, 2, 3, process=1), write(1, 4, 5, process=2)]
    for places in permutations([("r-0", 1), ("r-0", 2)]):
        assert judged(written_in_order, ops, *places).verdict is VALID


# --- reads ---


@pytest.mark.parametrize(
    ("value", "begun", "done", "verdict"),
    [
        (None, -2, -1, VALID),  # before all
        (1, 1, 2, VALID),
        (1, 6, 7, INVALID),
        (None, 3, 4, VALID),
        (None, 8, 9, INVALID),
        (2, 8, 9, VALID),
        (2, 1, 2, INVALID),
        (3, 8, 9, INVALID),
    ],
)
def test_what_is_read_is_what_the_log_has_then(
    value: int | None, begun: int, done: int, verdict: Verdict
) -> None:
    asked = read(value, begun + 2, done + 2, process=9, phase="final" if begun == 8 else "main")
    ops = [write(1, 2, 3), delete(4, 5), write(2, 6, 7), asked]
    result = judged(reads_match_the_log, ops, *STORED)
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_of_two_writes_side_by_side_the_log_says_which_is_read_in_the_end() -> None:
    ops = [write(1, 0, 3), write(2, 1, 2, process=1), read(1, 4, 5, phase="final")]
    assert judged(reads_match_the_log, ops, ("r-0", 2), ("r-0", 1)).verdict is VALID
    result = judged(reads_match_the_log, ops, ("r-0", 1), ("r-0", 2))
    assert result.verdict is INVALID
    assert "the last that the committed log has is 2 at offset 1" in result.message


def test_who_promises_no_more_than_kafka_may_tell_what_was_so_and_not_what_comes() -> None:
    stale = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]
    early = [write(1, 0, 1), read(2, 2, 3), write(2, 4, 5)]
    for ops, verdict in ((stale, VALID), (early, INVALID)):
        result = judged(reads_match_the_log, ops, ("r-0", 1), ("r-0", 2), promises=())
        assert result.verdict is verdict, result.message


def test_a_final_read_is_stale_for_some_seconds_at_most() -> None:
    stale = [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5, phase="final")]
    late = {"invoke_index": 4, "t0": 7_000_000_000, "t1": 7_001_000_000}
    for ops, verdict in ((stale, VALID), ([*stale[:2], stale[2] | late], INVALID)):
        result = judged(reads_match_the_log, ops, ("r-0", 1), ("r-0", 2), promises=())
        assert result.verdict is verdict, result.message


@pytest.mark.parametrize(
    ("epoch", "late_s", "promised", "verdict"),
    [(2, 0, False, VALID), (2, 7, False, INVALID), (1, 0, False, INVALID), (2, 0, True, INVALID)],
)
def test_a_deposed_controller_that_does_not_know_finds_nothing_for_some_seconds(
    epoch: int, late_s: int, promised: bool, verdict: Verdict
) -> None:
    """Kafka's answer at once what changes nothing, by what they know."""
    late = {"t0": late_s * 1_000_000_000 + 4, "t1": late_s * 1_000_000_000 + 5}
    ops = [write(9, 0, 1, key="r-9"), write(1, 2, 3), delete(4, 5) | late]
    records = [
        row
        for node in (1, 2, 3)
        for row in (
            config_record(node, 0, "r-9", 9),
            config_record(node, 1, "r-0", 1) | {"epoch": epoch},
        )
    ]
    batches = [batch(node, at, at, (1, epoch)[at]) for node in (1, 2, 3) for at in (0, 1)]
    told = make_run(
        ops=ops,
        records=records,
        batches=batches,
        disks=[disk(node, log_end=2) for node in (1, 2, 3)],
        promises=(LINEARIZABLE_READS,) if promised else (),
    )
    result = acknowledged_writes_survive(told)
    assert result.verdict is verdict, result.message


def test_what_cannot_be_read_may_explain_a_read() -> None:
    ops = [write(1, 0, 1), write(2, 2, None), read(2, 4, 5)]
    assert judged(reads_match_the_log, ops, ("r-0", 1)).verdict is INVALID
    assert judged(reads_match_the_log, ops, ("r-0", 1), disks=2).verdict is UNKNOWN
    assert judged(reads_match_the_log, ops, ("r-0", 1), disks=1).verdict is UNKNOWN


# --- requests that delete ---


def together(*rows: Row) -> list[Row]:
    return [row | {"request": 1} for row in rows]


BEFORE = write(1, 0, 1)


@pytest.mark.parametrize(
    ("ends", "places", "verdict"),
    [
        (4, [("r-0", 1), ("r-0", None), ("r-1", 2)], VALID),
        (4, [("r-0", 1), ("r-1", 2), ("r-0", None)], VALID),
        (4, [("r-0", 1), ("r-1", 2)], INVALID),  # the deletion is not there
        (None, [("r-0", 1), ("r-1", 2)], INVALID),
        (None, [("r-0", 1), ("r-0", None)], INVALID),  # only the deletion is there
        (None, [("r-0", 1)], VALID),
    ],
)
def test_a_request_that_writes_and_deletes(
    ends: int | None, places: list[Place], verdict: Verdict
) -> None:
    last = None if ends is None else ends + 1
    both = together(delete(2, ends), write(2, 3, last, key="r-1", process=1))
    result = judged(requests_are_whole, [BEFORE, *both], *places)
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_a_request_that_deletes_what_is_not_there() -> None:
    both = together(delete(2, 4), write(2, 3, 5, key="r-1", process=1))
    assert judged(requests_are_whole, both, ("r-1", 2)).verdict is VALID


def test_a_deletion_that_may_be_of_another_delete_accuses_no_request() -> None:
    both = together(delete(2, None), write(2, 3, None, key="r-1", process=1))
    ops = [BEFORE, *both, delete(4, 5, process=2)]
    assert judged(requests_are_whole, ops, ("r-0", 1), ("r-0", None)).verdict is VALID


# --- against a search ---


@pytest.mark.parametrize("seed", range(5))
def test_as_many_are_suited_as_can_be(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        records, ops = rng.randrange(5), rng.randrange(5)
        spans = [sorted(rng.choices(range(-1, 6), k=2)) for _ in range(ops)]
        first = np.array([span[0] for span in spans], np.int64)
        last = np.array([span[1] for span in spans], np.int64)
        left = _matched(records, first, last, np.arange(records))
        most = max(
            sum(
                number is not None and first[number] <= record <= last[number]
                for record, number in enumerate(order)
            )
            for order in permutations([*range(ops), *[None] * records], records)
        )
        assert records - len(left.deletions) == ops - len(left.deletes) == most
