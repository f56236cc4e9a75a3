"""Deletes of registers, and the order of what the metadata log holds of them."""

import random
from itertools import pairwise

from tests.lies.alteration import BOTH, TRACED, legal, lie
from tests.lies.altered import NO_RECORD, Altered, NotHere, Row, first
from tests.lies.themes.registers import (
    CLIENT_METRICS,
    QUORUMS,
    all_written_once,
    is_record_of,
)


def registers_of(run: Altered, node: int, **equal: str | None) -> list[Row]:
    """The records of registers on one node's disk, in the order of the log."""
    found = run.records("Config", resource_type=CLIENT_METRICS, node=node, **equal)
    return sorted(found, key=lambda row: row["offset"])


def last_of(run: Altered, key: str) -> Row:
    return first(reversed(registers_of(run, 1, resource=key)), f"no record of {key}")


def add_operation(run: Altered, f: str, key: str, value: int | None, outcome: str = "ok") -> Row:
    """An operation of a process of its own, after all others of the main phase, by the node that
    served last."""
    main = [row for row in run.ops() if row["phase"] == "main"]
    served = max((row for row in main if row["outcome"] == "ok"), key=lambda row: int(row["t1"]))
    ends = max(max(row["invoke_index"], row["complete_index"] or 0) for row in main)
    at = max(max(row["t0"], row["t1"] or 0) for row in main)
    row = {
        **served,
        "op_id": len(run.ops()),
        "process": max(each["process"] for each in run.ops()) + 1,
        "f": f,
        "key": key,
        "value": value,
        "outcome": outcome,
        "error": None if outcome == "ok" else "timed-out",
        "invoke_index": ends + 0.1,
        "complete_index": ends + 0.2,
        "t0": at + 1000,
        "t1": at + 2000,
        "request": None,
    }
    run.rows("ops").append(row)
    return row


def set_final_reads(run: Altered, key: str, value: int | None) -> None:
    for read in run.ops(f="read", phase="final", key=key, outcome="ok"):
        read["value"] = value


@lie("durability", "reads-match-the-log", of=QUORUMS, target=TRACED)
@lie("durability", of=("power-off",), target=BOTH)
def an_acknowledged_delete_is_nowhere(run: Altered, rng: random.Random) -> None:
    """A delete was acknowledged behind all, final reads find nothing, and no log knows of it."""
    keys = sorted({row["key"] for row in run.ops(f="read", phase="final", outcome="ok")})
    keys = [key for key in keys if last_of(run, key)["value"] is not None]
    key = rng.choice(keys)
    add_operation(run, "delete", key, None)
    set_final_reads(run, key, None)
    run.renumber()


@legal("durability", "reads-match-the-log", "records-explained", of=QUORUMS, target=BOTH)
def a_delete_of_nothing_leaves_no_record(run: Altered, rng: random.Random) -> None:
    """What has no value is deleted once more, and the log says nothing of it."""
    last = {row["resource"]: row["value"] for row in registers_of(run, 1)}
    empty = sorted(key for key, value in last.items() if value is None)
    if empty:
        add_operation(run, "delete", rng.choice(empty), None)
    else:
        add_operation(run, "delete", "r-99999", None)
        read = dict(first(run.ops(f="read", phase="final", outcome="ok"), "no final read"))
        ends = max(max(row["invoke_index"], row["complete_index"] or 0) for row in run.ops())
        read |= {"op_id": len(run.ops()), "key": "r-99999", "value": None, "request": None}
        read |= {"invoke_index": ends + 0.1, "complete_index": ends + 0.2}
        read |= {"process": max(row["process"] for row in run.ops()) + 1}
        run.rows("ops").append(read)
    run.renumber()


@lie("records-explained", of=QUORUMS, target=BOTH)
def a_deletion_that_nobody_asked_for(run: Altered, rng: random.Random) -> None:
    """Behind all, every disk has a deletion of a register that has a value."""
    unknown = {row["key"] for row in run.ops(f="delete", outcome="info")}
    keys = sorted({row["resource"] for row in registers_of(run, 1)} - unknown)
    key = rng.choice([key for key in keys if last_of(run, key)["value"] is not None])
    run.append_to_metadata_log(
        run.nodes, "Config", resource_type=CLIENT_METRICS, resource=key, name="interval.ms"
    )


@legal("records-explained", "durability", "written-in-order", of=QUORUMS, target=BOTH)
def a_delete_that_timed_out_is_committed_late(run: Altered, rng: random.Random) -> None:
    """A delete that timed out is in the log behind all final reads."""
    keys = sorted({row["resource"] for row in registers_of(run, 1)})
    key = rng.choice([key for key in keys if last_of(run, key)["value"] is not None])
    add_operation(run, "delete", key, None, outcome="info")
    run.append_to_metadata_log(
        run.nodes, "Config", resource_type=CLIENT_METRICS, resource=key, name="interval.ms"
    )
    run.renumber()


def swap(run: Altered, one: int, other: int) -> None:
    """What stands at two offsets, on every disk."""
    for node in run.nodes:
        rows = {row["offset"]: row for row in run.where("log_records", node=node)}
        if one in rows and other in rows:
            names = [*NO_RECORD, "type"]
            before = {name: rows[one][name] for name in names}
            rows[one].update({name: rows[other][name] for name in names})
            rows[other].update(before)


def sequential(run: Altered) -> list[tuple[Row, Row]]:
    """Acknowledged writes next to each other in the log, the second asked for after the first had
    been acknowledged, with values of their own."""
    writes: dict[tuple[str, str], list[Row]] = {}
    for write in run.ops(f="write"):
        writes.setdefault((write["key"], str(write["value"])), []).append(write)
    stored = [row for row in registers_of(run, 1) if row["value"] is not None]
    found = []
    for one, other in pairwise(stored):
        mine = writes.get((one["resource"], one["value"]), [])
        theirs = writes.get((other["resource"], other["value"]), [])
        known = len(mine) == len(theirs) == 1
        if known and mine[0]["outcome"] == theirs[0]["outcome"] == "ok":
            found += [(one, other)] * (mine[0]["complete_index"] < theirs[0]["invoke_index"])
    return found


@lie("written-in-order", of=(*QUORUMS, "power-off"), target=BOTH)
def two_writes_are_swapped_on_all_disks(run: Altered, rng: random.Random) -> None:
    """Of two acknowledged writes, one after the other, the log has the second one first."""
    found = sequential(run)
    if not found:
        raise NotHere("no two writes one after the other")
    one, other = rng.choice(found)
    swap(run, one["offset"], other["offset"])


@legal("written-in-order", of=QUORUMS, target=BOTH)
def a_write_that_was_not_acknowledged_stands_where_it_likes(
    run: Altered, rng: random.Random
) -> None:
    """The second of two writes, which stands first, was sent before the first; they are of two
    registers, of which nobody read meanwhile."""
    found = [
        (one, other)
        for one, other in sequential(run)
        if one["resource"] != other["resource"] and not _is_read_between(run, one, other)
    ]
    if not found:
        raise NotHere("somebody reads between any two writes")
    one, other = rng.choice(found)
    sooner, later = _write_of(run, one), _write_of(run, other)
    swap(run, one["offset"], other["offset"])
    process = max(row["process"] for row in run.ops()) + 1
    later.update(invoke_index=sooner["invoke_index"] - 0.5, t0=sooner["t0"], process=process)
    later["request"] = None
    run.renumber()


def _write_of(run: Altered, record: Row) -> Row:
    writes = (w for w in run.ops(f="write") if is_record_of({**record, "type": "Config"}, w))
    return first(writes, "no write")


def _is_read_between(run: Altered, one: Row, other: Row) -> bool:
    """Of two writes, whose places in the log tell what a read of either register is told."""
    begin, end = _write_of(run, one)["t0"], _write_of(run, other)["t1"]
    return any(
        row["key"] in (one["resource"], other["resource"])
        and row["t0"] <= end
        and begin <= (row["t1"] or end)
        for row in run.ops(f="read")
    )


@lie("reads-match-the-log", of=(*QUORUMS, "power-off"), target=BOTH)
def a_read_returns_what_is_written_only_later(run: Altered, rng: random.Random) -> None:
    """A read returns a value whose write was asked for after the read had returned."""
    write = rng.choice(
        [
            row
            for row in all_written_once(run, outcome="ok")
            if any(
                read["complete_index"] < row["invoke_index"]
                for read in run.ops(f="read", key=row["key"], outcome="ok")
            )
        ]
    )
    reads = run.ops(f="read", key=write["key"], outcome="ok")
    before = [row for row in reads if row["complete_index"] < write["invoke_index"]]
    before[-1]["value"] = write["value"]


@lie("reads-match-the-log", of=QUORUMS)
def a_final_read_returns_the_value_before_the_last(run: Altered, rng: random.Random) -> None:
    """Final reads of a key return what stood there before the last record of the log."""
    keys = sorted({row["key"] for row in run.ops(f="read", phase="final", outcome="ok")})
    rng.shuffle(keys)
    for key in keys:
        stored = [row["value"] for row in registers_of(run, 1, resource=key)]
        if len(stored) > 1 and None not in stored[-2:]:
            set_final_reads(run, key, int(stored[-2]))
            return
    raise NotHere("no key whose last record follows another value")


@legal("reads-match-the-log", of=QUORUMS, target=BOTH)
def a_read_began_sooner(run: Altered, rng: random.Random) -> None:
    """A read that returned was under way for longer than it was: it may return what it did."""
    read = rng.choice(run.ops(f="read", phase="main", outcome="ok"))
    process = max(row["process"] for row in run.ops()) + 1
    read.update(invoke_index=read["invoke_index"] - 3.5, process=process, request=None)
    run.renumber()


def whole_requests(run: Altered) -> list[list[Row]]:
    """Requests of several keys, acknowledged, that write and delete; each value is of its own."""
    found: dict[int, list[Row]] = {}
    for row in run.ops():
        if row["request"] is not None and row["f"] in ("write", "delete"):
            found.setdefault(row["request"], []).append(row)
    return [
        rows
        for rows in found.values()
        if {row["f"] for row in rows} == {"write", "delete"}
        and all(row["outcome"] == "ok" for row in rows)
    ]


@lie("requests-are-whole", of=(*QUORUMS, "baseline"), target=BOTH)
def a_request_deletes_by_half(run: Altered, rng: random.Random) -> None:
    """Of a request that writes and deletes, the deletion is a NoOp on every disk."""
    requests = whole_requests(run)
    rng.shuffle(requests)
    for rows in requests:
        write = first((row for row in rows if row["f"] == "write"), "no write")
        delete = first((row for row in rows if row["f"] == "delete"), "no delete")
        place = [row["offset"] for row in registers_of(run, 1) if is_record_of(row, write)]
        if not place:
            continue
        near = range(place[0] - len(rows), place[0] + len(rows))
        before = [r for r in registers_of(run, 1, resource=delete["key"]) if r["offset"] < near[0]]
        gone = [
            row
            for row in registers_of(run, 1, resource=delete["key"])
            if row["value"] is None and row["offset"] in near
        ]
        if before and before[-1]["value"] is not None and len(gone) == 1:
            offset = gone[0]["offset"]
            run.erase_records(lambda row, at=offset: row["offset"] == at)  # type: ignore[misc]  # bound
            return
    raise NotHere("no request that deletes something")


@lie("requests-are-whole", of=QUORUMS, target=BOTH)
def a_request_writes_by_half(run: Altered, rng: random.Random) -> None:
    """Of a request of several keys that nobody answered one is written and the others are not."""
    requests: dict[int, list[Row]] = {}
    for row in run.ops(f="write", outcome="ok"):
        if row["request"] is not None:
            requests.setdefault(row["request"], []).append(row)
    several = [rows for rows in requests.values() if len(rows) > 1]
    for row in (rows := rng.choice(several)):
        row.update(outcome="info", error="timed-out")
    gone = rng.choice(rows)
    run.erase_records(lambda row: is_record_of(row, gone))
    for read in run.ops(f="read", key=gone["key"], value=gone["value"]):
        read.update(outcome="fail", value=None, error="error-41")


@legal("requests-are-whole", of=QUORUMS, target=BOTH)
def a_request_is_not_done_at_all(run: Altered, rng: random.Random) -> None:
    """A request of several keys that nobody answered is in no log, none of it."""
    values = [(row["key"], row["value"]) for row in run.ops(f="write")]
    requests: dict[int, list[Row]] = {}
    for row in run.ops():
        if row["request"] is not None and row["f"] in ("write", "delete"):
            requests.setdefault(row["request"], []).append(row)
    read = {(row["key"], row["value"]) for row in run.ops(f="read", outcome="ok")}
    unread = [
        rows
        for rows in requests.values()
        if all(
            row["f"] == "write"
            and values.count((row["key"], row["value"])) == 1
            and (row["key"], row["value"]) not in read
            and row["outcome"] == "ok"
            for row in rows
        )
    ]
    if not unread:
        raise NotHere("no request of which nothing was read")
    for row in (rows := rng.choice(unread)):
        row.update(outcome="info", error="timed-out")
    run.erase_records(lambda record: any(is_record_of(record, row) for row in rows))
