"""Snapshots name the levels of features, by hand."""

import pyarrow as pa
import pytest

from checkers.history.sealed_run import Run
from checkers.history.tables import LOG_RECORDS, SNAPSHOT_RECORDS
from checkers.quorum.stored_snapshots import snapshots_name_features
from checkers.verdict import Verdict
from tests.support.histories import Row, make_run
from tests.support.judged import saw_nothing

MV, ELR = "metadata.version", "eligible.leader.replicas.version"


def snapshot(end: int, *features: str, node: int = 1) -> list[Row]:
    head: Row = {"node": node, "directory": f"dir-{node}", "end": end, "epoch": 1}
    levels = [{"type": "FeatureLevel", "name": name, "value": "1"} for name in features]
    kinds = [{"type": "SnapshotHeader"}, *levels, {"type": "SnapshotFooter"}]
    return [head | kind for kind in kinds]


def run(*snapshots: list[Row], levels: dict[int, tuple[str, str]] | None = None) -> Run:
    made = make_run()
    rows = [row for each in snapshots for row in each]
    log = [
        {"node": 1, "offset": at, "epoch": 1, "type": "FeatureLevel", "name": name, "value": level}
        for at, (name, level) in (levels or {}).items()
    ]
    tables = {
        **made.tables,
        "snapshot_records": pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS),
        "log_records": pa.Table.from_pylist(log, schema=LOG_RECORDS),
    }
    return Run(directory=made.directory, info=made.info, tables=tables)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (run(snapshot(9, MV)), ""),
        (run(snapshot(9)), "ends at 9 has no level of metadata.version"),
        (run(snapshot(0), snapshot(9, MV)), ""),  # what a disk was formatted with
        (
            run(snapshot(9, MV, ELR), snapshot(12, MV, node=2)),
            f"ends at 12 has no level of {ELR}",
        ),
        (run(snapshot(9, MV), snapshot(12, MV, ELR, node=2)), ""),
        (run(snapshot(9, MV), levels={5: (ELR, "1")}), f"no level of {ELR}"),
        (run(snapshot(9, MV), levels={9: (ELR, "1")}), ""),
        (run(snapshot(9, MV), levels={5: (ELR, "1"), 7: (ELR, "0")}), ""),
        (run(snapshot(3), levels={5: (MV, "30")}), ""),  # before there was any
    ],
)
def test_levels_that_were_known(found: Run, said: str) -> None:
    result = snapshots_name_features(found)
    assert (result.verdict is Verdict.INVALID) == bool(said), result.message
    assert said in result.message


def test_without_snapshots_there_is_nothing_to_judge() -> None:
    assert saw_nothing(snapshots_name_features(run()))
