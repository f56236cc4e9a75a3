"""A node that ends at its start refuses; one that is not heard of may not have been let run."""

import asyncio

import pytest

from chaos.cluster.cluster_errors import ClusterError, DiedAtStartError
from chaos.cluster.interface import NodeId
from chaos.labs.audit.one_cut import started
from chaos.run.starvation import MachineWatch
from tests.support.fake_cluster import FakeCluster

ONE, TWO = NodeId(1), NodeId(2)
SILENT = ClusterError("does not answer within 30 s")
DIED = DiedAtStartError("exited during startup (code 1)")


@pytest.mark.parametrize(
    ("ends", "late_ms", "refusal", "in_doubt"),
    [
        ({}, 5000.0, "", False),
        ({ONE: SILENT}, 5000.0, str(SILENT), True),
        ({ONE: SILENT}, 20.0, str(SILENT), False),
        ({ONE: SILENT, TWO: DIED}, 5000.0, f"{SILENT}\n{DIED}", False),
    ],
)
def test_only_a_node_that_ended_by_itself_refuses_on_a_starved_machine(
    ends: dict[NodeId, ClusterError],
    late_ms: float,
    refusal: str,
    in_doubt: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def start(_: FakeCluster, node: NodeId) -> None:
        if node in ends:
            raise ends[node]

    monkeypatch.setattr(FakeCluster, "start", start)
    monkeypatch.setattr(MachineWatch, "figures", lambda *_: {"longest_late_ms": late_ms})
    said, doubt = asyncio.run(started(FakeCluster(), [ONE, TWO]))
    assert said == refusal
    assert doubt.startswith("the machine was starved") == in_doubt
    assert bool(doubt) == in_doubt
