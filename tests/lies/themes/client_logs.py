"""What clients sent to the logs of partitions and polled from them."""

import random
from itertools import pairwise

from tests.lies.alteration import BOTH, NOT_GREEN, UNTRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row

STANDING = "last-replica-standing"
LOGS = ("last-replica-standing", "stranded-leader")


def sends(run: Altered, outcome: str = "ok") -> list[Row]:
    """Spans that were sent to all in-sync replicas, one record each."""
    ids = {row["op_id"] for row in run.ops(f="send", outcome=outcome)}
    return [
        row
        for row in run.where("spans", sent=True, records=1, acks=-1)
        if row["op_id"] in ids and (row["offset"] is not None or outcome != "ok")
    ]


def polls(run: Altered, phase: str = "main") -> list[Row]:
    """Spans that consumers were given."""
    ids = {row["op_id"] for row in run.ops(f="poll", phase=phase, outcome="ok")}
    return [row for row in run.where("spans", sent=False) if row["op_id"] in ids]


def take_off(run: Altered, key: str, cut: int, since: int) -> None:
    """The log of a partition lost what was at [cut, since): all later stands earlier, everywhere;
    nobody had polled it before."""
    lost = since - cut

    def moved(row: Row) -> bool:
        if row["key"] != key or row["offset"] is None:
            return True
        if row["offset"] >= since:
            row["offset"] -= lost
        elif row["offset"] >= cut and not row["sent"]:
            return False
        if not row["sent"] and row["high_watermark"] is not None and row["high_watermark"] > cut:
            row["high_watermark"] = max(cut, row["high_watermark"] - lost)
        return True

    run.keep("spans", moved)
    for table, names in (
        ("replica_batches", ("base_offset", "last_offset")),
        ("replica_spans", ("offset",)),
    ):
        head = names[0]
        run.keep(table, lambda r, h=head: r["key"] != key or not cut <= r[h] < since)  # type: ignore[misc]
        for row in run.where(table, key=key):
            for name in names if row[head] >= since else ():
                row[name] -= lost
    for row in run.where("replicas", key=key):
        row["log_end"] -= lost
        row["high_watermark"] -= lost


@lie("log-durability", of=LOGS, target=BOTH)
def acknowledged_records_are_gone(run: Altered, rng: random.Random) -> None:
    """Ten acknowledged records are gone, and the log went on in their place."""
    promised = [row for row in sends(run) if 60 < row["offset"] < 250]
    row = rng.choice(promised)
    take_off(run, row["key"], row["offset"] - 5, row["offset"] + 5)


@legal("log-durability", "log-offsets", "log-polls", "log-sends", of=LOGS, target=BOTH)
def an_acknowledged_send_timed_out(run: Altered, rng: random.Random) -> None:
    """A send that was acknowledged timed out instead, as the last one of its producer."""
    ops = {row["op_id"]: row for row in run.ops(f="send")}
    last: dict[int, Row] = {}
    for span in sends(run):
        op = ops[span["op_id"]]
        known = last.get(op["process"])
        if known is None or known["op_id"] < span["op_id"]:
            last[op["process"]] = span
    newest = {
        row["process"]: row["op_id"]
        for row in sorted(run.rows("ops"), key=lambda row: row["invoke_index"])
    }
    found = [span for process, span in last.items() if newest[process] == span["op_id"]]
    if not found:
        raise NotHere("no producer ended with a success")
    span = rng.choice(found)
    ops[span["op_id"]].update(outcome="info", error="timed-out")
    span["offset"] = None


@lie("log-final-reads", of=LOGS, target=BOTH, want=NOT_GREEN)
def a_partition_is_not_read_to_its_end(run: Altered, rng: random.Random) -> None:
    """The final reads of a partition end ten records before its last one."""
    key = rng.choice(sorted({row["key"] for row in sends(run)}))
    final = {row["op_id"] for row in run.ops(f="poll", phase="final")}
    end = max(row["offset"] for row in sends(run) if row["key"] == key)
    run.keep(
        "spans",
        lambda row: row["op_id"] not in final or row["key"] != key or row["offset"] < end - 10,
    )


@legal("log-final-reads", of=LOGS, target=BOTH)
def a_partition_is_read_twice_at_the_end(run: Altered, rng: random.Random) -> None:
    """A final poll failed, and what it was to bring came with the others."""
    poll = run.ops(f="poll", phase="final", outcome="ok")[0]
    last = max(row["invoke_index"] for row in run.rows("ops"))
    process = max(row["process"] for row in run.rows("ops")) + 1
    failed = {**poll, "op_id": 10**6, "process": process, "outcome": "fail", "error": "timed-out"}
    run.rows("ops").append({**failed, "invoke_index": last + 0.4, "complete_index": last + 0.6})


@lie("log-offsets", of=LOGS, target=BOTH)
def a_record_has_two_offsets(run: Altered, rng: random.Random) -> None:
    """A record was acknowledged at one offset and is polled at the one before."""
    rng.choice([row for row in sends(run) if row["offset"] > 5])["offset"] -= 1


@lie("log-polls", of=LOGS, target=BOTH)
def a_consumer_skips_a_record(run: Altered, rng: random.Random) -> None:
    """A consumer is given the records before and behind one, and not that one."""
    given = polls(run)
    at = rng.randrange(len(given) // 4, len(given) // 2)
    gone = next(
        row
        for row, before, behind in zip(given[at:], given[at - 1 :], given[at + 1 :], strict=False)
        if before["op_id"] == row["op_id"] == behind["op_id"]
        and row["records"] == 1
        and before["offset"] + before["records"] == row["offset"] == behind["offset"] - 1
    )
    run.keep("spans", lambda row: row is not gone)


@lie("log-polls", of=STANDING, target=BOTH)
def a_consumer_is_given_a_record_twice(run: Altered, rng: random.Random) -> None:
    """One poll brings the same record twice."""
    given = polls(run)
    row = given[rng.randrange(len(given) // 4, len(given) // 2)]
    spans = run.rows("spans")
    at = next(index for index, each in enumerate(spans) if each is row)
    spans.insert(at, dict(row))


@lie("log-sends", of=STANDING, target=BOTH)
def two_records_of_a_producer_change_places(run: Altered, rng: random.Random) -> None:
    """Two records of one producer, sent in this order, stand in the other one everywhere."""
    by_producer: dict[int, list[Row]] = {}
    for row in sends(run):
        by_producer.setdefault(row["value"] >> 32, []).append(row)
    pairs = [
        (one, other)
        for rows in by_producer.values()
        for one, other in pairwise(rows)
        if one["offset"] < other["offset"] and one["key"] == other["key"]
    ]
    one, other = rng.choice(pairs)
    places = {one["offset"]: other["value"], other["offset"]: one["value"]}
    one["offset"], other["offset"] = other["offset"], one["offset"]
    for table in ("spans", "replica_spans"):
        single = []
        for row in run.rows(table):
            if row.get("sent") or row["key"] != one["key"]:
                single.append(row)
                continue
            for step in range(row["records"]):
                offset = row["offset"] + step
                value = places.get(offset, row["value"] + step)
                single.append({**row, "offset": offset, "value": value, "records": 1})
        run.rows(table)[:] = single


@lie("log-sends", of=STANDING, target=BOTH)
def a_record_stands_before_one_sent_long_before(run: Altered, rng: random.Random) -> None:
    """A send was invoked only after a record behind its own had been polled."""
    ops = {row["op_id"]: row for row in run.rows("ops")}
    span = rng.choice([row for row in sends(run) if 50 < row["offset"] < 200])
    op = ops[span["op_id"]]
    late = max(row["invoke_index"] for row in run.ops(phase="main"))
    process = max(row["process"] for row in run.rows("ops")) + 1
    op.update(invoke_index=late + 0.2, complete_index=late + 0.4, process=process)


@legal("log-offsets", "log-polls", "log-sends", of=LOGS, target=UNTRACED)
def offsets_have_a_gap(run: Altered, rng: random.Random) -> None:
    """A control batch stands between records: all behind it have offsets that are higher by one."""
    key = sorted({row["key"] for row in sends(run)})[0]
    held = run.where("replica_batches", key=key)
    at = rng.choice([row["base_offset"] for row in held if row["base_offset"] > 320])
    for row in run.where("spans", key=key):
        if row["offset"] is not None and row["offset"] >= at:
            row["offset"] += 1
        if row["high_watermark"] is not None and row["high_watermark"] > at:
            row["high_watermark"] += 1
    behind = [row for row in held if row["base_offset"] >= at]
    marks = [
        {**row, "control": True, "producer_id": 7, "crc": 5}
        for row in behind
        if row["base_offset"] == at
    ]
    for row in behind:
        row["base_offset"] += 1
        row["last_offset"] += 1
    run.rows("replica_batches").extend(marks)
    run.rows("replica_batches").sort(key=lambda r: (r["node"], r["key"], r["base_offset"]))
    for row in run.where("replica_spans", key=key):
        if row["offset"] >= at:
            row["offset"] += 1
    for row in run.where("replicas", key=key):
        row["log_end"] += 1
        row["high_watermark"] += 1
