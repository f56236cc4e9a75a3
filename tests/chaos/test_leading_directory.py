"""The directory by which a leader leads is removed, or the fault says that it was not."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

from chaos.cluster.interface import FaultEvidence, NodeId
from chaos.nemesis.fault import Hit, cure, inject
from chaos.nemesis.kinds.voters import RemoveLeadingDirectory
from chaos.nemesis.victims import ControllerLeader
from chaos.probes import driver_for
from chaos.recorder import Recorder
from chaos.run.watches import QuorumAnswers
from tests.chaos.test_recorder import HandClock
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time
from tests.workloads.test_operator import REACHED, voter
from workloads.operation_history import Tally
from workloads.operator import Operator

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)
LOST = UUID(int=2**128 - 1)  # behind all others in the order of an answer
FAULT = RemoveLeadingDirectory(victim=ControllerLeader())


def proved(
    directory: Path,
    cluster: FakeCluster,
    node: NodeId,
    meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> tuple[Hit, FaultEvidence]:
    """The fault on this node, and what is proved of it; node 1 leads."""

    async def main(recorder: Recorder) -> tuple[Hit, FaultEvidence]:
        await cluster.create()
        operator = Operator(
            driver_for(cluster), REACHED, recorder, Tally(), QuorumAnswers(recorder, HandClock())
        )
        try:
            async with asyncio.TaskGroup() as group:
                if meanwhile is not None:
                    group.create_task(meanwhile())
                hit = await inject(cluster, FAULT, (node,), operator=operator)
            return hit, await cure(cluster, hit)
        finally:
            operator.close()
            await cluster.destroy()

    with Recorder(directory, HandClock()) as recorder:
        return in_virtual_time(main(recorder))


def test_a_leader_loses_the_vote_by_which_it_leads(tmp_path: Path) -> None:
    cluster = FakeCluster(election_s=0.1)
    leading, three = voter(cluster, ONE), voter(cluster, THREE)
    cluster.registers.voters.add((ONE, LOST))

    async def resign() -> None:
        while len(cluster.registers.voters) == 4:
            await asyncio.sleep(0.01)
        await cluster.stop(ONE)  # another is elected

    hit, evidence = proved(tmp_path, cluster, ONE, resign)
    assert evidence.bit, evidence.what
    assert f"it led as {leading}, and node 2 leads" in evidence.what
    assert hit.evidence[ONE].facts["removed"] == leading.directory_id
    voters = {node for node, _ in cluster.registers.voters}
    assert voters == {ONE, TWO, THREE}
    assert str(three) in str(evidence.facts)
    assert (ONE, LOST) not in cluster.registers.voters


def test_who_has_one_directory_keeps_it(tmp_path: Path) -> None:
    cluster = FakeCluster()
    _, evidence = proved(tmp_path, cluster, ONE)
    assert not evidence.bit
    assert "it did not lead, as one voter of two of its node" in evidence.what
    assert len(cluster.registers.voters) == 3


def test_who_follows_keeps_both(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.registers.voters.add((TWO, LOST))
    _, evidence = proved(tmp_path, cluster, TWO)
    assert not evidence.bit
    assert len(cluster.registers.voters) == 4
