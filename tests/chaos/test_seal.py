"""Pairing, typing and sealing; whatever lies in the directory of a run that was killed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from chaos.recorder import EventFields, Recorder
from chaos.run import judging
from chaos.run.judging import judge_directory
from chaos.run.seal import UnsealableError, faults_table, operations_table, seal, spans_table
from checkers.history.events import EventType, FaultStage, value_of
from checkers.history.sealed_run import Run, RunInfo, read_run_info, write_run_info
from checkers.history.store import read_run
from checkers.history.tables import ANSWERED, HARM
from tests.chaos.test_recorder import HandClock
from tests.support.harm import harm_of
from workloads.operation_history import Span


def invoke(i: int, p: int, f: str = "write", v: int | None = None) -> dict[str, Any]:
    where = {"k": "r-1", "n": 1, "ph": "main"}
    return {"type": "invoke", "i": i, "p": p, "f": f, "v": v, "t": 10 * i, **where}


def end(kind: str, i: int, p: int, v: int | None = None, e: str | None = None) -> dict[str, Any]:
    return {"type": kind, "i": i, "p": p, "v": v, "t": 10 * i, "e": e}


def test_operations_are_paired_by_process() -> None:
    events = [
        invoke(0, 1, v=100),
        invoke(1, 2, "read"),
        end("ok", 2, 2, 100),
        end("info", 3, 1, 100, "timed-out"),
    ]
    write, read = operations_table(events).to_pylist()
    assert (write["value"], write["outcome"], write["error"]) == (100, "info", "timed-out")
    assert (write["invoke_index"], write["complete_index"], write["t0"], write["t1"]) == (
        0,
        3,
        0,
        30,
    )
    assert (read["value"], read["outcome"], read["invoke_index"], read["complete_index"]) == (
        100, "ok", 1, 2,
    )  # fmt: skip


def test_an_operation_that_never_completed_is_an_info_without_an_end() -> None:
    (row,) = operations_table([invoke(0, 1, v=100)]).to_pylist()
    assert (row["outcome"], row["complete_index"], row["t1"]) == ("info", None, None)


@pytest.mark.parametrize("f", ANSWERED)
def test_the_value_of_what_was_asked_is_the_answer(f: str) -> None:
    (row,) = operations_table([invoke(0, 1, f), end("ok", 1, 1, -1)]).to_pylist()
    assert (row["f"], row["value"]) == (f, -1)


def test_who_votes_is_what_a_question_was_answered() -> None:
    asked = [invoke(0, 1, "describe-quorum"), end("ok", 1, 1, 3) | {"w": ["1:a", "2:b"]}]
    asked += [invoke(2, 1, "describe-quorum"), end("fail", 3, 1, None, "NOT_LEADER_OR_FOLLOWER")]
    told, refused = operations_table(asked).to_pylist()
    assert (told["value"], told["voters"]) == (3, ["1:a", "2:b"])
    assert (refused["value"], refused["voters"]) == (None, None)


def test_a_failed_read_has_no_value_and_a_failed_write_keeps_it() -> None:
    events = [invoke(0, 1, "read"), end("fail", 1, 1, None, "error-41")]
    events += [invoke(2, 1, v=7), end("fail", 3, 1, 7, "error-40")]
    read, write = operations_table(events).to_pylist()
    assert (read["value"], write["value"]) == (None, 7)


def test_operations_of_one_request_share_its_number_and_the_others_have_none() -> None:
    events = [
        invoke(0, 1, v=7) | {"r": 5},
        invoke(1, 2, "delete") | {"r": 5},
        invoke(2, 3, "read"),
        end("ok", 3, 1, 7),
        end("ok", 4, 2),
        end("ok", 5, 3),
    ]
    rows = operations_table(events).to_pylist()
    assert [(row["f"], row["value"], row["request"]) for row in rows] == [
        ("write", 7, 5),
        ("delete", None, 5),
        ("read", None, None),
    ]


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([invoke(0, 1), invoke(1, 1)], "two open operations"),
        ([end("ok", 0, 1)], "an operation that it never began"),
    ],
)
def test_a_history_that_nobody_could_have_recorded_is_refused(
    events: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(UnsealableError, match=problem):
        operations_table(events)


def stage(number: int, name: str, t: int, **fields: Any) -> dict[str, Any]:
    return {"type": "fault", "id": number, "stage": name, "t": t, **fields}


def test_the_stages_of_a_fault_make_one_row() -> None:
    harm = harm_of("partition", ways="out")
    events = [
        stage(
            0,
            "start",
            1,
            kind="partition",
            nodes=[2],
            links=["2->1"],
            params={"ways": "out"},
            harm=harm,
        ),
        stage(0, "bit", 2),
        stage(0, "heal", 3),
        stage(0, "healed", 4),
        stage(0, "evidence", 4, bit=True, evidence="swallowed 9 bytes", facts={"swallowed": 9}),
    ]
    (row,) = faults_table(events).to_pylist()
    assert [row[f"t_{name}"] for name in ("start", "bit", "heal", "healed")] == [1, 2, 3, 4]
    assert (row["kind"], row["nodes"], row["links"], row["bit"]) == (
        "partition",
        [2],
        ["2->1"],
        True,
    )
    assert json.loads(row["params"]) == {"ways": "out"}
    assert json.loads(row["facts"]) == {"swallowed": 9}
    assert {name: row[name] for name in HARM} == harm
    assert (row["cuts"], row["ends_process"]) == (True, False)


def test_a_fault_that_does_not_say_what_it_does_is_another_versions() -> None:
    events = [stage(0, "start", 1, kind="kill", nodes=[1], links=[], params={})]
    for harm in (None, {}, {"ends_process": True}):
        events[0]["harm"] = harm
        with pytest.raises(UnsealableError, match="another version"):
            faults_table(events)


def test_a_fault_that_was_never_healed_has_no_evidence() -> None:
    events = [
        stage(0, "start", 1, kind="kill", nodes=[1], links=[], params={}, harm=harm_of("kill"))
    ]
    (row,) = faults_table(events).to_pylist()
    assert (row["t_heal"], row["bit"], row["evidence"]) == (None, None, None)


def info(directory: Path) -> RunInfo:
    return RunInfo(
        run_id=directory.name,
        scenario="baseline",
        seed=1,
        target="fake",
        runtime="docker",
        nodes=3,
        duration_s=1.0,
        started_utc="2026-11-21T00:00:00+00:00",
        started_mono_ns=0,
    )


def recorded(directory: Path, writes: int) -> Path:
    """A run as it lies there before it is sealed; three frames of operations."""
    write_run_info(directory, info(directory))
    clock = HandClock()
    with Recorder(directory, clock) as recorder:
        process = recorder.new_process()
        fields: EventFields = {"kind": "kill", "nodes": [1], "links": [], "params": {}}
        fields["harm"] = dict(harm_of("kill"))
        recorder.fault(0, FaultStage.START, fields)
        for number in range(writes):
            clock.now += 1000
            recorder.invoke(process, "write", "r-0", 100 + number, 1, "main")
            recorder.complete(process, EventType.OK, 100 + number, None)
            if number % (writes // 3) == 0:
                recorder.flush()
    return directory


def test_sealing_twice_gives_the_same_tables(tmp_path: Path) -> None:
    directory = recorded(tmp_path, 30)
    assert seal(directory).truncated == ()
    first = read_run(directory)
    assert seal(directory).truncated == ()
    second = read_run(directory)
    assert first.tables["ops"].num_rows == 30
    assert all(first.tables[name].equals(second.tables[name]) for name in first.tables)


def test_a_torn_file_is_sealed_as_far_as_it_goes_and_said(tmp_path: Path) -> None:
    directory = recorded(tmp_path, 30)
    path = directory / "events-ops.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-3])
    (dropped,) = seal(directory).truncated
    assert "events-ops.jsonl.zst" in dropped
    run = read_run(directory)
    assert 0 < run.tables["ops"].num_rows < 30
    assert run.truncated == (dropped,)
    assert run.tables["faults"].num_rows == 1


@pytest.mark.parametrize(
    ("runtime", "seed", "is_read"), [("sim", 17, False), ("sim", 32, True), ("docker", 17, True)]
)
def test_of_simulated_runs_one_in_sixteen_is_read_back_to_be_judged(
    runtime: str, seed: int, is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown by a seal that tells of more than it wrote."""
    directory = recorded(tmp_path, 3)
    write_run_info(directory, replace(read_run_info(directory), runtime=runtime, seed=seed))
    monkeypatch.setattr(judging, "seal", lambda place: replace(seal(place), truncated=("more",)))
    if is_read:
        with pytest.raises(AssertionError, match="is not read as it was sealed"):
            judge_directory(directory, page=False)
    else:
        assert "more" in str(judge_directory(directory, page=False).results)


def test_a_run_that_recorded_nothing_is_sealed_empty(tmp_path: Path) -> None:
    directory = recorded(tmp_path, 3)
    for path in directory.glob("events-*"):
        path.unlink()
    seal(directory)
    assert all(table.num_rows == 0 for table in read_run(directory).tables.values())


def test_traces_of_all_nodes_are_gathered(tmp_path: Path) -> None:
    directory = recorded(tmp_path, 3)
    (directory / "logs").mkdir()
    for node in (1, 2):
        head = {"ev": "q.fsync", "node": node, "dir": "d", "inc": "i", "seq": 0}
        line = {**head, "mono": 7, "wall": 1, "end": 3}
        text = f"starting\n{json.dumps(line)}\n"
        (directory / "logs" / f"node-{node}.log").write_text(text)
    sealed = seal(directory)
    assert read_run(directory) == sealed
    events = sealed.tables["node_events"].to_pylist()
    assert [(event["node"], event["t"], event["log_end"]) for event in events] == [
        (1, 7, 3),
        (2, 7, 3),
    ]


KAFKA_LOG = """\
[2026-01-01 00:00:01,000] INFO Reading KRaft snapshot and log as part of the initialization (Raft)
[2026-01-01 00:00:02,000] WARN of a connection (NetworkClient)
[2026-01-01 00:00:03,000] ERROR Encountered metadata loading fault (LoggingFaultHandler)
java.lang.IllegalStateException: no such record
"""


def logged_errors(directory: Path, gives: tuple[str, ...]) -> Run:
    recorded(directory, 3)
    info = replace(read_run_info(directory), gives=gives, started_utc="2026-01-01T00:00:00.500Z")
    write_run_info(directory, info)
    (directory / "logs").mkdir()
    (directory / "logs" / "node-3.log").write_text(KAFKA_LOG)
    seal(directory)
    return read_run(directory)


def test_what_kafka_logged_as_errors_is_gathered(tmp_path: Path) -> None:
    run = logged_errors(tmp_path, ("node-logs",))
    began, error = run.tables["log_errors"].to_pylist()
    assert (began["node"], began["level"], began["cause"]) == (3, "INFO", None)
    assert (error["level"], error["t"]) == ("ERROR", 2_500_000_000)
    assert error["cause"] == "java.lang.IllegalStateException: no such record"
    assert run.rows["log_errors"] == {"3": 2}


def test_where_nobody_judges_by_it_it_is_not_read(tmp_path: Path) -> None:
    assert logged_errors(tmp_path, ()).tables["log_errors"].num_rows == 0


def test_what_is_no_run_is_not_sealed(tmp_path: Path) -> None:
    with pytest.raises(UnsealableError, match=r"run\.json"):
        seal(tmp_path)
    directory = recorded(tmp_path, 3)
    (directory / "run.json").write_text("{}")
    with pytest.raises(UnsealableError, match="not a run's description"):
        seal(directory)


@pytest.mark.parametrize("line", [b'{"type": "else"}', b"{}", b"7", b'{"type": []}', b"{"])
def test_an_event_that_no_version_records_is_named_with_its_file(
    tmp_path: Path, line: bytes
) -> None:
    directory = recorded(tmp_path, 3)
    with (directory / "events-ops.jsonl.zst").open("ab") as events:
        events.write(zstandard.ZstdCompressor(write_checksum=True).compress(line + b"\n"))
    with pytest.raises(UnsealableError, match=r"events-ops\.jsonl\.zst: not an event of ours"):
        seal(directory)


def told(*lines: tuple[str, int | None, int, int]) -> dict[str, Any]:
    return {
        "s": [[key, offset, value, records, None, None] for key, offset, value, records in lines]
    }


@pytest.mark.parametrize(
    ("lines", "done"),
    [
        (
            [("t-1", 7, 900, 2), ("t-0", 4, 100, 1), ("t-1", 9, 902, 1), ("t-0", 6, 101, 3)],
            [(False, 900, 7), (True, 100, 4), (False, 902, 9), (True, 101, 6)],
        ),
        # It polled what it had sent itself; and what has its value in another partition.
        (
            [("t-0", 4, 100, 1), ("t-0", 4, 100, 1), ("t-1", 6, 101, 3)],
            [(True, 100, 4), (False, 100, 4), (False, 101, 6), (True, 101, None)],
        ),
        ([("t-1", 7, 900, 2)], [(False, 900, 7), (True, 100, None), (True, 101, None)]),
        ([], [(True, 100, None), (True, 101, None)]),
    ],
)
def test_an_operation_that_sends_and_polls_is_a_row_of_micro_operations(
    lines: list[tuple[str, int | None, int, int]], done: list[tuple[bool, int, int | None]]
) -> None:
    asked = told(("t-0", None, 100, 1), ("t-0", None, 101, 3)) | {"a": -1, "x": True}
    events = [
        invoke(0, 1, "txn") | asked,
        invoke(1, 2, "poll"),
        end("ok", 2, 2) | told(("t-0", 0, 5, 1)),
        end("ok", 3, 1) | told(*lines),
    ]
    *rows, other = spans_table(events).to_pylist()
    assert [(row["sent"], row["value"], row["offset"]) for row in rows] == done
    assert {row["op_id"] for row in rows} == {0}
    assert {row["acks"] for row in rows if row["sent"]} == {-1}
    assert (other["op_id"], other["sent"], other["acks"]) == (1, False, None)


def test_what_was_sent_and_polled_is_sealed_in_spans(tmp_path: Path) -> None:
    write_run_info(tmp_path, info(tmp_path))
    batch = Span(key="t-0", value=value_of(0, 5), records=3)
    with Recorder(tmp_path, HandClock()) as recorder:
        sender, doubtful, reader = (recorder.new_process() for _ in range(3))
        recorder.invoke_send(sender, batch, acks=-1, idempotent=True, node=2, phase="main")
        lost = Span(key="t-1", value=value_of(1, 0))
        recorder.invoke_send(doubtful, lost, acks=1, idempotent=False, node=1, phase="main")
        recorder.complete_spans(sender, EventType.OK, [replace(batch, offset=40)], None)
        recorder.complete_spans(doubtful, EventType.INFO, [lost], "timed-out")
        recorder.invoke(reader, "poll", "t-0", None, 2, "final")
        polled = [
            Span(key="t-0", value=batch.value, records=3, offset=40, epoch=7, high_watermark=43),
            Span(key="t-0", value=-1, offset=43, epoch=7, high_watermark=43),
        ]
        recorder.complete_spans(reader, EventType.OK, polled, None)
    assert seal(tmp_path).truncated == ()
    tables = read_run(tmp_path).tables
    sent, in_doubt, *rest = tables["spans"].to_pylist()
    assert sent == {
        "op_id": 0, "key": "t-0", "sent": True, "offset": 40, "value": 5, "records": 3,
        "acks": -1, "idempotent": True, "epoch": None, "high_watermark": None,
    }  # fmt: skip
    assert (in_doubt["op_id"], in_doubt["offset"], in_doubt["value"]) == (1, None, 1 << 32)
    assert (in_doubt["acks"], in_doubt["idempotent"]) == (1, False)
    assert [(row["op_id"], row["sent"], row["acks"], row["idempotent"]) for row in rest] == [
        (2, False, None, None)
    ] * 2
    assert [(row["offset"], row["value"], row["records"], row["epoch"]) for row in rest] == [
        (40, 5, 3, 7),
        (43, -1, 1, 7),
    ]
    assert [row["high_watermark"] for row in rest] == [43, 43]
    send, doubt, poll = tables["ops"].to_pylist()
    assert (send["f"], send["key"], send["value"], send["outcome"]) == ("send", "t-0", 5, "ok")
    assert (doubt["outcome"], doubt["error"]) == ("info", "timed-out")
    assert (poll["f"], poll["phase"], poll["node"], poll["value"]) == ("poll", "final", 2, None)
