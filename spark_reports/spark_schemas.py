"""The columns that the stages read of the sealed tables, as in `checkers.history.tables`."""

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

# One row a run: what the stages need of its `run.json`, and the voters at the end. `scenario` has
# its side. `traced`: every node writes traces. Where a majority of the voters' disks is lost,
# `each_needed_ns` is the time since when each remaining voter had to have what was acknowledged
# (`checkers.evidence.voters_left`).
RUNS = _struct(
    run_id=_TEXT,
    scenario=_TEXT,
    version=_TEXT,
    traced=_BOOLEAN,
    voters=ArrayType(_struct(node=_INT, directory=_TEXT)),
    each_needed_ns=_LONG,
)
