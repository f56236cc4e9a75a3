"""Sealed runs as DataFrames with a run id."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from spark_reports.sealed_archive import SealedRun

# The columns that the stages read of the sealed tables, as in `checkers.history.tables`.


_LONG, _INT, _SHORT = LongType(), IntegerType(), ShortType()
_TEXT = StringType()


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


OPS = _struct(op_id=_LONG, outcome=_TEXT, phase=_TEXT, t0=_LONG, t1=_LONG)

FAULTS = _struct(
    fault_id=_INT,
    kind=_TEXT,
    nodes=ArrayType(_SHORT),
    t_start=_LONG,
    t_bit=_LONG,
    t_healed=_LONG,
)

NODE_EVENTS = _struct(
    node=_SHORT,
    t=_LONG,
    event=_TEXT,
    state=_TEXT,
    epoch=_INT,
)

# The columns that reports read; the others are for the checks of one run.
SCHEMAS: dict[str, StructType] = {
    "ops": OPS,
    "faults": FAULTS,
    "node_events": NODE_EVENTS,
}

# One row a run; `scenario` has its side.
RUNS = _struct(run_id=_TEXT, scenario=_TEXT, version=_TEXT)


_GLOB_CHARACTERS = re.compile(r"([\\\[\]{}*?])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of many runs, each row with its `run_id`, which is the key of its run; `runs` has
    one row a run."""

    runs: DataFrame
    ops: DataFrame
    faults: DataFrame
    node_events: DataFrame


def read_tables(session: SparkSession, runs: Sequence[SealedRun]) -> Tables:
    """All tables of the runs (at least one), read lazily."""
    tables = {name: read_table(session, name, schema, runs) for name, schema in SCHEMAS.items()}
    rows = [(run.key, run.scenario, run.version) for run in runs]
    return Tables(runs=F.broadcast(session.createDataFrame(rows, RUNS)), **tables)


def read_table(
    session: SparkSession, name: str, schema: StructType | str, runs: Sequence[SealedRun]
) -> DataFrame:
    """One table of all runs. Spark takes a path for a glob, so its characters are escaped."""
    run_ids = {str(run.table(name)): run.key for run in runs}
    paths = [_GLOB_CHARACTERS.sub(r"\\\1", path) for path in run_ids]
    frame = session.read.schema(schema).parquet(*paths)
    known = session.createDataFrame(_files(frame, run_ids), "file string, run_id string")
    here = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/")
    return (
        frame.withColumn("file", here).join(F.broadcast(known), on="file", how="inner").drop("file")
    )


def _files(frame: DataFrame, run_ids: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each file as Spark spells it (percent-encoded) with the run it belongs to."""
    found = []
    for uri in frame.inputFiles():
        encoded = urlsplit(uri).path
        found.append((encoded, run_ids[unquote(encoded)]))
    assert len(found) == len(run_ids)
    return found
