"""The sealed tables of a run: what is recorded, and only what a check or page reads.

Times are int64 ns since the run's start on the runner's monotonic clock. `index` is the order in
which the runner recorded things, one dense counter for invocations and completions alike: it, not
a clock, is the order of real time in the linearizability check. A run directory:

    run.json                 scenario, seed, target, nodes, versions, clocks (see `sealed_run.py`)
    schedule.json            what the nemesis did and when
    events-*.jsonl.zst       as recorded: ops, faults, probes
    logs/node-N.log          stdout of each node (trace lines and prose)
    disks/node-N/...         its log directory, read after the run
    disks/lost/node-N-K/...  the K-th disk that it lost, as it was when it was wiped
    *.parquet, _manifest.json   sealed; the manifest is renamed into place last
    verdict.json, report.html
"""

import pyarrow as pa

NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"  # a directory id: the zero uuid, for none or any

# One row per operation, invocation and completion paired. An operation that never completed is an
# `info` without complete_index and t1. phase: main | final. What an operation on a log sent or
# polled is in SPANS.
#
# For a register, `value` is what was written or what a read returned. It is null for a delete,
# which is a write of nothing; for a read that found nothing, because no value was ever written or
# the last one was deleted; and for a read that did not succeed. A write that is sent again because
# the fate of the first attempt is not known is an operation of its own, with the same value. A
# request that names several keys is one operation per key, each of a process of its own, all with
# the number of that request in `request`; each key is judged by itself, and the column says which
# were to happen together.
#
# For an operation of `ANSWERED`, `value` is what the answer said; for a poll, the offset that it
# asks for, null if a library chooses that.
#
# `error` says why an operation did not succeed: what happened to its connection, or the code of a
# refusal as "error-40". Four beginnings have a meaning (`error_words`): an answer that cannot be
# read; a request that had to be refused and was (with what is wrong with it, and the code); one
# that had to be refused and was not, which is an `info`; and one for which no answer says either. A
# request that is only validated counts as one that had to be refused: it succeeds, changes nothing,
# and is a `fail` here.
#
# For `VOTER_CHANGES`, which an operator or a client asks for, `key` is a replica: "3:<directory>".
# `DESCRIBE_QUORUM` asks a node for the voters: `value` is the epoch in which it leads, and `voters`
# are replicas; both are null if it does not lead or does not answer. The errors of these operations
# have Kafka's names.
ANSWERED = (
    "read",
    "committed-end",
    "is-committed",
    "look-up",
    "describe-topic",
    "log-start",
    "committed-offset",
    "epoch-end",
    "quorum-epoch",
    "describe-quorum",
)
VOTER_CHANGES = ("add-voter", "remove-voter")
DESCRIBE_QUORUM = "describe-quorum"
OPS = pa.schema(
    [
        ("op_id", pa.int64()),
        ("process", pa.int32()),
        (
            "f",
            pa.string(),
        ),  # read | write | delete; of logs: send | poll | assign | create-topic | ...
        ("key", pa.string()),  # in logs: a partition as "topic-0", or a topic
        ("value", pa.int64()),
        ("outcome", pa.string()),  # ok | fail | info
        ("error", pa.string()),
        ("node", pa.int16()),  # the node it was sent to; -1 if none could be found
        ("phase", pa.string()),
        ("invoke_index", pa.int64()),
        ("complete_index", pa.int64()),
        ("t0", pa.int64()),
        ("t1", pa.int64()),
        ("request", pa.int64()),  # null: the operation was alone in its request
        ("voters", pa.list_(pa.string())),  # of a describe-quorum that succeeded; else null
    ]
)

# One row per run of consecutive records of one partition that one operation sent or polled: offset
# and value rise by one from record to record. The rows of an operation are in its own order: a send
# is a micro-operation, and so are polled rows between sends; a transaction (`txn`) may mix both. A
# value is its producer's process << 32 | a number that the process counts up. The offset of a send
# is null if it was not acknowledged, or its broker gave no offset.
SPANS = pa.schema(
    [
        ("op_id", pa.int64()),
        ("key", pa.string()),
        ("sent", pa.bool_()),  # else polled
        ("offset", pa.int64()),  # of the first
        ("value", pa.int64()),  # of the first; -1: a record with bytes that no client sent
        ("records", pa.int32()),
        ("acks", pa.int8()),  # of what was sent: -1 (all), 0, 1
        ("idempotent", pa.bool_()),  # of what was sent
        ("epoch", pa.int32()),  # leader epoch of the batch that was polled
        ("high_watermark", pa.int64()),  # in the answer that brought what was polled
    ]
)

# What a fault may do when it bites, whatever its kind is called: true or false, never null. Written
# by the nemesis from its own description of the fault; `checkers.evidence.faults` says what each of
# them means.
HARM = (
    "ends_process",
    "unclean",
    "may_lose",
    "damages_bytes",
    "wipes",
    "halts",
    "cuts",
    "degrades",
    "shifts_clock",
    "syncs",
)

# One row per fault. bit: evidence that it had its effect; null = never asked (the run broke off).
FAULTS = pa.schema(
    [
        ("fault_id", pa.int32()),
        ("kind", pa.string()),  # its name, for people
        ("nodes", pa.list_(pa.int16())),
        ("links", pa.list_(pa.string())),  # "1->2", for partitions
        ("params", pa.string()),  # JSON
        ("t_start", pa.int64()),  # injection began
        ("t_bit", pa.int64()),  # injection done
        ("t_heal", pa.int64()),  # cure began
        ("t_healed", pa.int64()),  # cure done
        ("bit", pa.bool_()),
        ("evidence", pa.string()),  # one sentence
        ("facts", pa.string()),  # JSON: measured numbers
        *((name, pa.bool_()) for name in HARM),
    ]
)

# One row per trace line. Fields of `traces.TRACE_FIELDS`, renamed where two events share a column.
NODE_EVENTS = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        ("incarnation", pa.string()),
        ("seq", pa.int64()),
        ("t", pa.int64()),
        ("event", pa.string()),
        ("state", pa.string()),  # q.state state; role of q.append, q.truncate, q.hwm
        ("epoch", pa.int32()),
        ("leader", pa.int32()),
        ("voted", pa.int32()),
        ("voted_directory", pa.string()),
        ("log_end", pa.int64()),  # also the end of a changed log or snapshot
        ("log_epoch", pa.int32()),
        ("base", pa.int64()),
        ("last", pa.int64()),
        ("crc", pa.int64()),
        ("hwm", pa.int64()),
        ("replica", pa.int32()),  # q.fetch; candidate of q.vote
        ("replica_directory", pa.string()),
        ("offset", pa.int64()),  # q.fetch, c.active, c.image, c.record
        ("outcome", pa.string()),  # q.fetch; granted | refused of q.vote
        ("detail", pa.string()),  # JSON of what has no column (voters, version, reason ...)
    ]
)

# One row per line that a node of Apache Kafka logged as an error, and per process that started.
LOG_ERRORS = pa.schema(
    [
        ("node", pa.int16()),
        ("t", pa.int64()),  # by the node's wall clock
        ("level", pa.string()),  # ERROR | FATAL; INFO for the start of a process
        ("text", pa.string()),
        ("cause", pa.string()),  # the first line of the exception below it, or null
    ]
)

_BATCH = (
    ("base_offset", pa.int64()),
    ("last_offset", pa.int64()),
    ("epoch", pa.int32()),
    ("crc", pa.int64()),
    ("crc_ok", pa.bool_()),
    ("control", pa.bool_()),
    ("records", pa.int32()),
    ("size", pa.int32()),
    ("segment", pa.string()),
    ("position", pa.int64()),
)

# One row per record batch found on a node's disk after the run, in log order.
LOG_BATCHES = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        *_BATCH,
        ("timestamp", pa.int64()),  # the latest of its records: ms since 1970 by its leader's clock
    ]
)

# One row per record in those batches. For a ConfigRecord: resource_type, resource, name, and value
# without trailing blanks. A log without its head begins with the records of the snapshot that
# replaces it, from SnapshotHeader to SnapshotFooter, at the last offset that the snapshot covers;
# records of the log up to there may follow.
LOG_RECORDS = pa.schema(
    [
        ("node", pa.int16()),
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("type", pa.string()),  # LeaderChange, Config, FeatureLevel, NoOp, ... or unknown-<number>
        ("resource_type", pa.int16()),
        ("resource", pa.string()),
        ("name", pa.string()),
        ("value", pa.string()),
        ("leader", pa.int32()),  # of a LeaderChange
        ("detail", pa.string()),  # JSON: the fields of a record about brokers, partitions or voters
    ]
)

# One row per record in a snapshot of the metadata log, in order, for every snapshot on a node's
# disk; `end` and `epoch` are those of the snapshot's name. A damaged snapshot is read up to the
# damage, and then lacks its SnapshotFooter.
SNAPSHOT_RECORDS = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        ("end", pa.int64()),  # the offset behind the last record that it covers
        ("epoch", pa.int32()),  # of that record
        *((name, LOG_RECORDS.field(name).type) for name in LOG_RECORDS.names[3:]),
    ]
)

# As LOG_BATCHES, for the logs of partitions.
REPLICA_BATCHES = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        ("key", pa.string()),
        *_BATCH,
        ("producer_id", pa.int64()),  # -1: none
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
    ]
)

# The values in those batches, in runs as in SPANS.
REPLICA_SPANS = pa.schema(
    [
        ("node", pa.int16()),
        ("key", pa.string()),
        ("offset", pa.int64()),
        ("value", pa.int64()),
        ("records", pa.int32()),
        ("epoch", pa.int32()),
    ]
)

# One row per replica of a partition, as its disk has it.
REPLICAS = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        ("key", pa.string()),
        ("topic_id", pa.string()),
        ("log_start", pa.int64()),
        ("log_end", pa.int64()),
        ("high_watermark", pa.int64()),  # of the checkpoint; null if it names none
        ("epochs", pa.string()),  # JSON: [[epoch, start offset], ...] of the checkpoint
        ("whole", pa.bool_()),  # all of it was read: what is not in the table is not on the disk
        ("problem", pa.string()),  # what could not be read, or contradicts itself
    ]
)

# One row per partition or quorum in an answer to a probe of the harness (DescribeTopicPartitions,
# DescribeQuorum), or to an operator who changes voters: what one node said, at some moment between
# t0 and t1.
PROBES = pa.schema(
    [
        ("t0", pa.int64()),
        ("t1", pa.int64()),
        ("node", pa.int16()),  # the node that was asked
        ("kind", pa.string()),  # partition | quorum
        ("key", pa.string()),
        ("leader", pa.int32()),
        ("epoch", pa.int32()),
        ("high_watermark", pa.int64()),  # of a quorum
        ("isr", pa.list_(pa.int16())),
        ("elr", pa.list_(pa.int16())),
        ("last_known_elr", pa.list_(pa.int16())),
        # JSON, for a quorum: its `voters`, each as "3:<directory>", and the `ends` of their logs by
        # these names, as far as the leader knows them.
        ("detail", pa.string()),
    ]
)

# One row per answer that cannot be read, or that was not asked for, to any request: of a client, of
# one that looks for a leader, or of the harness itself. The operation that it was to answer has an
# error that begins with `error_words.MALFORMED`: the outcome of a read is `fail`, of what may have
# happened `info`, unless it was sent again and answered.
MALFORMED = pa.schema(
    [
        ("t", pa.int64()),
        ("node", pa.int16()),  # the node that sent it
        ("api", pa.string()),  # of the last request on the connection, as in `workloads.wire`
        ("problem", pa.string()),
        ("head", pa.string()),  # hexadecimal: its first bytes
    ]
)

# One row per node: its election state and identity as read from the disk.
DISKS = pa.schema(
    [
        ("node", pa.int16()),
        ("directory", pa.string()),
        ("cluster_id", pa.string()),
        ("epoch", pa.int32()),
        ("leader", pa.int32()),
        ("voted", pa.int32()),
        ("voted_directory", pa.string()),
        ("log_end", pa.int64()),
        (
            "clean_shutdown",
            pa.int64(),
        ),  # the broker epoch of a clean shutdown; null if there was none
        ("problem", pa.string()),  # what could not be read, and where; null if all was read
    ]
)

# The same for disks that were wiped while the run went on: rows in the order in which a node lost
# them. No node has them any more. A disk is known by its node and directory.
LOST_BATCHES = LOG_BATCHES
LOST_RECORDS = LOG_RECORDS.insert(1, pa.field("directory", pa.string()))
LOST_DISKS = DISKS

TABLES: dict[str, pa.Schema] = {
    "ops": OPS,
    "spans": SPANS,
    "faults": FAULTS,
    "node_events": NODE_EVENTS,
    "log_errors": LOG_ERRORS,
    "log_batches": LOG_BATCHES,
    "log_records": LOG_RECORDS,
    "snapshot_records": SNAPSHOT_RECORDS,
    "disks": DISKS,
    "lost_batches": LOST_BATCHES,
    "lost_records": LOST_RECORDS,
    "lost_disks": LOST_DISKS,
    "replica_batches": REPLICA_BATCHES,
    "replica_spans": REPLICA_SPANS,
    "replicas": REPLICAS,
    "probes": PROBES,
    "malformed": MALFORMED,
}
