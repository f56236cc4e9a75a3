"""Runs that must be invalid, however correct our own node is.

`LYING_FSYNC` is a scenario for containers: an unmodified node with a disk that acknowledges every
sync and does none loses its power. `without_an_acknowledged_write` and `without_its_record` remove
an acknowledged write from a valid run: from the clients' records, or from the disks. All counts
still match: otherwise the judge would only report missing evidence.
"""

import random
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from chaos.cluster.interface import DiskTrouble
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import AllVoters
from chaos.scenario import Scenario
from checkers.evidence.missing import rows_to_count
from checkers.history.sealed_run import Run

_CUT = PowerOff(victim=AllVoters(), disks=DiskTrouble.LYING)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    return spread([_CUT], duration_s=duration_s, rng=rng, held_share=0.1)


LYING_FSYNC = Scenario(
    name="lying-fsync",
    summary="disks acknowledge syncs that they never do, and all power fails: must be invalid",
    description=(
        "No node can keep its promises on such disks, and the judge has to find that acknowledged "
        "writes are lost. It tests the harness, not the node."
    ),
    faults=(_CUT,),
    draw=_draw,
    default_duration_s=8.0,
)


class NothingToDropError(Exception):
    """The run has no acknowledged write with a value that was read."""


def without_an_acknowledged_write(run: Run) -> Run:
    """The same run with a read in place of an acknowledged write, the value of which others read as
    well."""
    key, value = _victim(run)
    ops = run.tables["ops"]
    row = pc.index(_writes_of(ops, key, value), True).as_py()
    names = ops["f"].to_pylist()
    names[row] = "read"
    column = ops.schema.get_field_index("f")
    ops = ops.set_column(column, ops.schema.field(column), pa.array(names, ops["f"].type))
    return replace(run, tables={**run.tables, "ops": ops})


def without_its_record(run: Run) -> Run:
    """The same run without the record of an acknowledged write on any disk."""
    key, value = _victim(run)
    records = run.tables["log_records"]
    gone = pc.fill_null(
        pc.and_(pc.equal(records["resource"], key), pc.equal(records["value"], str(value))), False
    )
    tables = {**run.tables, "log_records": records.filter(pc.invert(gone))}
    return replace(run, tables=tables, rows=rows_to_count(tables) if run.rows else run.rows)


def _writes_of(ops: pa.Table, key: str, value: int) -> pa.ChunkedArray:
    """For each operation, whether it writes that value."""
    mine = pc.and_(pc.equal(ops["key"], key), pc.equal(ops["value"], value))
    return pc.fill_null(pc.and_(pc.equal(ops["f"], "write"), mine), False)


def _victim(run: Run) -> tuple[str, int]:
    """Key and value of a write that was sent only once."""
    ops = run.tables["ops"]
    fine = ops.filter(pc.equal(ops["outcome"], "ok"))
    reads = fine.filter(pc.and_(pc.equal(fine["f"], "read"), fine["value"].is_valid()))
    seen = set(zip(reads["key"].to_pylist(), reads["value"].to_pylist(), strict=True))
    asked = ops.filter(pc.equal(ops["f"], "write"))
    times = Counter(zip(asked["key"].to_pylist(), asked["value"].to_pylist(), strict=True))
    writes = fine.filter(pc.equal(fine["f"], "write"))
    for written in zip(writes["key"].to_pylist(), writes["value"].to_pylist(), strict=True):
        if written in seen and times[written] == 1:
            return written
    raise NothingToDropError(f"{run.info.run_id}: no acknowledged write was read")
