"""What a node was, from traces and faults; hand-made cases."""

from collections.abc import Sequence

import pytest

from checkers.history.sealed_run import Run
from checkers.page.lanes import FaultWindow, NodeLane, fault_windows, lanes_of
from checkers.page.timeline import fault_rows
from tests.checkers.page.samples import MS, SECOND, faults, node_events, run_of, table, whole_run


def lanes(run: Run, end_ns: int = 40 * SECOND) -> list[NodeLane]:
    return lanes_of(run, fault_windows(run.tables["faults"]), end_ns)


def told(lane: NodeLane) -> list[tuple[float, str, int | None]]:
    return [(span.from_ns / SECOND, span.state, span.epoch) for span in lane.spans]


def test_roles_follow_the_traces_and_a_kill_ends_them() -> None:
    second = lanes(whole_run(10))[1]
    assert told(second)[-7:] == [
        (10.9, "prospective", 1),
        (11.1, "candidate", 2),
        (11.3, "leader", 2),
        (24.0, "off", None),
        (30.6, "running", None),
        (30.65, "unattached", 2),
        (30.7, "follower", 3),
    ]
    assert second.spans[-1].to_ns == 40 * SECOND


def test_a_pause_lies_over_the_role() -> None:
    first = lanes(whole_run(10))[0]
    assert [(span.from_ns, span.to_ns) for span in first.paused] == [(27 * SECOND, 29 * SECOND)]
    assert told(first)[-1] == (25.01, "follower", 3)


def test_without_traces_faults_still_tell_when_a_node_was_off() -> None:
    second = lanes(run_of(faults=faults()))[1]
    assert not second.traced
    assert told(second) == [(0, "running", None), (24.0, "off", None), (30.7, "running", None)]


def test_a_fault_that_never_healed_lasts_to_the_end() -> None:
    row = {"fault_id": 1, "kind": "kill", "nodes": [3], "t_start": SECOND}
    third = lanes(run_of(faults=table("faults", [row])))[2]
    assert (third.spans[-1].state, third.spans[-1].to_ns) == ("off", 40 * SECOND)


def test_traces_from_before_the_run_begin_with_it() -> None:
    row = {"node": 1, "seq": 0, "t": -5 * SECOND, "event": "q.state", "state": "leader", "epoch": 4}
    first = lanes(run_of(node_events=table("node_events", [row])))[0]
    assert told(first) == [(-5.0, "leader", 4)]


def test_every_node_has_a_lane_even_if_nothing_is_known_of_it() -> None:
    assert [lane.node for lane in lanes(run_of())] == [1, 2, 3]
    assert all(len(lane.spans) == 1 for lane in lanes(run_of()))
    assert [lane.traced for lane in lanes(run_of(node_events=node_events()))] == [True] * 3


def window(fault_id: int, start: int, healed: int | None) -> dict[str, object]:
    at = None if healed is None else healed * MS
    return {"fault_id": fault_id, "kind": "kill", "t_start": start * MS, "t_healed": at}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([window(1, 0, 5), window(2, 6, 9)], [[1, 2]]),
        ([window(1, 0, 5), window(2, 3, 9), window(3, 6, 7)], [[1, 3], [2]]),
        ([window(1, 0, None), window(2, 3, 9)], [[1], [2]]),
    ],
)
def test_faults_that_overlap_stand_in_different_rows(
    rows: Sequence[dict[str, object]], expected: list[list[int]]
) -> None:
    windows: list[FaultWindow] = fault_windows(table("faults", rows))
    found = fault_rows(windows, 100 * MS)
    assert [[fault.fault_id for fault in row] for row in found] == expected


def test_damaged_facts_are_shown_as_they_are() -> None:
    rows = [{"fault_id": 1, "kind": "kill", "t_start": 0, "facts": text} for text in ("{", "[1]")]
    assert [f.facts for f in fault_windows(table("faults", rows))] == [
        {"recorded": "{"},
        {"recorded": "[1]"},
    ]
