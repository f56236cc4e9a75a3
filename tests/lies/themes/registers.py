"""What clients wrote to registers and read from them, and what of it the metadata log holds."""

import random

from tests.lies.alteration import BOTH, NOT_GREEN, UNTRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row, first

CLIENT_METRICS = 16
QUORUMS = ("partition-leader", "kill-leader")


def all_written_once(run: Altered, **equal: str) -> list[Row]:
    """The writes whose value no other write has."""
    values = [(row["key"], row["value"]) for row in run.ops(f="write")]
    writes = run.ops(f="write", **equal)
    return [row for row in writes if values.count((row["key"], row["value"])) == 1]


def written_once(run: Altered, rng: random.Random, **equal: str) -> Row:
    """One of them."""
    found = all_written_once(run, **equal)
    if not found:
        raise NotHere(f"no write of its own value with {equal}")
    return rng.choice(found)


def is_record_of(row: Row, write: Row) -> bool:
    """Whether a record of the metadata log is what a write wrote."""
    return (row["type"], row["resource"], row["value"]) == (
        "Config",
        write["key"],
        str(write["value"]),
    )


@lie("linearizable", of=QUORUMS)
def a_final_read_is_stale(run: Altered, rng: random.Random) -> None:
    """A final read returns an older acknowledged value."""
    reads = [r for r in run.ops(f="read", phase="final", outcome="ok") if r["value"] is not None]
    rng.shuffle(reads)
    for read in reads:
        older = [
            write
            for write in run.ops(f="write", key=read["key"], outcome="ok")
            if write["value"] != read["value"]
        ]
        values = [write["value"] for write in run.ops(f="write", key=read["key"])]
        older = [write for write in older if values.count(write["value"]) == 1]
        if len(older) > 2:
            read["value"] = min(older, key=lambda write: write["complete_index"])["value"]
            return
    raise NotHere("no key with older values")


@lie("linearizable", of=QUORUMS)
def a_read_returns_what_was_refused(run: Altered, rng: random.Random) -> None:
    """A read returns the value of a write that was refused before."""
    write = written_once(run, rng, outcome="fail")
    later = [
        read
        for read in run.ops(f="read", outcome="ok", key=write["key"])
        if read["invoke_index"] > write["complete_index"]
    ]
    first(later, "no read after a refused write")["value"] = write["value"]


@legal("linearizable", "final-reads", of=QUORUMS)
def a_read_that_was_refused_returned_anything(run: Altered, rng: random.Random) -> None:
    """A read that succeeded timed out instead: who was told nothing saw nothing."""
    read = rng.choice(run.ops(f="read", phase="main", outcome="ok"))
    read.update(outcome="fail", value=None, error="timed-out")


@legal("linearizable", of=QUORUMS)
def one_node_has_another_clock(run: Altered, rng: random.Random) -> None:
    """An operation seems to take 3 ms more by the clock: the order of events is what counts."""
    rng.choice(run.ops(f="write", phase="main", outcome="ok"))["t1"] += 3_000_000


@lie("durability", of=QUORUMS, target=BOTH)
def an_acknowledged_write_is_nowhere(run: Altered, rng: random.Random) -> None:
    """The record of an acknowledged write is a NoOp on every disk; all reads are as they were."""
    write = written_once(run, rng, outcome="ok")
    if not run.erase_records(lambda row: is_record_of(row, write)):
        raise NotHere("no record of it")


@lie("final-reads", of=QUORUMS, target=BOTH, want=NOT_GREEN)
def a_key_is_not_read_at_the_end(run: Altered, rng: random.Random) -> None:
    """All final reads of one key failed."""
    key = rng.choice(run.ops(f="read", phase="final", outcome="ok"))["key"]
    for read in run.ops(f="read", phase="final", key=key):
        read.update(outcome="fail", value=None, error="timed-out")


@lie("records-explained", of=QUORUMS, target=BOTH)
def a_disk_holds_what_nobody_wrote(run: Altered, rng: random.Random) -> None:
    """One disk holds a value that nobody wrote."""
    records = [r for r in run.records("Config", resource_type=CLIENT_METRICS) if r["value"]]
    rng.choice(records)["value"] = "987654321"


@legal("durability", "records-explained", of="partition-leader", target=BOTH)
def a_write_that_timed_out_is_committed_late(run: Altered, rng: random.Random) -> None:
    """A write that timed out, and of which no disk knew, is in the log behind all final reads."""
    held = {(row["resource"], row["value"]) for row in run.records("Config")}
    lost = [
        w for w in run.ops(f="write", outcome="info") if (w["key"], str(w["value"])) not in held
    ]
    values = [(row["key"], row["value"]) for row in run.ops(f="write")]
    lost = [write for write in lost if values.count((write["key"], write["value"])) == 1]
    if not lost:
        raise NotHere("every write that timed out is there")
    write = rng.choice(lost)
    run.append_to_metadata_log(
        run.nodes,
        "Config",
        resource_type=CLIENT_METRICS,
        resource=write["key"],
        name="interval.ms",
        value=str(write["value"]),
    )


@lie("written-once", of=QUORUMS, target=BOTH)
def a_value_is_written_twice(run: Altered, rng: random.Random) -> None:
    """A value that was asked for once stands in the log a second time, behind all."""
    write = written_once(run, rng, outcome="ok")
    run.append_to_metadata_log(
        run.nodes,
        "Config",
        resource_type=CLIENT_METRICS,
        resource=write["key"],
        name="interval.ms",
        value=str(write["value"]),
    )


@lie("requests-are-whole", of=QUORUMS, target=BOTH)
def half_a_request_is_written(run: Altered, rng: random.Random) -> None:
    """Of a request of several keys, which timed out, all but one are written."""
    by_request: dict[int, list[Row]] = {}
    for row in run.ops(f="write", outcome="ok"):
        if row["request"] is not None:
            by_request.setdefault(row["request"], []).append(row)
    values = [(row["key"], row["value"]) for row in run.ops(f="write")]
    whole = [
        rows
        for request, rows in sorted(by_request.items())
        if len(rows) > 1
        and len(rows) == sum(row["request"] == request for row in run.rows("ops"))
        and all(values.count((row["key"], row["value"])) == 1 for row in rows)
    ]
    rows = rng.choice(whole)
    for row in rows:
        row.update(outcome="info", error="timed-out", process=10**6 + row["op_id"])
    run.erase_records(lambda record: is_record_of(record, rows[0]))
    for read in run.ops(f="read", key=rows[0]["key"], value=rows[0]["value"]):
        read.update(outcome="fail", value=None, error="error-41")


@legal("written-once", "requests-are-whole", of=QUORUMS, target=BOTH)
def a_request_timed_out_and_was_done(run: Altered, rng: random.Random) -> None:
    """A request that was acknowledged timed out instead, and is written as it was."""
    request = rng.choice(
        [row["request"] for row in run.ops(f="write", outcome="ok") if row["request"]]
    )
    for row in run.rows("ops"):
        if row["request"] == request and row["outcome"] == "ok":
            row.update(outcome="info", error="timed-out", process=10**6 + row["op_id"])


@lie("linearizable", of=QUORUMS, target=UNTRACED)
def a_read_returns_what_nobody_wrote(run: Altered, rng: random.Random) -> None:
    """A read returns a value that nobody wrote."""
    rng.choice(run.ops(f="read", outcome="ok", phase="main"))["value"] = 987_654_321
