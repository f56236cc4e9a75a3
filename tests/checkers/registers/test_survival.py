"""Acknowledged, unknown and refused writes against the disks; by hand."""

from checkers.history.sealed_run import Run
from checkers.registers.survival import acknowledged_writes_survive
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    NodeTrace,
    Row,
    batch,
    config_record,
    disk,
    make_run,
    read,
    write,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
ALL = (1, 2, 3)


def on(nodes: tuple[int, ...], offset: int, value: int, key: str = "r-0") -> list[Row]:
    return [config_record(node, offset, key, value) for node in nodes]


def run(ops: list[Row], records: list[Row], disks: tuple[int, ...] = ALL, **rest: object) -> Run:
    rows = [disk(node) for node in disks]
    return make_run(ops=ops, records=records, disks=rows, **rest)  # type: ignore[arg-type]  # rows


def judged(*args: object, **rest: object) -> CheckResult:
    return acknowledged_writes_survive(run(*args, **rest))  # type: ignore[arg-type]  # as `run`


def test_acknowledged_writes_on_all_disks_or_a_majority() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3), read(2, 4, 5)]
    result = judged(ops, [*on(ALL, 1, 1), *on((1, 3), 2, 2)])
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_an_acknowledged_write_on_no_majority_is_lost() -> None:
    result = judged([write(1, 0, 1), write(2, 2, 3, process=7)], [*on(ALL, 1, 1), *on((1,), 2, 2)])
    assert result.verdict is INVALID
    assert result.message == "the write of 2 at r-0 by process 7, acknowledged, is lost"
    assert [(row["value"], row["process"]) for row in result.witness] == [(2, 7)]
    assert result.facts["lost"] == 1


def test_copies_at_different_offsets_are_no_majority() -> None:
    records = [*on((1,), 1, 1), *on((2,), 2, 1)]
    assert judged([write(1, 0, 1)], records).verdict is INVALID


def test_another_key_or_another_resource_is_not_it() -> None:
    assert judged([write(1, 0, 1)], on(ALL, 1, 1, key="r-1")).verdict is INVALID
    broker = [row | {"resource_type": 4} for row in on(ALL, 1, 1)]
    assert judged([write(1, 0, 1)], broker).verdict is INVALID


def test_what_is_above_the_highest_high_watermark_is_not_committed() -> None:
    ops, records = [write(1, 0, 1)], on(ALL, 5, 1)
    low, high = NodeTrace(1).start().hwm(5, 1), NodeTrace(1).start().hwm(6, 1)
    assert judged(ops, records, traces=[low]).verdict is INVALID
    assert judged(ops, records, traces=[high]).verdict is VALID


def test_where_only_some_nodes_trace_the_others_may_have_committed_more() -> None:
    """Of one quorum of both, the last node of ours became one of Apache Kafka's."""
    ops, records, low = [write(1, 0, 1)], on(ALL, 5, 1), NodeTrace(1).start().hwm(5, 1)
    mixed = "2 of ours, 1 kafka 4.3.1"
    assert judged(ops, records, traces=[low], target=mixed).verdict is VALID


def test_unknown_writes_are_recovered_or_not() -> None:
    ops = [write(1, 0, 1), write(2, 2, None), write(3, 3, 4, outcome="info")]
    result = judged(ops, [*on(ALL, 1, 1), *on(ALL, 2, 2)])
    assert result.verdict is VALID
    assert (result.facts["recovered"], result.facts["not_happened"]) == (1, 1)


def test_a_refused_write_that_is_found() -> None:
    ops = [write(1, 0, 1), write(2, 2, 3, outcome="fail"), write(3, 4, 5, outcome="fail")]
    result = judged(ops, [*on(ALL, 1, 1), *on(ALL, 2, 2), *on((1,), 3, 3)])
    assert result.verdict is INVALID
    assert "refused, happened nevertheless" in result.message
    assert (result.count, result.witness[0]["what"]) == (1, "refused, but found")


def test_a_write_sent_again_that_could_not_be_sent_is_not_blamed_for_the_first_attempt() -> None:
    doubtful = write(7, 0, 1, outcome="info", error="timed-out")
    again = write(7, 2, 3, outcome="fail", error="no leader found", process=1)
    assert judged([doubtful, again, write(8, 4, 5)], on(ALL, 3, 7) + on(ALL, 4, 8)).verdict is VALID
    twice = on(ALL, 3, 7) + on(ALL, 4, 8) + on(ALL, 5, 7)
    result = judged([doubtful, again, write(8, 4, 5)], twice)
    assert result.verdict is INVALID
    assert "by process 1, refused, happened nevertheless" in result.message


def test_absence_on_missing_disks_proves_nothing() -> None:
    result = judged([write(1, 0, 1)], on((1,), 1, 1), disks=(1, 2))
    assert result.verdict is UNKNOWN
    assert "only 2 of 3 disks could be read completely" in result.message
    assert judged([write(1, 0, 1)], [], disks=(1, 2)).verdict is INVALID
    assert judged([write(1, 0, 1)], [], disks=()).verdict is UNKNOWN


def test_absence_on_a_damaged_disk_or_behind_a_snapshot_proves_nothing() -> None:
    disks = [disk(1), disk(2), disk(3, problem="torn at position 7")]
    damaged = make_run(ops=[write(1, 0, 1)], records=on((1,), 1, 1), disks=disks)
    result = acknowledged_writes_survive(damaged)
    assert result.verdict is UNKNOWN
    assert "node 3: torn at position 7" in result.message
    later = [batch(node, 100, 100, 1) for node in ALL]
    assert judged([write(1, 0, 1)], [], batches=later).verdict is UNKNOWN


def test_no_acknowledged_write_is_unknown() -> None:
    assert judged([], []).verdict is UNKNOWN


def behind_a_snapshot(node: int, end: int, *values: int) -> list[Row]:
    """What a disk tells whose log begins with one: its values, at the last offset below `end`."""
    records = [config_record(node, end - 1, f"r-{value}", value) for value in values]
    first, last = ({**records[0], "type": f"Snapshot{it}"} for it in ("Header", "Footer"))
    return [first, *records, last]


def test_what_a_snapshot_holds_is_where_the_logs_of_others_have_it() -> None:
    ops = [write(1, 0, 1, key="r-1"), write(2, 2, 3, key="r-2")]
    cut = [*behind_a_snapshot(2, 9, 1, 2), *behind_a_snapshot(3, 9, 1, 2)]
    records = [*on((1,), 4, 1, key="r-1"), *on((1,), 5, 2, key="r-2"), *cut]
    result = judged(ops, records)
    assert (result.verdict, result.looked_at) == (VALID, 2), result.message
    # Refused, and there once, where somebody else put it.
    repeated = [*ops, write(2, 4, 5, key="r-2", outcome="fail")]
    assert judged(repeated, records).verdict is VALID


def test_what_is_in_one_snapshot_alone_is_on_no_majority() -> None:
    ops = [write(1, 0, 1, key="r-1")]
    assert judged(ops, behind_a_snapshot(2, 9, 1)).verdict is INVALID
