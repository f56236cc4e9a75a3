"""Three real processes, killed and restarted under load: no check may accuse the correct node."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from checkers.disk import read_disks
from checkers.history.events import ACCEPTED, REFUSED, UNANSWERED
from checkers.history.sealed_run import Run
from checkers.history.tables import OPS
from checkers.history.traces import parse_traces
from checkers.suite import judge
from checkers.verdict import Verdict
from node.errors import ErrorCode
from node.server.tool_client import Client
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ResourceChange,
)
from tests.support.counted import counted
from tests.support.histories import Row, fault, make_run, op
from tests.support.quorum_processes import (
    CLIENT_METRICS,
    NodeProcess,
    QuorumProcesses,
    get_interval,
    quorum_processes,
    wait_until,
)

T = TypeVar("T")

_LOAD = 20  # operations: what is done to the nodes is to meet some


class Recorder:
    """Closed clients that write unique values and read; indices are given under a lock. Times are
    since it was made."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.began_ns = time.monotonic_ns()
        self.ops: list[Row] = []
        self.faults: list[Row] = []
        self.index = 0

    def now_ns(self) -> int:
        return time.monotonic_ns() - self.began_ns

    def read(self, process: int, node: NodeProcess, key: str, phase: str = "main") -> bool:
        """At `node`; true if it succeeded."""
        row = self._invoke(process, node.id, key, None, phase)
        found = asked(node, lambda client: get_interval(client, key))
        self._complete(row, "info" if found is None else "ok", int(found) if found else None)
        return found is not None

    def write(self, process: int, node: NodeProcess, *keys: str, value: int) -> None:
        """The same value to all keys, in one request."""
        rows = [self._invoke(process, node.id, key, value, "main") for key in keys]
        told = asked(node, lambda client: set_intervals(client, keys, str(value)))
        for row in rows:
            row["request"] = rows[0]["op_id"] if len(rows) > 1 else None
            outcome = "ok" if told == {ErrorCode.NONE} else "info"
            self._complete(row, outcome, value)

    def write_nonsense(self, process: int, node: NodeProcess, key: str, value: int) -> None:
        """An interval below the least: INVALID_CONFIG, and nothing of it is written."""
        row = self._invoke(process, node.id, key, value, "main")
        told = asked(node, lambda client: set_intervals(client, [key], str(value)))
        if told == {ErrorCode.INVALID_CONFIG}:
            row["error"] = f"{REFUSED}an interval of {value}"
            self._complete(row, "fail", value)
        else:
            begins = ACCEPTED if told == {ErrorCode.NONE} else UNANSWERED
            row["error"] = f"{begins}an interval of {value}"
            self._complete(row, "info", value)

    @contextmanager
    def kill(self, node: NodeProcess) -> Iterator[None]:
        """A fault, until the node answers again."""
        row = fault(len(self.faults), "kill", 0, 0) | {"nodes": [node.id], "t_start": self.now_ns()}
        node.kill()
        row |= {"t_bit": self.now_ns()}
        yield
        row |= {"t_heal": self.now_ns()}
        node.start()
        node.client().close()
        self.faults.append(row | {"t_healed": self.now_ns()})

    def wait_for_more(self, count: int) -> None:
        """Until so many more operations have succeeded."""
        wanted = self._succeeded() + count
        wait_until(lambda: self._succeeded() >= wanted or None, f"{count} more operations succeed")

    def _succeeded(self) -> int:
        with self.lock:
            return sum(row["outcome"] == "ok" for row in self.ops)

    def _invoke(self, process: int, node: int, key: str, value: int | None, phase: str) -> Row:
        with self.lock:
            f = "read" if value is None else "write"
            row = op(f, value, self.index, None, key=key, process=process, node=node, phase=phase)
            row["t0"] = self.now_ns()
            self.index += 1
            self.ops.append(row)
            return row

    def _complete(self, row: Row, outcome: str, value: int | None) -> None:
        with self.lock:
            at = {"complete_index": self.index, "t1": self.now_ns()}
            row |= {**at, "outcome": outcome, "value": value}
            self.index += 1


def asked(node: NodeProcess, ask: Callable[[Client], T]) -> T | None:
    """None if no answer came."""
    try:
        with Client("127.0.0.1", node.outer) as client:
            return ask(client)
    except OSError:
        return None


def set_intervals(client: Client, keys: Sequence[str], value: str) -> set[ErrorCode]:
    """In one request; what was told of the keys."""
    change = ConfigChange(name="interval.ms", operation=0, value=value)
    resources = tuple(
        ResourceChange(type=CLIENT_METRICS, name=key, changes=(change,)) for key in keys
    )
    answer = client.send(AlterConfigsRequest(resources=resources, validate_only=False))
    assert isinstance(answer, AlterConfigsResponse)
    return {result.error for result in answer.results}


def load(quorum: QuorumProcesses, recorder: Recorder, process: int, stop: threading.Event) -> None:
    value = 1000 + 10_000 * process
    while not stop.is_set():
        value += 1
        node = quorum.leader()
        key, next_key = f"r-{value % 3}", f"r-{(value + 1) % 3}"
        match value % 8:
            case 0 | 2 | 4 | 6:
                recorder.read(process, node, key)
            case 1 | 3:
                recorder.write(process, node, key, value=value)
            case 5:
                recorder.write(process, node, key, next_key, value=value)
            case 7:
                recorder.write_nonsense(process, node, key, -value)


def hurt(quorum: QuorumProcesses, recorder: Recorder) -> None:
    """Kill the leader, then whoever leads after it, with the first one back; each under load."""
    for _ in range(2):
        recorder.wait_for_more(_LOAD)
        leader = quorum.leader()
        with recorder.kill(leader):
            wait_for_another(quorum, leader)
            recorder.wait_for_more(_LOAD)  # on the new leader, before the old one is back


def wait_for_another(quorum: QuorumProcesses, leader: NodeProcess) -> None:
    wait_until(lambda: quorum.leader() is not leader or None, "another one leads")


def read_last(quorum: QuorumProcesses, recorder: Recorder, key: str) -> None:
    wait_until(lambda: recorder.read(9, quorum.leader(), key, "final") or None, f"read {key}")


# No link is cut here.
NOTHING_TO_JUDGE = {
    "Q22-cut-off-leader-resigns",
    "Q23-return-without-disturbance",
    # So little is written that no snapshot is taken.
    "M2-equal-images",
    "Q14-log-starts-at-a-snapshot",
    "Q15-snapshots-of-committed",
    "Q16-leader-loads-none",
    "stored-snapshots-agree",
    "stored-snapshots-are-traced",
    "stored-snapshots-name-features",
    "stored-snapshots-are-committed",
    "stored-snapshots-equal-the-log",
    # No disk is lost.
    "stops-without-a-majority",
    # Nobody asks who votes.
    "told-voters-were",
    # Nobody changes who votes.
    "V2-one-change-uncommitted",
    "V3-epoch-committed-before-change",
    "V4-voters-of-the-log",
    "V5-acknowledged-changes-stay",
    "V6-committed-by-voters",
    "V9-removed-leader-resigns",
    "V10-added-when-caught-up",
    "V8-new-disk-is-no-voter",
    "V11-changes-come-to-an-end",
    "voters-as-asked-for",
    "voters-as-told",
    "one-told-change-undone",
    "Q19-voters-stand-for-election",
}
# Whether a leader that was killed had written what the next one cut off.
BY_CHANCE = {"Q10-no-cut-below-high-watermark", "controllers-do-not-deny-it"}
# Promises about time, and about how much succeeds in it: nobody measures how much of it this
# machine had for the nodes.
ABOUT_TIME = {
    "Q21-a-majority-elects",
    "calm-operations-are-quick",
    "followers-keep-up",
    "recovers-when-healed",
    "serves-in-calm",
    "serves-while-hurt",
    "workload-succeeded",
}


@pytest.mark.slow
def test_no_check_accuses_nodes_that_are_killed_and_restarted(tmp_path: Path) -> None:
    recorder, stop = Recorder(), threading.Event()
    with quorum_processes(tmp_path, 3) as quorum:
        clients = [
            threading.Thread(target=load, args=(quorum, recorder, process, stop))
            for process in range(3)
        ]
        for client in clients:
            client.start()
        try:
            hurt(quorum, recorder)
        finally:
            stop.set()
            for client in clients:
                client.join()
        for key in ("r-0", "r-1", "r-2"):
            read_last(quorum, recorder, key)
        for node in quorum.running():
            node.terminate()
        judgement = judge(whole_run(quorum, recorder))
    judged = [row for row in judgement.results if row.check not in ABOUT_TIME]
    bad = [row for row in judged if row.verdict is not Verdict.VALID]
    assert not bad, bad
    idle = {row.check for row in judged if not row.looked_at}
    assert NOTHING_TO_JUDGE <= idle <= NOTHING_TO_JUDGE | BY_CHANCE


def whole_run(quorum: QuorumProcesses, recorder: Recorder) -> Run:
    traces = [
        parse_traces(node.traces.read_bytes().splitlines(), recorder.began_ns)
        for node in quorum.nodes.values()
    ]
    assert not any(found.prose for found in traces)
    disks = read_disks(quorum.nodes[1].directory.parent)
    assert disks["disks"].column("problem").null_count == 3
    ended_ns = recorder.now_ns()
    run = make_run(faults=recorder.faults, duration_s=ended_ns / 1e9, duration_ns=ended_ns)
    tables = {
        **run.tables,
        **disks,
        "node_events": pa.concat_tables([found.table for found in traces]),
        "ops": pa.Table.from_pylist(recorder.ops, schema=OPS),
    }
    return counted(Run(directory=run.directory, info=run.info, tables=tables))
