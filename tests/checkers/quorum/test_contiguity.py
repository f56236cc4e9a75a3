"""Offsets left out between intact batches, or behind a snapshot, are records that are gone."""

from collections.abc import Sequence

import pytest

from checkers.quorum.disks import (
    logs_have_no_holes,
    logs_reach_their_snapshots,
    partitions_have_no_holes,
)
from checkers.verdict import Verdict
from tests.support.harm import harm_of
from tests.support.histories import Row, batch, config_record, fault, make_run
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import config, started


def found(*batches: Row) -> tuple[Verdict, int]:
    result = logs_have_no_holes(make_run(batches=list(batches)))
    return result.verdict, result.count


def test_batches_that_follow_one_another() -> None:
    assert found(batch(1, 0, 4, 1), batch(1, 5, 5, 1), batch(2, 0, 9, 1)) == (Verdict.VALID, 0)


def test_a_log_may_begin_late() -> None:
    """What lies before is in a snapshot."""
    assert found(batch(1, 100, 104, 1), batch(1, 105, 105, 2)) == (Verdict.VALID, 0)


def test_a_hole_is_found_on_each_disk() -> None:
    holes = [batch(node, base, base, 1) for node in (1, 2) for base in (0, 1, 3)]
    assert found(*holes) == (Verdict.INVALID, 2)
    result = logs_have_no_holes(make_run(batches=holes))
    assert result.message == "node 1: offset 1 is followed by 3 on its disk"
    assert [event["base_offset"] for event in result.witness] == [1, 3]


def test_an_offset_that_is_there_twice_is_found() -> None:
    assert found(batch(1, 0, 4, 1), batch(1, 4, 6, 1)) == (Verdict.INVALID, 1)


def test_damage_is_no_hole() -> None:
    """The offsets of a damaged batch cannot be trusted, nor what stood at the end of a segment."""
    damaged = batch(1, 1, 90, 1, crc_ok=False)
    assert found(batch(1, 0, 0, 1), damaged, batch(1, 7, 7, 1)) == (Verdict.VALID, 0)
    behind = {**batch(1, 9, 9, 1), "segment": "00000000000000000009.log"}
    assert found(batch(1, 0, 0, 1), behind) == (Verdict.VALID, 0)


def test_without_disks_nothing_is_said() -> None:
    assert found() == (Verdict.UNKNOWN, 0)


def test_partitions_have_no_holes() -> None:
    assert saw_nothing(partitions_have_no_holes(make_run()))
    whole = (
        started().replica(1, "t-0", [(0, 5, 2, 0), (2, 7, 1, 0)]).replica(2, "t-0", [(5, 9, 1, 0)])
    )
    result = partitions_have_no_holes(whole.run())
    assert result is not None
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 3)
    hole = whole.replica(3, "t-0", [(0, 5, 2, 0), (3, 8, 1, 0)])
    result = partitions_have_no_holes(hole.run())
    assert result is not None
    assert result.message == "t-0 on node 3: offset 1 is followed by 3 on its disk"
    usual = {"log.cleanup.policy": "compact"}  # of brokers, for topics that do not say
    result = partitions_have_no_holes(hole.run(settings=usual))
    assert result is not None
    assert result.verdict is Verdict.VALID
    own = {"configs": {"cleanup.policy": "delete"}}
    result = partitions_have_no_holes(hole.run(settings=usual, load=own))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    compact = {"configs": {"cleanup.policy": "compact,delete"}}
    result = partitions_have_no_holes(hole.run(load=compact))
    assert result is not None
    assert result.verdict is Verdict.VALID
    by_itself = hole.commit(config(2, "t", "cleanup.policy", "compact"))
    result = partitions_have_no_holes(by_itself.run())
    assert result is not None
    assert result.verdict is Verdict.INVALID
    damaged = started().replica(3, "t-0", [(0, 5, 2, 0), (3, 8, 1, 0)])
    damaged.rows["replica_batches"][0]["crc_ok"] = False
    result = partitions_have_no_holes(damaged.run())
    assert result is not None
    assert result.verdict is Verdict.VALID


def snapshot(node: int, end: int, epoch: int = 1, *, parts: int = 3) -> list[Row]:
    """On the disk of a node, records of a snapshot of all below `end`; the last is its footer."""
    record = config_record(node, end - 1, "r", 7, epoch)
    head, foot = ({**record, "type": f"Snapshot{part}"} for part in ("Header", "Footer"))
    return [head, record, foot][:parts]


def beginning(node: int, base: int, last: int, epoch: int = 1) -> Row:
    return {**batch(node, base, last, epoch), "segment": f"{base:020}.log"}


def begun(*batches: Row, records: list[Row], faults: Sequence[Row] = ()) -> tuple[Verdict, str]:
    result = logs_reach_their_snapshots(
        make_run(batches=list(batches), records=records, faults=faults)
    )
    return result.verdict, result.message


@pytest.mark.parametrize("end", [10, 12, 15])
def test_a_log_begins_within_a_snapshot(end: int) -> None:
    logs = (beginning(1, 10, 14), batch(1, 15, 19, 2), beginning(2, 0, 19))
    assert begun(*logs, records=snapshot(1, end))[0] is Verdict.VALID


@pytest.mark.parametrize("records", [[], snapshot(1, 9), snapshot(1, 10, parts=2), snapshot(2, 10)])
def test_a_log_that_lost_its_beginning(records: list[Row]) -> None:
    """Also where the snapshot ends before it, has no footer, or is another node's."""
    verdict, message = begun(beginning(1, 10, 14), beginning(2, 0, 14), records=records)
    assert verdict is Verdict.INVALID
    assert message == "node 1: its log begins at 10, but no snapshot reaches that far"


def test_a_snapshot_of_another_log_than_the_one_beside_it() -> None:
    verdict, message = begun(beginning(1, 10, 14, 2), records=snapshot(1, 12, epoch=1))
    assert verdict is Verdict.INVALID
    assert message == (
        "node 1: its snapshot ends at 12 in epoch 1, but the last record below that is of epoch 2"
    )


def test_nothing_is_said_of_a_disk_that_a_fault_damaged() -> None:
    lied = {**fault(0, "power-off", 1, 5), **harm_of("power-off", disks="lying")}
    log = beginning(1, 10, 14)
    assert begun(log, records=[], faults=[fault(0, "power-off", 1, 5)])[0] is Verdict.INVALID
    assert begun(log, records=[], faults=[lied])[0] is Verdict.VALID
