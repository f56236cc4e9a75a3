"""A leader that is killed as soon as its own log says that it is no voter: has it bitten?"""

from pathlib import Path

import pytest

from chaos.cluster.interface import FaultEvidence, NodeId, NodeStatus, Removal
from chaos.nemesis.fault import cure, inject
from chaos.nemesis.kinds.removals import KillRemoved
from chaos.nemesis.victims import ControllerLeader
from chaos.probes import driver_for
from chaos.recorder import Recorder
from chaos.run.seal import operations_table
from chaos.run.watches import QuorumAnswers
from tests.chaos.test_recorder import HandClock, lines_of
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_node import Misbehaviour
from tests.support.virtual_time import in_virtual_time
from tests.workloads.test_operator import REACHED
from workloads.operation_history import Tally
from workloads.operator import Operator

ONE = NodeId(1)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.nemesis.kinds.removals._STILL_LEADS_S", 0.5)


def killed(
    directory: Path, cluster: FakeCluster, removal: Removal, leader: int | None = ONE
) -> FaultEvidence:
    """What is known of it after the cure; meanwhile the victim is off in any case."""

    async def main(recorder: Recorder) -> FaultEvidence:
        await cluster.create()
        cluster.registers.leader = leader
        answers = QuorumAnswers(recorder, HandClock())
        operator = Operator(driver_for(cluster), REACHED, recorder, Tally(), answers)
        fault = KillRemoved(victim=ControllerLeader(), removal=removal)
        try:
            hit = await inject(cluster, fault, (ONE,), operator=operator)
            assert await cluster.status(ONE) is NodeStatus.OFF
            return await cure(cluster, hit)
        finally:
            operator.close()
            await cluster.destroy()

    with Recorder(directory, HandClock()) as recorder:
        return in_virtual_time(main(recorder))


def asked(directory: Path) -> list[str]:
    rows = operations_table(lines_of(directory / "events-ops.jsonl.zst")).to_pylist()
    return [row["f"] for row in rows]


def test_it_was_a_voter_and_then_none(tmp_path: Path) -> None:
    evidence = killed(tmp_path, FakeCluster(), Removal.ASKED)
    assert evidence.bit
    assert "voters were 1:" in evidence.what
    assert ", and are 2:" in evidence.what
    assert asked(tmp_path) == ["remove-voter"]


def test_unasked_it_is_killed_alone(tmp_path: Path) -> None:
    evidence = killed(tmp_path, FakeCluster(), Removal.UNASKED)
    assert evidence.bit
    assert "voters" not in evidence.what
    assert asked(tmp_path) == []


def test_whose_log_never_said_so_was_not_bitten(tmp_path: Path) -> None:
    """The request is refused: the run is void, and nobody is accused of what comes of it."""
    cluster = FakeCluster()
    cluster.fakes[ONE].misbehaviour = Misbehaviour.REFUSE
    assert not killed(tmp_path, cluster, Removal.ASKED).bit
    assert asked(tmp_path) == ["remove-voter"]


def test_where_nobody_leads_any_more_nobody_is_asked(tmp_path: Path) -> None:
    evidence = killed(tmp_path, FakeCluster(), Removal.ASKED, leader=None)
    assert (evidence.bit, asked(tmp_path)) == (False, [])
    assert "there is no leader" in evidence.what


def test_who_is_no_voter_has_nothing_to_be_removed_from(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.registers.voters = {each for each in cluster.registers.voters if each[0] != ONE}
    evidence = killed(tmp_path, cluster, Removal.ASKED)
    assert (evidence.bit, asked(tmp_path)) == (False, [])
    assert "it was no voter" in evidence.what
