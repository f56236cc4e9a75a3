"""The simulated cluster's promises: life, powers and evidence, and what it leaves."""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import Cluster, DiskTrouble, Link, NodeId, NodeStatus, PowerCutMode
from chaos.cluster.powers import Cuttable, DiskTroubling, Killable, Pausable, Slowable
from chaos.cluster.probe import answers
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.world import SimWorld
from chaos.nemesis.abilities import lacking
from chaos.probes import NoLeaderError, QuorumProbe, driver_for
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.disk import read_disks
from node import ids
from node.ids import ReplicaKey
from node.storage.format import read_voters

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)


def lived(
    story: Callable[[SimCluster], Awaitable[None]],
    *,
    seed: int = 1,
    nodes: int = 3,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Tell a story on a cluster without load."""

    async def main() -> None:
        cluster = world.cluster(
            run_id="", nodes=nodes, target="node", keep=False, directory=None, settings=settings
        )
        assert isinstance(cluster, SimCluster)
        await cluster.create()
        await story(cluster)
        await cluster.destroy()
        await cluster.destroy()

    world = SimWorld(seed=seed)
    world.run(main())


def test_it_has_every_power_that_any_scenario_needs() -> None:
    async def story(cluster: Cluster) -> None:
        for power in (Killable, Pausable, Cuttable, Slowable, DiskTroubling):
            assert isinstance(cluster, power)
        for scenario in CONTROLLER_SCENARIOS.values():
            assert not lacking(cluster, scenario.needs)

    lived(story)


def test_links_that_are_cut_before_any_process_runs_let_nobody_lead() -> None:
    every = [Link(one, other) for one in (ONE, TWO, THREE) for other in (ONE, TWO, THREE)]
    cut = [link for link in every if link.source != link.destination]

    async def main() -> None:
        cluster = world.cluster(run_id="", nodes=3, target="node", keep=False, directory=None)
        assert isinstance(cluster, SimCluster)
        await cluster.prepare()
        assert {await cluster.status(node) for node in cluster.nodes} == {NodeStatus.OFF}
        await cluster.cut(cut)
        await cluster.start_all()
        await cluster.until_ready()
        assert cluster.starts == {ONE: 1, TWO: 1, THREE: 1}
        probe = QuorumProbe(driver_for(cluster))
        with pytest.raises(NoLeaderError):
            await probe.leader(10.0)
        healed = await cluster.heal(cut)
        assert all(evidence.bit for evidence in healed.values())
        assert await probe.leader(10.0) in cluster.nodes
        await probe.close()
        await cluster.destroy()

    world = SimWorld(seed=1)
    world.run(main())


def test_what_a_run_made_is_gone_when_it_has_ended() -> None:
    """A campaign's worker makes thousands of them. Their worlds may be kept for what they say."""

    async def main() -> weakref.ref[Cluster]:
        cluster = world.cluster(run_id="", nodes=3, target="node", keep=False, directory=None)
        await cluster.create()
        await cluster.until_ready()
        await cluster.destroy()
        return weakref.ref(cluster)

    world = SimWorld(seed=1)
    assert world.run(main())() is None
    assert world.virtual_s > 0


@pytest.mark.parametrize("nodes", [1, 3, 5, 7])
def test_when_it_is_created_every_node_answers(nodes: int) -> None:
    async def story(cluster: SimCluster) -> None:
        assert list(cluster.nodes) == list(range(1, nodes + 1))
        for node, address in cluster.bootstrap.items():
            assert await cluster.status(node) is NodeStatus.RUNNING
            assert await answers(address, 1.0)

    lived(story, nodes=nodes)


def test_what_is_destroyed_is_silent() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.destroy()
        for address in cluster.bootstrap.values():
            assert not await answers(address, 1.0)

    lived(story)


def test_a_kill_keeps_what_was_written_and_a_start_brings_it_back() -> None:
    async def story(cluster: SimCluster) -> None:
        before = dict(cluster.machines[ONE].drive.log_directory())
        evidence = await cluster.kill(ONE)
        assert evidence.bit, evidence
        assert await cluster.status(ONE) is NodeStatus.OFF
        assert not await answers(cluster.bootstrap[ONE], 1.0)
        again = await cluster.kill(ONE)
        assert not again.bit
        assert again.what == "no process ran that could be killed"
        assert before.keys() <= cluster.machines[ONE].drive.log_directory().keys()
        await cluster.start(ONE)
        assert await answers(cluster.bootstrap[ONE], 1.0)
        await cluster.start(ONE)  # who runs is left alone
        assert cluster.machines[ONE].stdout.count(b'"n.start"') == 2

    lived(story)


def test_a_pause_is_seen_and_ends() -> None:
    async def story(cluster: SimCluster) -> None:
        assert (await cluster.pause(TWO)).bit
        assert await cluster.status(TWO) is NodeStatus.PAUSED
        await cluster.resume(TWO)
        assert await cluster.status(TWO) is NodeStatus.RUNNING
        await cluster.kill(TWO)
        assert not (await cluster.pause(TWO)).bit
        await cluster.resume(TWO)
        assert await cluster.status(TWO) is NodeStatus.OFF

    lived(story)


def test_a_paused_node_can_be_stopped() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.pause(TWO)
        await cluster.stop(TWO)
        assert cluster.machines[TWO].exit_code == 0
        await cluster.stop(TWO)
        assert await cluster.status(TWO) is NodeStatus.OFF

    lived(story)


def test_a_cut_of_busy_and_of_idle_links_leaves_evidence() -> None:
    async def story(cluster: SimCluster) -> None:
        links = [Link(one, other) for one in (ONE,) for other in (TWO, THREE)]
        await cluster.cut(links)
        await cluster.cut(links)  # changes nothing
        await asyncio.sleep(1)
        found = await cluster.heal(links)
        assert list(found) == links
        for link, evidence in found.items():
            assert evidence.bit, evidence
            assert evidence.what.endswith(f"bytes swallowed on {link}")
            assert not evidence.facts["opposite_cut"]
        assert await cluster.heal(links) == {}

    lived(story)


def test_a_healed_cluster_leads_again() -> None:
    async def story(cluster: SimCluster) -> None:
        links = [Link(a, b) for a in cluster.nodes for b in cluster.nodes if a != b]
        await cluster.cut(links)
        await asyncio.sleep(10)
        assert all(evidence.bit for evidence in (await cluster.heal(links)).values())
        account = [len(machine.stdout) for machine in cluster.machines.values()]
        await asyncio.sleep(10)
        states = [
            machine.stdout[length:].count(b'"state":"leader"')
            for length, machine in zip(account, cluster.machines.values(), strict=True)
        ]
        assert sum(states) >= 1

    lived(story)


def test_slow_links_are_measured_between_nodes_that_run() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.slow_links(150)
        await cluster.kill(ONE)
        evidence = await cluster.quicken_links()
        assert evidence.bit, evidence
        assert {name.split()[0] for name in evidence.facts} == {"2->3", "3->2"}
        assert not (await cluster.quicken_links()).bit, "they are slow no more"
        await cluster.start(ONE)

    lived(story)


@pytest.mark.parametrize("mode", PowerCutMode)
def test_a_power_cut_of_everybody_is_proved_by_the_canary(mode: PowerCutMode) -> None:
    async def story(cluster: SimCluster) -> None:
        for _ in range(3):
            first = await cluster.power_off(cluster.nodes, mode)
            assert not any(evidence.bit for evidence in first.values()), "not looked at yet"
            for node in cluster.nodes:
                assert await cluster.status(node) is NodeStatus.OFF
                await cluster.start(node)
                evidence = await cluster.power_evidence(node)
                assert evidence.bit, evidence
                assert evidence.facts["mode"] == mode
                assert evidence.facts["exit_code"] == 137
            await asyncio.sleep(3)

    lived(story)


@pytest.mark.parametrize("trouble", DiskTrouble)
def test_troubled_syncs_are_counted_and_end_with_the_power(trouble: DiskTrouble) -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.trouble_disks(cluster.nodes, trouble)
        await asyncio.sleep(10)  # a quorum of stalled disks comes to little
        await cluster.power_off(cluster.nodes)
        for node in cluster.nodes:
            await cluster.start(node)
            evidence = await cluster.power_evidence(node)
            assert evidence.bit, evidence
            assert int(evidence.facts[f"{trouble}_syncs"]) > 0
            drive = cluster.machines[node].drive
            assert not drive.files.trouble.lying
            assert drive.files.trouble.sync_delay_ns == 0
        await cluster.power_off([ONE])
        await cluster.start(ONE)
        assert f"{trouble}_syncs" not in (await cluster.power_evidence(ONE)).facts

    lived(story)


def test_a_node_that_cannot_start_says_why() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.kill(TWO)
        machine = cluster.machines[TWO]
        machine.drive.disk.replace("__cluster_metadata-0/quorum-state", b"{")
        with pytest.raises(ClusterError, match="node 2 exited during startup") as caught:
            await cluster.start(TWO)
        assert "quorum-state is damaged" in str(caught.value)
        assert machine.exit_code == 1

    lived(story)


def test_a_wipe_gives_a_new_directory_id() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.kill(THREE)
        before = cluster.machines[THREE].directory_id
        evidence = await cluster.wipe(THREE)
        assert evidence.bit, evidence
        assert cluster.machines[THREE].directory_id != before
        assert not any(
            path.endswith(".log") for path in cluster.machines[THREE].drive.log_directory()
        )

    lived(story)


def test_a_wiped_disk_knows_no_voters_and_the_lost_one_is_kept(tmp_path: Path) -> None:
    """Two wiped disks with a set of voters of their own would be a majority of it."""

    async def story(cluster: SimCluster) -> None:
        machine = cluster.machines[THREE]
        assert len(read_voters(machine.drive.disk)) == 3
        lost = machine.drive.log_directory()
        for _ in range(2):
            await cluster.kill(THREE)
            await cluster.wipe(THREE)
            assert read_voters(machine.drive.disk) == ()
        await cluster.collect(tmp_path)
        kept = tmp_path / "disks" / "lost"
        assert sorted(path.name for path in kept.iterdir()) == ["node-3-1", "node-3-2"]
        assert (kept / "node-3-1" / "meta.properties").read_bytes() == lost["meta.properties"]
        tables = read_disks(tmp_path / "disks")
        assert tables["disks"]["node"].to_pylist() == [1, 2, 3]

    lived(story, settings={"quorum": "dynamic"})


def test_listed_voters_are_named_by_the_log_and_a_wiped_disk_is_none_of_them() -> None:
    """KIP-856: also after all lost their power, the second time with one disk replaced."""

    def voters(cluster: SimCluster, node: NodeId) -> list[ReplicaKey]:
        process = cluster.machines[node].process
        return [] if process is None else list(process.node.core.raft.quorum.voters.keys)

    async def until(condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.1)

    async def story(cluster: SimCluster) -> None:
        machines = cluster.machines
        first = [ReplicaKey(ids.NodeId(n), machines[n].directory_id) for n in (ONE, TWO, THREE)]
        await until(lambda: all(voters(cluster, node) == first for node in machines))
        for is_wiped in (False, True):
            await cluster.power_off([ONE, TWO, THREE])
            if is_wiped:
                await cluster.wipe(THREE)
            await asyncio.gather(*(cluster.start(node) for node in machines))
            await until(lambda: all(voters(cluster, node) == first for node in machines))
        process = machines[THREE].process
        assert process is not None
        assert not process.node.core.raft.quorum.is_voter
        assert cluster.broken_invariant is None

    lived(story)


def test_what_it_leaves_is_laid_out_as_containers_do(tmp_path: Path) -> None:
    async def story(cluster: SimCluster) -> None:
        await asyncio.sleep(5)
        await cluster.collect(tmp_path)

    lived(story)
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs == [f"node-{n}.{kind}" for n in (1, 2, 3) for kind in ("err", "log")]
    assert "serving on CONTROLLER://" in (tmp_path / "logs" / "node-1.err").read_text()
    tables = read_disks(tmp_path / "disks")
    assert tables["disks"]["node"].to_pylist() == [1, 2, 3]
    assert tables["disks"]["problem"].to_pylist() == [None] * 3
    assert tables["log_batches"].num_rows >= 3


def test_nothing_of_it_can_be_kept() -> None:
    world = SimWorld(seed=1)
    with pytest.raises(ClusterError, match="ends with its run"):
        world.cluster(run_id="", nodes=3, target="node", keep=True, directory=None)


def test_a_shut_entrance_keeps_clients_out_and_lets_nodes_meet() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.close_entrances([ONE])
        assert not await answers(cluster.bootstrap[ONE], 1.0)
        assert await answers(cluster.bootstrap[TWO], 1.0)
        evidence = (await cluster.open_entrances([ONE, TWO]))[ONE]
        assert evidence.bit, evidence
        assert await answers(cluster.bootstrap[ONE], 1.0)
        assert await cluster.open_entrances([ONE]) == {}

    lived(story)


@pytest.mark.parametrize("synced", [True, False])
def test_what_stopped_nodes_did_not_sync_is_gone_unless_all_is_written_out(synced: bool) -> None:
    async def story(cluster: SimCluster) -> None:
        files = cluster.machines[ONE].drive.files
        files.close(files.open("left", create=True))
        await cluster.stop_then_power_off(cluster.nodes, synced=synced)
        for node in cluster.nodes:
            await cluster.start(node)
            evidence = await cluster.power_evidence(node)
            assert evidence.bit, evidence
            assert evidence.facts["synced"] is synced
        assert files.exists("left") is synced

    lived(story)
