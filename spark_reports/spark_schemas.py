"""The sealed tables as Spark sees them, beside `checkers.history.tables` (a test compares)."""

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
_TEXT, _FLAG = StringType(), BooleanType()


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


OPS = _struct(
    op_id=_LONG,
    process=_INT,
    f=_TEXT,
    key=_TEXT,
    value=_LONG,
    outcome=_TEXT,
    error=_TEXT,
    node=_SHORT,
    phase=_TEXT,
    invoke_index=_LONG,
    complete_index=_LONG,
    t0=_LONG,
    t1=_LONG,
    request=_LONG,
)

FAULTS = _struct(
    fault_id=_INT,
    kind=_TEXT,
    targets=ArrayType(_SHORT),
    links=ArrayType(_TEXT),
    params=_TEXT,
    t_start=_LONG,
    t_bit=_LONG,
    t_heal=_LONG,
    t_healed=_LONG,
    bit=_FLAG,
    evidence=_TEXT,
    facts=_TEXT,
)

NODE_EVENTS = _struct(
    node=_SHORT,
    directory=_TEXT,
    incarnation=_TEXT,
    seq=_LONG,
    t=_LONG,
    event=_TEXT,
    state=_TEXT,
    epoch=_INT,
    leader=_INT,
    voted=_INT,
    voted_directory=_TEXT,
    log_end=_LONG,
    log_epoch=_INT,
    base=_LONG,
    last=_LONG,
    crc=_LONG,
    hwm=_LONG,
    replica=_INT,
    replica_directory=_TEXT,
    offset=_LONG,
    outcome=_TEXT,
    detail=_TEXT,
)

LOG_RECORDS = _struct(
    node=_SHORT,
    offset=_LONG,
    epoch=_INT,
    type=_TEXT,
    resource_type=_SHORT,
    resource=_TEXT,
    name=_TEXT,
    value=_TEXT,
    leader=_INT,
    detail=_TEXT,
)

DISKS = _struct(
    node=_SHORT,
    directory=_TEXT,
    cluster_id=_TEXT,
    epoch=_INT,
    leader=_INT,
    voted=_INT,
    voted_directory=_TEXT,
    log_end=_LONG,
    clean_shutdown=_LONG,
    problem=_TEXT,
)

LOG_BATCHES = _struct(
    node=_SHORT,
    directory=_TEXT,
    base_offset=_LONG,
    last_offset=_LONG,
    epoch=_INT,
    crc=_LONG,
    crc_ok=_FLAG,
    control=_FLAG,
    records=_INT,
    size=_INT,
    segment=_TEXT,
    position=_LONG,
)

# What the reports read; the others are for the checks of one run.
SCHEMAS: dict[str, StructType] = {
    "ops": OPS,
    "faults": FAULTS,
    "node_events": NODE_EVENTS,
    "log_batches": LOG_BATCHES,
    "log_records": LOG_RECORDS,
    "disks": DISKS,
}

# One row a run: what the stages need of its `run.json`. `scenario` is with its side.
RUNS = _struct(run_id=_TEXT, scenario=_TEXT, version=_TEXT, voters=ArrayType(_INT))
