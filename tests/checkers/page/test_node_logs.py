"""Of a node's log, the lines that tell most about a witness."""

from dataclasses import replace
from pathlib import Path

from checkers.page.lanes import FaultWindow, fault_windows
from checkers.page.run_page import LogLine, log_excerpts, most_telling, read_lines
from checkers.verdict import CheckResult, EventValue, Verdict
from tests.checkers.page.samples import table
from tests.support.histories import MS, run_info

INFO = run_info(started_utc="2026-01-01T00:00:00.500+00:00", started_mono_ns=7_000 * MS)
KAFKA = """\
[2026-01-01 00:00:10,000] INFO nothing of note
[2026-01-01 00:00:10,100] INFO [Partition t-0 broker=1] ISR updated to 1
[2026-01-01 00:00:10,200] ERROR Error 17 processing append operation
org.apache.kafka.common.errors.NotEnoughReplicasException: too few
[2026-01-01 00:00:10,300] ERROR Error 18 processing append operation
[2026-01-01 00:05:00,000] ERROR [Partition t-0 broker=1] long after
"""
TRACE = '{"ev":"q.state","node":1,"mono":16600000000}\n{"ev":"q.hwm","mono":16610000000}\n'


def result(t_ns: int) -> CheckResult:
    event: dict[str, EventValue] = {"what": "sent", "t_ns": t_ns, "node": 1, "key": "t-0"}
    return CheckResult(check="x", verdict=Verdict.INVALID, message="", count=1, witness=(event,))


def test_lines_have_the_time_of_the_run_by_either_clock() -> None:
    kafka = list(read_lines(KAFKA, INFO))
    assert [line.at_ns // MS for line in kafka] == [9_500, 9_600, 9_700, 9_700, 9_800, 299_500]
    assert kafka[0].text == "INFO nothing of note"
    assert [line.at_ns // MS for line in read_lines(TRACE, INFO)] == [9_600, 9_610]


def test_lines_near_the_witness_are_shown_once_however_often_they_repeat() -> None:
    shown = most_telling(list(read_lines(KAFKA, INFO)), result(9_600 * MS))
    assert [line.text.split()[0] for line in shown] == [
        "INFO",
        "INFO",
        "ERROR",
        "org.apache.kafka.common.errors.NotEnoughReplicasException:",
    ]


def test_the_key_comes_before_warnings_and_those_before_the_rest() -> None:
    many = "".join(f"[2026-01-01 00:00:10,000] INFO {'a' * n}\n" for n in range(1, 40))
    shown = most_telling(list(read_lines(KAFKA + many, INFO)), result(9_500 * MS))
    told = [line.text for line in shown]
    assert any("ISR updated" in text for text in told)
    assert any("Error 17" in text for text in told)
    assert len(told) == 12


def test_the_line_of_an_events_own_moment_is_shown_and_marked() -> None:
    """One like it came before, near the same event, and nearer to another one."""
    reads = [
        LogLine(at_ns=at * MS, text=f'{{"ev":"c.read","key":"t-0","seq":{at}}}')
        for at in (3_000, 4_000, 4_790, 4_800, 4_801, 9_000)
    ]
    shown = most_telling(reads, result(4_800 * MS))
    assert [(line.at_ns // MS, line.accused) for line in shown] == [(4_800, True)]
    twice = replace(result(4_800 * MS), witness=(*result(4_800 * MS).witness, {"t_ns": 3_001 * MS}))
    shown = most_telling(reads, twice)
    assert [(line.at_ns // MS, line.accused) for line in shown] == [(3_000, True), (4_800, True)]


def test_nodes_of_the_witness_and_of_its_faults_are_shown_and_linked(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for node in (1, 2, 3):
        (tmp_path / "logs" / f"node-{node}.log").write_text(KAFKA)
    shown = log_excerpts(tmp_path, INFO, result(9_600 * MS), [_fault(9_600, 2), _fault(1, 3)])
    assert shown is not None
    assert 'href="logs/node-1.log"' in shown
    assert 'href="logs/node-2.log"' in shown
    assert "node-3" not in shown
    assert "9.600 s  INFO [Partition t-0 broker=1] ISR updated to 1" in shown


def test_without_logs_there_is_nothing(tmp_path: Path) -> None:
    assert log_excerpts(tmp_path, INFO, result(0), []) is None


def _fault(start_ms: int, node: int) -> FaultWindow:
    row = {"fault_id": 0, "kind": "kill", "nodes": [node], "links": []}
    (window,) = fault_windows(table("faults", [{**row, "t_start": start_ms * MS}]))
    return window
