"""Snapshots that Apache Kafka 4.3.1 wrote, against the logs beside them.

The files are small and real; `tests.support.kafka_disks` says how they came about.
"""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from checkers.check import Check
from checkers.disk import read_disks
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run
from checkers.history.tables import SNAPSHOT_RECORDS, TABLES
from checkers.quorum.stored_snapshots import (
    snapshots_agree,
    snapshots_are_committed,
    snapshots_equal_the_log,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import Row, run_info
from tests.support.kafka_disks import unpack

Tables = dict[str, pa.Table]
# Of these records nothing is compared, or the voters are not known without them.
LEFT_OUT = {"SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters", "RegisterController"}


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    directory = tmp_path_factory.mktemp("disks")
    unpack("4.3.1", directory)
    return read_disks(directory)


def judged(check: Check, disks: Tables, rows: list[Row] | None = None) -> CheckResult:
    tables = {name: schema.empty_table() for name, schema in TABLES.items()} | disks
    if rows is not None:
        tables["snapshot_records"] = pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS)
    info = run_info(target="kafka 4.3.1")
    return check.judges(Evidence(Run(directory=Path(), info=info, tables=tables, truncated=())))


@pytest.mark.parametrize(
    ("check", "looked_at"),
    [(snapshots_equal_the_log, 9), (snapshots_are_committed, 9), (snapshots_agree, 1)],
)
def test_they_are_as_they_should_be(disks: Tables, check: Check, looked_at: int) -> None:
    result = judged(check, disks)
    assert (result.verdict, result.looked_at) == (Verdict.VALID, looked_at)


def test_one_that_lacks_any_record_is_accused(disks: Tables) -> None:
    rows = disks["snapshot_records"].to_pylist()
    kinds: Counter[str] = Counter()
    for at, row in enumerate(rows):
        if row["end"] == 0 or row["type"] in LEFT_OUT:
            continue
        result = judged(snapshots_equal_the_log, disks, rows[:at] + rows[at + 1 :])
        assert result.verdict is Verdict.INVALID, row
        kinds[row["type"]] += 1
    told = {"RegisterBroker", "Topic", "Partition", "FeatureLevel", "ProducerIds", "Config"}
    assert told <= kinds.keys()


@pytest.mark.parametrize("by", [-20, 5])
def test_one_that_is_named_by_another_offset_is_accused(disks: Tables, by: int) -> None:
    """So far that there is more between the two than what no image shows."""
    rows = disks["snapshot_records"].to_pylist()
    moved = [{**row, "end": row["end"] + by * (row["end"] > 0)} for row in rows]
    assert judged(snapshots_equal_the_log, disks, moved).verdict is Verdict.INVALID


def test_one_that_ends_behind_all_logs_is_not_committed(disks: Tables) -> None:
    rows = disks["snapshot_records"].to_pylist()
    newest = max(row["end"] for row in rows)
    moved = [{**row, "end": row["end"] + 1000 * (row["end"] == newest)} for row in rows]
    result = judged(snapshots_are_committed, disks, moved)
    assert result.verdict is Verdict.INVALID
    assert f"ends at {newest + 1000}" in result.message


@pytest.mark.parametrize("cut", [1, 200])
def test_one_that_was_not_written_to_its_end_is_not_judged(tmp_path: Path, cut: int) -> None:
    unpack("4.3.1", tmp_path)
    torn = next(tmp_path.rglob("*00156-0000000003.checkpoint"))
    torn.write_bytes(torn.read_bytes()[:-cut])
    disks = read_disks(tmp_path)
    (problem,) = disks["disks"]["problem"].drop_null().to_pylist()
    assert "does not end with its footer" in problem
    result = judged(snapshots_equal_the_log, disks)
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 8)


def test_one_with_rot_in_it_is_not_judged(tmp_path: Path) -> None:
    unpack("4.3.1", tmp_path)
    rotten = next(tmp_path.rglob("*00156-0000000003.checkpoint"))
    data = bytearray(rotten.read_bytes())
    data[len(data) // 2] ^= 1
    rotten.write_bytes(bytes(data))
    result = judged(snapshots_equal_the_log, read_disks(tmp_path))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 8)
