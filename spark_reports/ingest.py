"""Sealed runs as DataFrames with a run id."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import VOTER_RECORDS, ReplicaKey, planned_voters
from checkers.history.store import read_run
from spark_reports.sealed_archive import SealedRun

# The columns that the stages read of the sealed tables, as in `checkers.history.tables`.


_LONG, _INT, _SHORT = LongType(), IntegerType(), ShortType()
_TEXT = StringType()
_BOOLEAN = BooleanType()


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


OPS = _struct(
    op_id=_LONG,
    f=_TEXT,
    key=_TEXT,
    value=_LONG,
    outcome=_TEXT,
    phase=_TEXT,
    t0=_LONG,
    t1=_LONG,
    complete_index=_LONG,
    request=_LONG,
)

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
    hwm=_LONG,
)

LOG_BATCHES = _struct(node=_SHORT, base_offset=_LONG)

LOG_RECORDS = _struct(
    node=_SHORT,
    offset=_LONG,
    epoch=_INT,
    type=_TEXT,
    resource_type=_SHORT,
    resource=_TEXT,
    value=_TEXT,
)

DISKS = _struct(node=_SHORT, directory=_TEXT, problem=_TEXT)

# The same for lost disks; the directory identifies the disk of its node.
LOST_BATCHES = _struct(node=_SHORT, directory=_TEXT, base_offset=_LONG)
LOST_RECORDS = StructType([*LOG_RECORDS.fields, StructField("directory", _TEXT)])

# The columns that reports read; the others are for the checks of one run.
SCHEMAS: dict[str, StructType] = {
    "ops": OPS,
    "faults": FAULTS,
    "node_events": NODE_EVENTS,
    "log_batches": LOG_BATCHES,
    "log_records": LOG_RECORDS,
    "disks": DISKS,
    "lost_batches": LOST_BATCHES,
    "lost_records": LOST_RECORDS,
    "lost_disks": DISKS,
}

# One row a run: the parts of its `run.json` that the stages need, and the voters at the end.
# `scenario` has its side. `traced`: every node writes traces. If a majority of the voters' disks is
# lost, `each_needed_ns` is the time since when each remaining voter had to have acknowledged
# records (`checkers.evidence.voters_left`).
RUNS = _struct(
    run_id=_TEXT,
    scenario=_TEXT,
    version=_TEXT,
    traced=_BOOLEAN,
    voters=ArrayType(_struct(node=_INT, directory=_TEXT)),
    each_needed_ns=_LONG,
)


_GLOB_CHARACTERS = re.compile(r"([\\\[\]{}*?])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of many runs, each row with its `run_id`; `runs` has one row a run."""

    runs: DataFrame
    ops: DataFrame
    faults: DataFrame
    node_events: DataFrame
    log_batches: DataFrame
    log_records: DataFrame
    disks: DataFrame
    lost_batches: DataFrame
    lost_records: DataFrame
    lost_disks: DataFrame


def read_tables(session: SparkSession, runs: Sequence[SealedRun]) -> Tables:
    """All tables of the runs (at least one), read lazily."""
    tables = {name: _read(session, name, runs) for name in SCHEMAS}
    rows = [_row(run) for run in runs]
    return Tables(runs=F.broadcast(session.createDataFrame(rows, RUNS)), **tables)


def _row(run: SealedRun) -> tuple[object, ...]:
    """The voters at the end, by the run's evidence; only a log that names voters has to be read."""
    names_voters = pc.field("type").isin(list(VOTER_RECORDS))
    log_records = pq.read_table(run.table("log_records"), columns=["type"], filters=names_voters)
    traced = Kind.TRACES in run.info.gives
    head = run.info.run_id, run.scenario, run.version, traced
    if log_records.num_rows == 0:
        return *head, [ReplicaKey(node) for node in planned_voters(run.info)], None
    evidence = Evidence(read_run(run.directory))
    lost = evidence.lost_majority
    needed_ns = None if lost is None else lost.each_needed_ns
    return *head, sorted(evidence.voters.newest.keys), needed_ns


def _read(session: SparkSession, name: str, runs: Sequence[SealedRun]) -> DataFrame:
    """One table of all runs. Spark takes a path for a glob, so its characters are escaped."""
    run_ids = {str(run.table(name)): run.info.run_id for run in runs}
    paths = [_GLOB_CHARACTERS.sub(r"\\\1", path) for path in run_ids]
    frame = session.read.schema(SCHEMAS[name]).parquet(*paths)
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
