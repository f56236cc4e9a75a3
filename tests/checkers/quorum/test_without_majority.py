"""A majority of the voters' disks is lost: what is excused, what is demanded, and what is not."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc
import pytest

from checkers.evidence.evidence import Evidence
from checkers.evidence.missing import missing
from checkers.history.sealed_run import LINEARIZABLE_READS, Run
from checkers.quorum.agreement import metadata_logs_agree
from checkers.quorum.voters_were import stops_without_a_majority
from checkers.registers.survival import acknowledged_writes_survive
from checkers.run.recovery import recovers_when_healed
from checkers.run.sufficiency import final_reads, record_complete, workload_succeeded
from checkers.verdict import Verdict
from tests.support.histories import (
    LostDisk,
    NodeTrace,
    Row,
    batch,
    config_record,
    disk,
    make_run,
    op,
    read,
    wiped,
    write,
)
from tests.support.voter_logs import FIRST, log, whole

VALID, INVALID, UNKNOWN, VOID = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN, Verdict.VOID
STUCK = "the quorum had not recovered 30 s after the last heal"
LONG_NS = 100_000 * 10**6  # the second disk is gone at 30,000 ms
FAULTS = (wiped(0, 2, 10_000, 11_000), wiped(1, 3, 30_000, 31_000))
EARLY, LATE = write(1, 100, 200), write(2, 20_000, 20_100)  # before the first loss, and behind it
ALL = (1, 2, 3)


def lost(node: int, *values: tuple[int, int]) -> LostDisk:
    """Its log, with values at offsets."""
    records = [config_record(node, offset, "r-0", value) for offset, value in values]
    batches = log([node], *((at, at, 1) for at in range(3 + len(values))))
    return LostDisk(node, batches, [*whole([node], 2, FIRST), *records])


def scene(
    on_one: Sequence[tuple[int, int]] = ((3, 1), (4, 2)),
    faults: Sequence[Row] = FAULTS,
    gone: Sequence[LostDisk] = (lost(2, (3, 1)), lost(3, (3, 1), (4, 2))),
    ops: Sequence[Row] = (EARLY, LATE),
    voters: Sequence[tuple[int, str]] = FIRST,
    **info: object,
) -> Run:
    """Node 1 has its disk, nodes 2 and 3 have new ones; `on_one`: offsets and values."""
    records = whole([1], 2, voters)
    records += [config_record(1, offset, "r-0", value) for offset, value in on_one]
    disks = [disk(1, log_end=9), disk(2, directory="new-2"), disk(3, directory="new-3")]
    told = {"stuck": STUCK, "finished": False, "duration_ns": LONG_NS, "stuck_for_sure": True}
    return make_run(
        ops=ops,
        batches=log([1], *((at, at, 1) for at in range(3 + len(on_one)))),
        records=records,
        disks=disks,
        faults=faults,
        lost=gone,
        **{**told, **info},  # type: ignore[arg-type]  # of `RunInfo`
    )


AFTER = op("write", 3, 40_000, 41_000, outcome="info")
ASKED = (EARLY, LATE, AFTER)


def test_a_quorum_that_stops_is_right() -> None:
    run = scene(ops=ASKED)
    found = stops_without_a_majority(run)
    assert (found.verdict, found.looked_at) == (VALID, 1)
    assert found.message.endswith("node 2, node 3, of 3 voters, lost their disks")
    told = recovers_when_healed(run)
    assert told.verdict is VALID
    assert told.message.startswith(STUCK)
    assert record_complete(run).verdict is VALID
    assert final_reads(run).verdict is VALID
    survived = acknowledged_writes_survive(run)
    assert (survived.verdict, survived.looked_at) == (VALID, 2)


def test_whoever_acknowledges_anything_later_is_wrong() -> None:
    done = op("delete", None, 40_000, 40_001)
    assert stops_without_a_majority(scene(ops=[*ASKED, done])).verdict is INVALID
    begun_before = write(4, 29_999, 40_001)
    assert stops_without_a_majority(scene(ops=[*ASKED, begun_before])).verdict is VALID
    shown = read(1, 40_000, 40_001)
    assert stops_without_a_majority(scene(ops=[*ASKED, shown])).verdict is INVALID
    stale = scene(ops=[*ASKED, shown], promises=())
    assert LINEARIZABLE_READS not in stale.info.promises
    assert stops_without_a_majority(stale).verdict is VALID


@pytest.mark.parametrize(("stood_ms", "verdict"), [(30_500, VALID), (31_500, INVALID)])
def test_nobody_is_elected_by_votes_that_were_asked_for_later(
    stood_ms: int, verdict: Verdict
) -> None:
    """A candidate may have had its votes before; the disk is gone at 30,001 ms."""
    stood_ns = (stood_ms - 500) * 10**6
    trace = NodeTrace(2, "new-2").start()
    trace.state("candidate", 4, at=stood_ns).state("leader", 4, 2, at=40_000 * 10**6)
    run = scene(ops=ASKED)
    elected = make_run(traces=[trace]).tables["node_events"]
    found = stops_without_a_majority(replace(run, tables={**run.tables, "node_events": elected}))
    assert found.verdict is verdict


def test_nobody_asked_or_not_long_enough() -> None:
    assert stops_without_a_majority(scene()).verdict is UNKNOWN
    short = scene(ops=ASKED, duration_ns=42_000 * 10**6)
    assert stops_without_a_majority(short).verdict is UNKNOWN


NOT_LOST = {
    "one disk": {"faults": FAULTS[:1]},
    "a disk that was not emptied": {
        "faults": [FAULTS[0], {**FAULTS[1], "facts": json.dumps({"node 3 emptied": False})}]
    },
    "one that an operator replaced": {"voters": [*FIRST[:1], (2, "new-2"), FIRST[2]]},
    "voters known by their ids alone": {"voters": [(n, "A" * 22) for n in ALL]},
}


@pytest.mark.parametrize("why", NOT_LOST)
def test_where_a_majority_is_left_nothing_is_excused(why: str) -> None:
    run = scene(ops=ASKED, **NOT_LOST[why])  # type: ignore[arg-type]  # as `scene`
    assert Evidence(run).lost_majority is None
    assert stops_without_a_majority(run).message.startswith("nothing to judge")
    assert recovers_when_healed(run).verdict is INVALID
    assert record_complete(run).verdict is UNKNOWN
    assert final_reads(run).verdict is UNKNOWN


def test_a_node_that_ends_by_itself_is_not_excused() -> None:
    ended = ({"node": 1, "t_ns": 5, "exit_code": 1, "words": ""},)
    assert recovers_when_healed(scene(unasked_ends=ended)).verdict is INVALID


def test_who_is_left_holds_what_was_acknowledged_behind_the_first_loss() -> None:
    """Two of three were left: each of them had to have it, and all that came before."""
    found = acknowledged_writes_survive(scene([(3, 1)]))
    assert found.verdict is INVALID
    assert found.message.startswith("the write of 2 at r-0")
    assert "the lost disks of node 3 have" in found.message
    earlier = acknowledged_writes_survive(scene([(4, 2)]))
    assert (earlier.verdict, earlier.count) == (INVALID, 1)


def test_what_only_lost_disks_have_is_allowed_to_be_gone() -> None:
    """Nobody asked for anything between the two: those who had it may be those who are gone."""
    gone = (lost(2, (3, 1)), lost(3, (3, 1)))
    found = acknowledged_writes_survive(scene([], gone=gone, ops=[EARLY]))
    assert (found.verdict, found.facts["gone_with_disks"]) == (VALID, 1)
    assert "they are only on lost disks" in found.message
    nowhere = acknowledged_writes_survive(scene([], gone=(lost(2), lost(3)), ops=[EARLY]))
    assert nowhere.verdict is INVALID


def test_lost_disks_that_were_not_kept_accuse_nobody_and_are_missing() -> None:
    run = scene([], gone=(lost(2, (3, 1)),), ops=[EARLY])
    assert acknowledged_writes_survive(run).verdict is UNKNOWN
    assert any("lost disk dir-3 of node 3" in str(each) for each in missing(run))
    assert not any("lost disk" in str(each) for each in missing(scene()))


def test_a_lost_disk_that_cannot_be_read_is_unknown() -> None:
    torn = replace(lost(3, (3, 1)), problem="torn")
    found = acknowledged_writes_survive(scene([], gone=(lost(2, (3, 1)), torn), ops=[EARLY]))
    assert found.verdict is UNKNOWN


def test_what_lay_on_lost_disks_is_part_of_the_one_log() -> None:
    run = scene()
    assert metadata_logs_agree(run).verdict is VALID
    other = LostDisk(2, [batch(2, 0, 0, 1, crc=7), *log([2], (1, 1, 1))])
    found = metadata_logs_agree(scene(gone=(other, lost(3, (3, 1)))))
    assert found.verdict is INVALID
    assert "node 1 and a lost disk of node 2 differ at offset 0" in found.message


def test_enough_has_to_succeed_before() -> None:
    many = [write(n, 100 + n, 100 + n) for n in range(1, 80)]
    refused = [op("write", n, 40_000 + n, 40_000 + n, outcome="fail") for n in range(2_000)]
    run = scene(ops=many + refused)
    found = workload_succeeded(run)
    assert found.facts["tried"] == len(many)
    assert pc.sum(pc.equal(run.tables["ops"]["outcome"], "ok")).as_py() == len(many)
    assert workload_succeeded(scene(ops=refused)).verdict is VOID
