"""The register workload against a quorum of real processes on loopback, whose leader is killed."""

import asyncio
from pathlib import Path

import pytest

from chaos.recorder import MachineClock, Recorder
from chaos.run.seal import seal
from checkers.history.sealed_run import RunInfo, write_run_info
from checkers.history.store import read_run
from checkers.registers.linearizable import linearizable
from checkers.verdict import Verdict
from tests.support.quorum_processes import PATIENCE_S, QuorumProcesses, quorum_processes
from workloads.connection import ClientEntry, TcpDriver
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

LOAD = RegisterOptions(concurrency=6, rate=300, live_keys=2, operations_per_key=100)


async def acknowledged(workload: RegisterWorkload, more: int) -> None:
    wanted = workload.acknowledged_writes + more
    async with asyncio.timeout(PATIENCE_S):
        while workload.acknowledged_writes < wanted:
            await asyncio.sleep(0.02)


async def hurt(quorum: QuorumProcesses, recorder: Recorder) -> tuple[str, ...]:
    """Load, kill the leader, load, start it again, load; the keys that could not be read then."""
    entries = {n.id: ClientEntry(host="127.0.0.1", port=n.outer) for n in quorum.nodes.values()}
    workload = RegisterWorkload(TcpDriver(entries), recorder, seed=3, options=LOAD)
    running = asyncio.create_task(workload.run())
    try:
        await acknowledged(workload, 50)
        leader = await asyncio.to_thread(quorum.leader)
        leader.kill()
        await acknowledged(workload, 50)
        leader.start()
        await acknowledged(workload, 50)
        workload.stop()
        await running
        return await workload.read_all(PATIENCE_S)
    finally:
        running.cancel()
        await workload.close()


@pytest.mark.slow
def test_a_quorum_that_loses_its_leader_stays_linearizable(tmp_path: Path) -> None:
    clock = MachineClock()
    write_run_info(
        tmp_path,
        RunInfo(
            run_id="loopback",
            scenario="kill-leader",
            seed=3,
            target="node",
            runtime="loopback",
            nodes=3,
            duration_s=1.0,
            started_utc="2026-11-21T00:00:00+00:00",
            started_mono_ns=clock.started_mono_ns,
        ),
    )
    with quorum_processes(tmp_path / "nodes", 3) as quorum, Recorder(tmp_path, clock) as recorder:
        assert asyncio.run(hurt(quorum, recorder)) == ()
    assert seal(tmp_path).truncated == ()
    run = read_run(tmp_path)
    result = linearizable(run)
    assert result.verdict is Verdict.VALID, result.message
    ops = run.tables["ops"].to_pylist()
    final = [row for row in ops if row["phase"] == "final"]
    assert {row["key"] for row in final} == {row["key"] for row in ops}
    assert len({row["node"] for row in ops if row["f"] == "write" and row["outcome"] == "ok"}) > 1
