"""Trace lines: the contract with the node, and logs as crashes leave them."""

import json

import pyarrow as pa
import pytest

import node.server.output
from checkers.history.tables import NODE_EVENTS
from checkers.history.traces import (
    _RENAMED,
    TRACE_FIELDS,
    fields_of,
    parse_trace_lines,
    parse_traces,
)
from tests.support.histories import NodeTrace


def line(event: str, seq: int = 0, /, **fields: object) -> str:
    head = {"ev": event, "node": 1, "dir": "d", "inc": "i", "seq": seq, "mono": 150, "wall": 9}
    return json.dumps({**head, **fields})


def test_the_node_writes_what_is_read_here() -> None:
    assert node.server.output.TRACE_FIELDS == TRACE_FIELDS


def test_every_field_of_every_event_has_a_column_or_is_in_detail() -> None:
    for event, names in TRACE_FIELDS.items():
        text = {"state", "role", "voted_dir", "replica_dir", "candidate_dir", "outcome", "reason"}
        values = {name: "x" if name in text else 1 for name in names}
        values |= {"version": "v", "cluster": "c"} if event == "n.start" else {}
        (row,) = parse_trace_lines([line(event, **values)], 100).to_pylist()
        found = [v for k, v in row.items() if k not in NODE_EVENTS.names[:6] and v is not None]
        details = fields_of(row["detail"])
        assert row["event"] == event
        assert row["t"] == 50
        assert len(found) - bool(details) + len(details) == len(names), event


@pytest.mark.parametrize("event", [*TRACE_FIELDS, "x.unknown"])
def test_a_line_with_its_fields_in_another_order_gives_the_same_row(event: str) -> None:
    """Lines as nodes write them are read by their order, all others by the names of the fields."""
    names = TRACE_FIELDS.get(event, ("end",))
    found = set()
    for kept in (len(names), max(len(names) - 1, 0)):
        usual = json.loads(line(event, 3, **{name: _value(name) for name in names[:kept]}))
        shuffled = dict(reversed(usual.items()))
        rows = [parse_trace_lines([json.dumps(each)], 100) for each in (usual, shuffled)]
        assert rows[0].to_pylist() == rows[1].to_pylist()
        assert rows[0].num_rows == 1
        found.add(str(rows[0].to_pylist()))
    assert len(found) == (2 if names else 1)


def _value(name: str) -> object:
    """Of a type that its column takes, if it has one."""
    if name == "granted":
        return True
    column = _RENAMED.get(name, name)
    is_text = column in NODE_EVENTS.names and pa.types.is_string(NODE_EVENTS.field(column).type)
    return f"of {name}" if is_text else len(name)


def test_shared_columns() -> None:
    rows = parse_trace_lines(
        [
            line("q.append", base=3, last=4, epoch=2, crc=4294967295, role="leader"),
            line("q.fetch", replica=2, replica_dir="e", offset=5, last_epoch=2, outcome="ok"),
            line("q.vote", candidate=3, candidate_dir="f", epoch=7, granted=False),
            line("q.fsync", end=5),
        ],
        0,
    ).to_pylist()
    assert (rows[0]["state"], rows[0]["base"], rows[0]["crc"]) == ("leader", 3, 4294967295)
    assert (rows[1]["replica"], rows[1]["replica_directory"], rows[1]["log_epoch"]) == (2, "e", 2)
    assert (rows[2]["replica"], rows[2]["outcome"]) == (3, "refused")
    assert rows[3]["log_end"] == 5


def test_a_torn_last_line_is_reported_and_the_rest_kept() -> None:
    found = parse_traces([line("q.fsync", end=5), line("q.fsync", 1, end=6)[:-9]], 0)
    assert found.table.num_rows == 1
    assert len(found.damaged) == 1
    assert found.damaged[0].startswith("line 2:")


def test_a_line_torn_by_a_crash_gives_the_next_process_its_first_line() -> None:
    found = parse_traces([line("q.fsync", end=5)[:40] + line("n.start", log_end=9)], 0)
    assert found.table.column("event").to_pylist() == ["n.start"]
    assert len(found.damaged) == 1


def test_prose_is_counted_and_unknown_events_are_kept() -> None:
    lines: list[str | bytes] = [
        b"ready\n",
        "",
        line("x.new", colour="red"),
        "[1]",
        line("q.fsync", end=1, more=2),
    ]
    found = parse_traces(lines, 0)
    assert found.prose == 2
    assert found.damaged == ()
    new, fsync = found.table.to_pylist()
    assert (new["event"], fields_of(new["detail"])) == ("x.new", {"colour": "red"})
    assert (fsync["log_end"], fields_of(fsync["detail"])) == (1, {"more": 2})


@pytest.mark.parametrize("value", [2**70 + 1, -(2**63), "\ud800", {"b": [1, None], "a": "\u2028"}])
def test_a_detail_comes_back_as_it_was(value: object) -> None:
    (row,) = parse_trace_lines([line("x.new", what=value, also=1)], 0).to_pylist()
    assert fields_of(row["detail"]) == {"also": 1, "what": value}


def test_values_of_a_wrong_type_cost_their_line_only() -> None:
    bad = [line("q.fsync", end="five"), line("q.fsync", end=2**70), line("q.hwm", epoch=2**40)]
    found = parse_traces([*bad, line("q.fsync", end=5), '{"ev":"q.fsync"}'], 0)
    assert found.table.column("log_end").to_pylist() == [5]
    assert len(found.damaged) == 4


def test_no_lines_give_an_empty_table() -> None:
    assert parse_trace_lines([], 0).schema.equals(NODE_EVENTS)
    assert fields_of(None) == {}


def test_the_builder_of_these_tests_prints_whole_lines() -> None:
    trace = NodeTrace(2).start().state("leader", 1, leader=2).append(0, 0, 1).restart(log_end=1)
    found = parse_traces(trace.lines, 0)
    assert found.damaged == ()
    assert found.table.column("seq").to_pylist() == [0, 1, 2, 0]
