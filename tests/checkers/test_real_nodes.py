"""Three real processes, killed and restarted under load: no check may accuse the correct node."""

import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from checkers.disk import read_disks
from checkers.history.sealed_run import Run
from checkers.history.tables import OPS
from checkers.history.traces import parse_traces
from checkers.suite import judge
from checkers.verdict import Verdict
from node.server.tool_client import Client
from tests.support.counted import counted
from tests.support.histories import Row, make_run, op
from tests.support.quorum_processes import (
    NodeProcess,
    QuorumProcesses,
    get_interval,
    quorum_processes,
    set_interval,
    wait_until,
)

_LOAD = 20  # operations: what is done to the nodes is to meet some


class Recorder:
    """Closed clients that write unique values and read; indices are given under a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ops: list[Row] = []
        self.index = 0

    def ask(self, process: int, node: NodeProcess, key: str, value: int | None, phase: str) -> bool:
        """One operation at `node`; true if it succeeded."""
        row = self._invoke(process, node.id, key, value, phase)
        found: str | bool | None
        try:
            with Client("127.0.0.1", node.outer) as client:
                found = (
                    get_interval(client, key) if value is None else set_interval(client, key, value)
                )
            outcome = "info" if found is None else "ok"
        except OSError:
            found, outcome = None, "info"
        self._complete(row, outcome, int(found) if isinstance(found, str) and found else value)
        return outcome == "ok"

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
            row["t0"] = time.monotonic_ns()
            self.index += 1
            self.ops.append(row)
            return row

    def _complete(self, row: Row, outcome: str, value: int | None) -> None:
        with self.lock:
            at = {"complete_index": self.index, "t1": time.monotonic_ns()}
            row |= {**at, "outcome": outcome, "value": value}
            self.index += 1


def load(quorum: QuorumProcesses, recorder: Recorder, process: int, stop: threading.Event) -> None:
    value = 1000 + 10_000 * process
    while not stop.is_set():
        value += 1
        node = quorum.leader()
        wanted = value if value % 2 else None
        recorder.ask(process, node, f"r-{value % 3}", wanted, "main")


def hurt(quorum: QuorumProcesses, recorder: Recorder) -> None:
    """Kill the leader, then whoever leads after it, with the first one back; each under load."""
    for _ in range(2):
        recorder.wait_for_more(_LOAD)
        leader = quorum.leader()
        leader.kill()
        wait_for_another(quorum, leader)
        recorder.wait_for_more(_LOAD)  # on the new leader, before the old one is back
        leader.start()
        leader.client().close()


def wait_for_another(quorum: QuorumProcesses, leader: NodeProcess) -> None:
    wait_until(lambda: quorum.leader() is not leader or None, "another one leads")


def read_last(quorum: QuorumProcesses, recorder: Recorder, key: str) -> None:
    wait_until(lambda: recorder.ask(9, quorum.leader(), key, None, "final") or None, f"read {key}")


# The harness hurts nobody here, and its clients write one register at a time.
NOTHING_TO_JUDGE = {
    "Q10-no-cut-below-high-watermark",
    "Q21-a-majority-elects",
    "Q22-cut-off-leader-resigns",
    "Q23-return-without-disturbance",
    "calm-operations-are-quick",
    "faults-bit",
    "followers-keep-up",
    "requests-are-whole",
    "wrong-requests-refused",
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
    few = "workload-succeeded"  # on a busy machine, little may succeed while nodes are down
    bad = [r for r in judgement.results if r.verdict is not Verdict.VALID and r.check != few]
    assert not bad, bad
    idle = {row.check for row in judgement.results if not row.looked_at}
    assert idle <= NOTHING_TO_JUDGE


def whole_run(quorum: QuorumProcesses, recorder: Recorder) -> Run:
    traces = [
        parse_traces(node.traces.read_bytes().splitlines(), 0) for node in quorum.nodes.values()
    ]
    assert not any(found.prose for found in traces)
    disks = read_disks(quorum.nodes[1].directory.parent)
    assert disks["disks"].column("problem").null_count == 3
    run = make_run()
    tables = {
        **run.tables,
        **disks,
        "node_events": pa.concat_tables([found.table for found in traces]),
        "ops": pa.Table.from_pylist(recorder.ops, schema=OPS),
    }
    return counted(Run(directory=run.directory, info=run.info, tables=tables))
