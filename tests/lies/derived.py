"""Sound runs of what only Apache Kafka has, made of recorded ones: as long as no container runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from checkers.evidence.faults import Kind
from checkers.run.sides_led import EACH_SIDE_CREATES, EACH_SIDE_LEADS
from tests.lies.altered import Altered, Row

SECOND = 1_000_000_000
KAFKAS = 1  # the node that is Apache Kafka's, where two programs share a quorum


@dataclass(frozen=True, slots=True)
class Derived:
    """A run that is made of another base."""

    of: str
    change: Callable[[Altered], None]


def operation(run: Altered, f: str, key: str, value: int | None, at_ns: int, **more: Any) -> Row:
    """One more operation, of a process of its own, a microsecond long. The run's operations that
    were invoked until then come before it."""
    rows = run.rows("ops")
    before = [row["invoke_index"] for row in rows if row["t0"] <= at_ns]
    index = max(before, default=0) + 0.3 + 0.001 * (len(rows) % 100)
    row = dict.fromkeys(rows[0])
    row |= {"op_id": 10**6 + len(rows), "process": 10**5 + len(rows), "f": f, "key": key}
    row |= {"value": value, "outcome": "ok", "node": 1, "phase": "main", "t0": at_ns}
    row |= {"t1": at_ns + 1000, "invoke_index": index, "complete_index": index + 0.0005}
    row |= more
    rows.append(row)
    return row


def with_chore(run: Altered, chore: str) -> None:
    run.inform(load={**run.info.load, "chores": [*run.info.load.get("chores", ()), chore]})


def _looked_up(run: Altered) -> None:
    """A client puts records into a compacted log, and looks up a time before all of them."""
    with_chore(run, "looking-up")
    for number in range(12):
        operation(run, "put", "compacted-0", number, SECOND + number)
    for number in range(12):
        operation(run, "look-up", "compacted-0", number, SECOND + (number + 1) * SECOND // 10)


def _asked_operations(run: Altered) -> None:
    """A client asks for operations that there are not, and for the quorum's epoch in between."""
    with_chore(run, "unknown-operations")
    for number in range(12):
        at = SECOND + number * SECOND // 10
        operation(run, "quorum-epoch", "quorum", 1, at)
        error = {"outcome": "fail", "error": "INVALID_REQUEST"}
        operation(run, "alter-configs", "quorum", None, at + SECOND // 20, **error)
    operation(run, "quorum-epoch", "quorum", 1, 3 * SECOND)


def _transactions(run: Altered) -> None:
    """At the end two transactional ids are initialised anew, and committed transactions can be read
    as far as the log goes."""
    run.inform(load={**run.info.load, "transactional": True})
    end = max(row["t1"] or row["t0"] for row in run.ops(f="send")) + 1000
    for number in (1, 2):
        operation(run, "init-transactions", f"id-{number}", None, end, phase="final")
    read = max(row["offset"] + row["records"] for row in run.where("spans", sent=False))
    key = run.rows("spans")[0]["key"]
    for number in range(9):
        at = end + (number + 1) * SECOND // 2
        operation(run, "committed-end", key, read, at, phase="final")


def _transformed(run: Altered) -> None:
    """A group transforms what stands in a log, as long as the load lasts: a transaction for each
    three records, of which some are aborted, and of one of which nobody knows; at the end all is
    read."""
    with_chore(run, "transforming")
    sends = run.ops(f="send")
    began, end = sends[0]["t0"], max(row["t1"] or row["t0"] for row in sends) + 1000
    key, came, count = run.rows("spans")[0]["key"], 0, 60
    for number in range(count):
        aborted, in_doubt = number % 4 == 1, number == 6
        outcome = "fail" if aborted else "info" if in_doubt else "ok"
        for offset in range(came, came + 3):
            at = began + (end - began) * number // count + offset
            operation(run, "transform", key, offset, at, request=number, outcome=outcome)
            if not aborted:
                operation(run, "processed", key, offset, end, request=number, phase="final")
        came += 0 if aborted else 3
    operation(run, "processed-end", "transformed-0", 3 * count, end + 10, phase="final")
    operation(run, "processed-up-to", key, came, end + 20, phase="final")


def _two_programs(run: Altered) -> None:
    """One of three voters is Apache Kafka's; it and one of ours lead in turn, and each creates a
    topic."""
    starts = run.events("n.start")
    run.untrace()
    run.rows("node_events").extend(row for row in starts if row["node"] != KAFKAS)
    began = next(row["t"] for row in starts if row["node"] == KAFKAS)
    line = {"node": KAFKAS, "t": began, "level": "INFO", "text": "Kafka version: 4.3.1"}
    run.rows("log_errors").append({**line, "cause": None})
    run.inform(
        target="mixed",
        gives=(*run.info.gives, Kind.NODE_LOGS),
        to_show=(EACH_SIDE_LEADS, EACH_SIDE_CREATES),
    )
    topic = '{"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAQ"}'
    for row in run.rows("log_records"):
        if row["type"] in ("BeginTransaction", "EndTransaction"):
            row.update(type="Topic" if row["type"] == "BeginTransaction" else "NoOp", detail=topic)
    run.append_to_metadata_log(run.nodes, "Topic", detail=topic.replace("AQ", "Ag"))


DERIVED: Mapping[str, Derived] = {
    "looked-up": Derived("last-replica-standing", _looked_up),
    "asked-operations": Derived("last-replica-standing", _asked_operations),
    "transactions": Derived("last-replica-standing", _transactions),
    "transformed": Derived("isr-shrink-storm", _transformed),
    "two-programs": Derived("partition-leader", _two_programs),
}
