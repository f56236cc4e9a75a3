"""A campaign's seeds spread over a Spark cluster: one verdict row a seed, as Parquet.

The caller provides a function from the seed to the row's JSON, which has to be picklable and
importable on executors. This module maps it and stores the rows.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from spark_reports.session import SessionSettings, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "rows"

# As the harness's `chaos.campaign.row.SeedRow.as_json`; a test holds the two equal.
SCHEMA = """
    seed BIGINT, verdict STRING, check STRING, anomaly STRING, role STRING, sentence STRING,
    virtual_s DOUBLE, real_s DOUBLE, operations BIGINT, faults BIGINT,
    struck MAP<STRING, BIGINT>, command STRING, directory STRING, unlike STRING,
    looked_at MAP<STRING, BIGINT>
"""
_SEEDS_A_TASK = 4  # runs differ in length: small tasks keep all executors busy to the end
_MOST_TASKS = 10_000


def spread(
    function: Callable[[int], str], seeds: range, out: Path, master: str | None = None
) -> Iterator[str]:
    """Run `function` for every seed, write `out`/rows, and give the rows in order of their seeds.

    Raises JavaNotFoundError where Spark cannot start.
    """
    with open_session(SessionSettings(master=master or "local[*]")) as session:
        verdict_rows(session, function, seeds).write.mode("overwrite").parquet(str(out / ROWS))
        kept = session.read.parquet(str(out / ROWS)).orderBy("seed")
        for row in kept.toLocalIterator():
            yield json.dumps(row.asDict(recursive=True))


def verdict_rows(
    session: "SparkSession", function: Callable[[int], str], seeds: range
) -> "DataFrame":
    """A typed row for each seed; a seed is run when its row is read."""
    from pyspark.sql import functions as f

    busy = session.sparkContext.defaultParallelism
    tasks = min(len(seeds), max(busy, len(seeds) // _SEEDS_A_TASK), _MOST_TASKS)
    frame = session.range(seeds.start, seeds.stop, 1, tasks)
    lines = frame.mapInArrow(_mapped(function), "line STRING")
    return lines.select(f.from_json("line", SCHEMA).alias("row")).select("row.*")


def _mapped(
    function: Callable[[int], str],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for seed in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"line": [function(seed)]})

    return run
