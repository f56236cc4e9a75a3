"""Every written value of every run, classified in SQL in one pass (after Jepsen's set-full).

The second opinion on `spark_reports.fate_counts` of registers, by the rule of the check
`durability`: a write is *there* if a majority of the voters' disks has its record at one offset,
and *possible* as long as the disks that were not read whole could complete a majority. Voters are
those of the run's newest set, each a node with its disk: only the check knows sets that change
during the run, and the contents of snapshots before a log's start.

A voter with a lost disk counts with the contents of that disk. What is there, but on no remaining
disk, is *gone*; unless each remaining voter had to have it (*needed*).

    ok     there -> survived       possible -> undecided           else lost
           there, needed, and a remaining voter lacks it -> lost
           there, and no remaining disk has it -> gone; undecided if some could not be read
    info   there -> recovered      possible -> open                else not happened
    fail   there -> unexpected                                     else refused
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its customary name

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.voter_history import VOTER_RECORDS, ReplicaKey, planned_voters
from checkers.history.store import read_run
from checkers.history.tables import NO_DIRECTORY
from checkers.registers.survival import Fate
from spark_reports.ingest import read_table
from spark_reports.phases import with_phase
from spark_reports.sealed_archive import SealedRun

_SCHEMAS = {
    "ops": "op_id long, f string, key string, value long, outcome string, t0 long, t1 long, "
    "complete_index long",
    "faults": "t_start long, t_healed long",
    "node_events": "event string, hwm long",
    "log_batches": "node short, base_offset long",
    "log_records": "node short, offset long, epoch int, type string, resource_type short, "
    "resource string, value string",
    "disks": "node short, directory string, problem string",
    "lost_batches": "node short, directory string, base_offset long",
    "lost_records": "node short, directory string, offset long, epoch int, type string, "
    "resource_type short, resource string, value string",
    "lost_disks": "node short, directory string, problem string",
}
_RUNS = (
    "run_id string, scenario string, traced boolean, "
    "voters array<struct<node: int, directory: string>>, each_needed_ns long"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTables:
    """The tables of many runs, each row with its `run_id`; `runs` has one row a run.

    `runs.traced`: every node writes traces; `voters`: those at the end. If a majority of the
    voters' disks is lost, `each_needed_ns` is the time since when each remaining voter had to have
    acknowledged records (`checkers.evidence.voter_history`).
    """

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


def read_register_tables(session: SparkSession, runs: Sequence[SealedRun]) -> RegisterTables:
    tables = {name: read_table(session, name, columns, runs) for name, columns in _SCHEMAS.items()}
    rows = [_row(run) for run in runs]
    return RegisterTables(runs=F.broadcast(session.createDataFrame(rows, _RUNS)), **tables)


def _row(run: SealedRun) -> tuple[object, ...]:
    evidence = Evidence(read_run(run.directory))
    head = run.key, run.scenario, Kind.TRACES in run.info.gives
    if set(VOTER_RECORDS).isdisjoint(evidence.tables["log_records"]["type"].to_pylist()):
        return *head, [ReplicaKey(node) for node in planned_voters(run.info)], None
    lost = evidence.lost_majority
    needed_ns = None if lost is None else lost.each_needed_ns
    return *head, sorted(evidence.voters.newest.keys), needed_ns


_VALUE = ["run_id", "key", "value"]
_DISK = ["run_id", "node", "lost"]
_CLIENT_METRICS = 16  # the resource type of registers


def fates(tables: RegisterTables) -> DataFrame:
    """One row a written value: run_id, scenario, key, value, outcome, fault_phase, t0, fate."""
    known = (
        attempted(tables.ops, tables.faults)
        .join(copies(tables), on=_VALUE, how="left")
        .join(F.broadcast(quorums(tables)), on="run_id", how="inner")
        .withColumn("fate", _fate())
    )
    return known.select(
        "run_id", "scenario", "key", "value", "outcome", "fault_phase", "t0", "fate"
    )


def attempted(ops: DataFrame, faults: DataFrame) -> DataFrame:
    """One row for each written value, with its best outcome (a value is written once)."""
    writes = ops.where((F.col("f") == "write") & F.col("value").isNotNull())
    rank = F.when(F.col("outcome") == "ok", 0).when(F.col("outcome") == "info", 1).otherwise(2)
    first = F.struct(rank, "t0", "op_id")
    best = ("outcome", "fault_phase", "t0", "complete_index")
    return (
        with_phase(writes, faults)
        .groupBy(*_VALUE)
        .agg(*(F.min_by(name, first).alias(name) for name in best))
    )


def disks(tables: RegisterTables) -> DataFrame:
    """One row a disk: run_id, node, lost, directory, `whole` (read from offset 0 on) and `votes`.
    Lost disks only if they were read whole, and are known by their directories.
    """
    begins = (
        _of_disks(tables.log_batches, tables.lost_batches, "base_offset")
        .groupBy(*_DISK)
        .agg(F.min("base_offset").alias("begin"))
    )
    read = _of_disks(tables.disks, tables.lost_disks, "directory", "problem")
    whole = F.col("problem").isNull() & (F.coalesce("begin", F.lit(0)) == 0)
    usable = ~_is_lost() | (F.col("whole") & (F.col("lost") != NO_DIRECTORY))
    return (
        read.join(begins, on=_DISK, how="left")
        .withColumn("whole", whole)
        .where(usable)
        .join(tables.runs.select("run_id", "voters"), on="run_id", how="inner")
        .select(*_DISK, "directory", "whole", _votes().alias("votes"))
    )


def copies(tables: RegisterTables) -> DataFrame:
    """One row for each stored value: `copies`, the most voters that have it at one offset and
    epoch; of these those with a remaining disk (`kept`), and those that were read whole (`held`).

    Where every node traces, only values below the highest traced high watermark.
    """
    told = tables.node_events.where(F.col("event") == "q.hwm").join(
        tables.runs.where("traced"), on="run_id", how="left_semi"
    )
    highest = told.groupBy("run_id").agg(F.max("hwm").alias("highest"))
    stored = (
        _registers(tables)
        .join(F.broadcast(highest), on="run_id", how="left")
        .join(tables.runs.select("run_id", "voters"), on="run_id", how="inner")
        .join(disks(tables).drop("votes"), on=_DISK, how="left")
        .where(~_is_lost() | F.col("whole"))
    )
    committed = F.col("highest").isNull() | (F.col("offset") < F.col("highest"))
    left = ~_is_lost()
    return (
        stored.where(committed & _votes() & F.col("value").isNotNull())
        .groupBy(*_VALUE, "offset", "epoch")
        .agg(
            F.count_distinct("node", "lost").alias("copies"),
            F.count_distinct(F.when(left, F.col("node"))).alias("kept"),
            F.count_distinct(F.when(left & F.col("whole"), F.col("node"))).alias("held"),
        )
        .groupBy(*_VALUE)
        .agg(F.max(F.struct("copies", "kept", "held")).alias("most"))
        .select(*_VALUE, "most.*")
    )


def quorums(tables: RegisterTables) -> DataFrame:
    """One row a run: its voters (`of`), the number of their disks that were read whole (`complete`)
    and that are `left`, and up to which event each of these must have what was acknowledged
    (`needed`)."""
    whole = disks(tables).where(F.col("votes") & F.col("whole"))
    read = whole.groupBy("run_id").agg(
        F.count("*").alias("complete"), F.count(F.when(~_is_lost(), 1)).alias("left")
    )
    runs = tables.runs.select("run_id", "scenario", "each_needed_ns", F.size("voters").alias("of"))
    done = tables.ops.where((F.col("f") == "write") & (F.col("outcome") == "ok"))
    needed = (
        done.join(runs, on="run_id", how="inner")
        .where(F.col("t0") > F.col("each_needed_ns"))
        .groupBy("run_id")
        .agg(F.max("complete_index").alias("needed"))
    )
    return runs.join(read, on="run_id", how="left").join(needed, on="run_id", how="left")


def _of_disks(current: DataFrame, lost: DataFrame, *columns: str) -> DataFrame:
    """Rows of collected and of lost disks: `lost` is the directory id of a lost one, "" for the one
    that its node has."""
    return current.select("run_id", "node", F.lit("").alias("lost"), *columns).unionByName(
        lost.select("run_id", "node", F.col("directory").alias("lost"), *columns)
    )


def _registers(tables: RegisterTables) -> DataFrame:
    """One row for each value of a register on a disk."""
    columns = ("type", "resource_type", "resource", "value", "offset", "epoch")
    stored = _of_disks(tables.log_records, tables.lost_records, *columns)
    register = (F.col("type") == "Config") & (F.col("resource_type") == _CLIENT_METRICS)
    value = F.expr("try_cast(value AS BIGINT)").alias("value")
    key = F.col("resource").alias("key")
    return stored.where(register).select(*_DISK, key, value, "offset", "epoch")


def _is_lost() -> Column:
    return F.col("lost") != ""


def _votes() -> Column:
    """Whether a node with this disk is one of the voters, also where the voter's disk is unknown;
    but not for a lost disk."""

    def is_meant(voter: Column) -> Column:
        directory = F.coalesce("directory", F.lit(NO_DIRECTORY))
        unknown = (directory == NO_DIRECTORY) | (voter.directory == NO_DIRECTORY)
        same = (voter.directory == directory) | (~_is_lost() & unknown)
        return (voter.node == F.col("node")) & same

    return F.exists("voters", is_meant)


def _fate() -> Column:
    having, kept, held, complete, left = (
        F.coalesce(name, F.lit(0)) for name in ("copies", "kept", "held", "complete", "left")
    )
    majority = F.floor(F.col("of") / 2) + 1
    there = having >= majority
    possible = having + F.col("of") - complete >= majority
    needed = F.col("complete_index") <= F.coalesce("needed", F.lit(-1))
    ok, info, fail = (F.col("outcome") == word for word in ("ok", "info", "fail"))
    return (
        F.when(ok & there & needed & (left > held), F.lit(Fate.LOST.value))
        .when(ok & there & (kept > 0), F.lit(Fate.SURVIVED.value))
        .when(ok & there & (complete < F.col("of")), F.lit(Fate.UNDECIDED.value))
        .when(ok & there, F.lit(Fate.GONE.value))
        .when(ok & possible, F.lit(Fate.UNDECIDED.value))
        .when(ok, F.lit(Fate.LOST.value))
        .when(info & there, F.lit(Fate.RECOVERED.value))
        .when(info & possible, F.lit(Fate.OPEN.value))
        .when(info, F.lit(Fate.NOT_HAPPENED.value))
        .when(fail & there, F.lit(Fate.UNEXPECTED.value))
        .when(fail, F.lit(Fate.REFUSED.value))
    )
