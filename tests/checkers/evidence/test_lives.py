"""TraceColumns in columns: which row each line has, against the plainest way to walk them."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.evidence.lives import (
    _REQUIRED,
    NO_NODE,
    NONE,
    NodeEvent,
    TraceColumns,
    first_of,
)
from checkers.history.tables import NODE_EVENTS
from tests.support.histories import NodeTrace, node_events

KINDS = ("n.start", "q.state", "q.append", "q.fsync", "q.hwm", "unheard-of")
WHO = {"node": 1, "directory": "d", "incarnation": "i"}


class Drawn(NamedTuple):
    """A line; a disk belongs to one node, a process to one disk."""

    disk: int
    process: int
    seq: int | None
    t: int
    event: str
    hwm: int | None


@st.composite
def lines(draw: st.DrawFn) -> list[Drawn]:
    """Lines of a few processes in any order, some missing, some without a field they need."""
    found = []
    for process in range(draw(st.integers(0, 5))):
        disk, began = draw(st.integers(0, 3)), draw(st.integers(0, 50))
        for seq in range(draw(st.integers(1, 6))):
            event = draw(st.sampled_from(KINDS))
            number = None if draw(st.integers(0, 9)) == 0 else seq
            hwm = draw(st.none() | st.integers(-1, 5))
            if draw(st.integers(0, 9)):
                found.append(Drawn(disk, process, number, began * 100 + seq, event, hwm))
    return draw(st.permutations(found))


def as_table(drawn: list[Drawn]) -> pa.Table:
    rows = [
        {
            "node": line.disk // 2 + 1,
            "directory": f"disk-{line.disk}",
            "incarnation": f"process-{line.process}",
            "seq": line.seq,
            "t": line.t,
            "event": line.event,
            "state": "follower",
            "epoch": 1,
            "log_end": 0,
            "base": 0,
            "last": 0,
            "crc": 0,
            "hwm": line.hwm,
        }
        for line in drawn
    ]
    return pa.Table.from_pylist(rows, schema=NODE_EVENTS)


def plainly(drawn: list[Drawn]) -> dict[int, list[list[Drawn]]]:
    """By disk, its processes, each with its lines."""
    processes: dict[int, list[Drawn]] = defaultdict(list)
    for line in drawn:
        if line.seq is not None and not (line.event == "q.hwm" and line.hwm is None):
            processes[line.process].append(line)
    disks: dict[int, list[list[Drawn]]] = defaultdict(list)
    by_time = sorted(processes.values(), key=lambda of: (of[0].disk // 2, min(x.t for x in of)))
    for of in by_time:
        disks[of[0].disk].append(sorted(of, key=lambda line: line.seq or 0))
    return disks


def told(event: NodeEvent) -> tuple[str, int, int]:
    return event.incarnation, event.seq, event.t


def of(line: Drawn) -> tuple[str, int, int]:
    return f"process-{line.process}", line.seq or 0, line.t


@given(lines())
def test_lives_are_those_of_a_plain_walk(drawn: list[Drawn]) -> None:
    """But for processes of one node that began at the same moment, whose order nobody knows."""
    traces, expected = TraceColumns(as_table(drawn)), plainly(drawn)
    began = [(of[0].disk // 2, min(x.t for x in of)) for disk in expected.values() for of in disk]
    if len({*began}) < len(began):
        return
    assert [life.directory for life in traces.lives] == [f"disk-{disk}" for disk in expected]
    for life, processes in zip(traces.lives, expected.values(), strict=True):
        everything = [of(line) for process in processes for line in process]
        assert [told(event) for event in life.events(*KINDS)] == everything
        assert len(life.processes) == len(processes)
        for process, walked in zip(life.processes, processes, strict=True):
            numbers = [line.seq for line in walked]
            assert (process.gap is None) == (numbers == list(range(len(numbers))))
            assert (process.first_ns, process.last_ns) == (walked[0].t, walked[-1].t)
            highest = [line.hwm for line in walked if line.event == "q.hwm"]
            rows = process.rows("q.hwm")
            assert traces.column("hwm")[rows].tolist() == highest
            assert traces.events(rows) == ["q.hwm"] * len(highest)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2))))
def test_the_first_of_each_kind(pairs: list[tuple[int, int]]) -> None:
    keys = np.array(pairs, np.int64).reshape(-1, 2)
    first, which = first_of(keys[:, 0], keys[:, 1])
    assert [pairs[at] for at in first] == sorted(set(pairs))
    assert [pairs.index(pairs[at]) for at in first] == first.tolist()
    assert [pairs[at] for at in first[which]] == pairs


def test_what_a_line_does_not_have() -> None:
    trace = NodeTrace(1).start().state("unattached", 3).hwm(-1, 3, "follower")
    traces = TraceColumns(node_events([trace]))
    assert traces.column("hwm").tolist() == [NONE, NONE, -1]
    assert traces.column("voted").tolist() == [NONE, NO_NODE, NONE]
    assert traces.has("state", "follower", traces.rows("q.state", "q.hwm")).tolist() == [
        False,
        True,
    ]
    assert traces.texts("detail", traces.rows("q.state")) == [None]
    assert traces.line(1).epoch == 3
    assert traces.line(1).hwm is None


def test_no_traces_at_all() -> None:
    traces = TraceColumns(NODE_EVENTS.empty_table())
    assert (len(traces), traces.lives, traces.rows("q.state").tolist()) == (0, (), [])


@pytest.mark.parametrize("event", _REQUIRED)
def test_a_line_that_lacks_what_its_kind_needs_says_nothing(event: str) -> None:
    names = _REQUIRED[event]
    whole = {**WHO, "t": 1, "seq": 0, "event": event}
    whole |= {name: "x" if NODE_EVENTS.field(name).type == pa.string() else 1 for name in names}
    lacking = [{**whole, name: None} for name in (*WHO, "t", "seq", "event", *names)]
    traces = TraceColumns(pa.Table.from_pylist([*lacking, whole], schema=NODE_EVENTS))
    assert [line.event for line in traces.lines(range(len(traces)))] == [event]


def test_texts_are_those_of_their_rows() -> None:
    states = ["leader", None, "follower", None, "leader"]
    rows = [
        {**WHO, "t": seq, "seq": seq, "event": "x.new", "state": state}
        for seq, state in enumerate(states)
    ]
    traces = TraceColumns(pa.Table.from_pylist(rows, schema=NODE_EVENTS))
    wanted = np.array([4, 1, 2])
    assert traces.texts("state", wanted) == ["leader", None, "follower"]
    assert traces.texts("outcome", wanted) == [None] * 3


def test_kinds_that_nobody_knows_may_be_many() -> None:
    """A log may be full of them: they are made only if they are asked for."""
    rows = [{**WHO, "t": seq, "seq": seq, "event": f"x.{seq}"} for seq in range(1000)]
    traces = TraceColumns(pa.Table.from_pylist(rows, schema=NODE_EVENTS))
    assert len(traces.lives) == 1
    assert len(traces._lines) == 1
    assert traces.line(999).event == "x.999"
    assert TraceColumns(NODE_EVENTS.empty_table()).lives == ()
