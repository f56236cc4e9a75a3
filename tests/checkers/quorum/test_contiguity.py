"""Offsets left out between intact batches are records that are gone."""

from checkers.quorum.contiguity import logs_have_no_holes, partitions_have_no_holes
from checkers.verdict import Verdict
from tests.support.histories import Row, batch, make_run
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
    own = hole.commit(config(2, "t", "cleanup.policy", "delete"))
    result = partitions_have_no_holes(own.run(settings=usual))
    assert result is not None
    assert result.verdict is Verdict.INVALID
    compact = hole.commit(config(2, "t", "cleanup.policy", "compact,delete"))
    result = partitions_have_no_holes(compact.run())
    assert result is not None
    assert result.verdict is Verdict.VALID
    damaged = started().replica(3, "t-0", [(0, 5, 2, 0), (3, 8, 1, 0)])
    damaged.rows["replica_batches"][0]["crc_ok"] = False
    result = partitions_have_no_holes(damaged.run())
    assert result is not None
    assert result.verdict is Verdict.VALID
