"""The only place that builds a Spark session, and a campaign's seeds spread over a Spark
cluster."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from spark_reports.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_LOGGING = """
rootLogger.level = error
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The size of a session. The defaults suit a laptop and some hundred runs.

    `shuffle_partitions`: 2 for tests, 8 for 1e7 events, 32 for 1e8. `java_options` apply only to
    the first session of a process: the JVM stays.
    """

    master: str = "local[*]"
    driver_memory: str = "2g"
    shuffle_partitions: int = 8
    java_options: str = ""


@contextmanager
def open_session(settings: SessionSettings) -> "Iterator[SparkSession]":
    """A session that is stopped at the end; its files are in a directory removed with it.

    An open session (a notebook) is used, and left open.
    Raises JavaNotFoundError.
    """
    from pyspark.sql import SparkSession

    opened = SparkSession.getActiveSession()
    if opened is not None:
        yield opened
        return
    with tempfile.TemporaryDirectory(prefix="kraft-chaos-spark-") as name:
        scratch = Path(name)
        # Workers are started as `python3` from the PATH unless told otherwise.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["JAVA_HOME"] = str(find_java(scratch))
        builder = SparkSession.builder.master(settings.master).appName("kraft-chaos")
        for key, value in _configuration(settings, scratch).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def _configuration(settings: SessionSettings, scratch: Path) -> dict[str, str]:
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    options = f"-Dlog4j2.configurationFile={logging.as_uri()} {settings.java_options}".strip()
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": options,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.default.parallelism": str(settings.shuffle_partitions),
    }


# A campaign's seeds spread over a Spark cluster: one verdict row a seed, as Parquet.
#
# The caller provides a function from the seed to the row's JSON, which has to be picklable and
# importable on executors. This module maps it and stores the rows.


ROWS = "rows"

# As the harness's `chaos.campaign.job.SeedRow.as_json`; a test holds the two equal.
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
