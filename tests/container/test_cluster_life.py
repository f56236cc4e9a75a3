"""Clusters come and go: side by side, kept, attached to, and after a crash of the harness."""

import asyncio
import subprocess
import sys
from pathlib import Path

import docker
import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.clusters import PoweredDockerCluster, attached_cluster, new_cluster
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.docker.labels import Owner, RunLabels
from chaos.cluster.docker.registry import RunLock, kept, left_of, reap
from chaos.cluster.interface import Link, NodeStatus
from chaos.cluster.powers import Cuttable, PowerCuttable
from chaos.cluster.probe import answers
from chaos.errors import UsageError
from chaos.setup import docker_engine, images
from tests.container.clusters import ONE, TWO, cluster_of_stand_ins, run, run_id
from tests.support.stand_in import StandIn


def loop_devices(prefix: str) -> list[str]:
    """As the kernel knows them, by the name of their backing file."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if Path(backing.read_text().strip()).name.startswith(prefix):
            found.append(backing.parts[3])
    return found


def agent_image(client: docker.DockerClient) -> str:
    return images.agent_recipe(images.base_id(client)).name


def test_two_clusters_side_by_side_do_not_meet() -> None:
    with cluster_of_stand_ins("left") as left:
        other = new_cluster(run_id=run_id("right"), nodes=5, target=StandIn())
        try:
            run(other.create())
            ports = {a.port for c in (left, other) for a in c.bootstrap.values()}
            assert len(ports) == 3 + 5
            run(other.cut([Link(ONE, TWO), Link(TWO, ONE)]))
            assert not run(left.heal([Link(ONE, TWO)]))
            assert all(seen.bit for seen in run(other.heal([Link(ONE, TWO)])).values())
        finally:
            run(other.destroy())
        assert run(answers(left.bootstrap[ONE], timeout_s=1.0))


def test_nothing_is_left_of_a_destroyed_cluster() -> None:
    client = docker_engine.connect()
    try:
        with cluster_of_stand_ins("gone") as cluster:
            assert len(loop_devices(label.prefix(run_id("gone")))) == 3
            run(cluster.power_off([ONE]))
        run(cluster.destroy())
        assert not left_of(client, run_id("gone"))
        assert not loop_devices(label.prefix(run_id("gone")))
        assert not RunLock(run_id("gone")).path.exists()
    finally:
        client.close()


def test_a_cluster_destroyed_in_the_making_leaves_nothing() -> None:
    async def break_off(cluster: DockerCluster) -> None:
        making = asyncio.create_task(cluster.create())
        await asyncio.sleep(0.4)  # somewhere in the middle: any moment must do
        making.cancel()
        await asyncio.wait([making])
        await cluster.destroy()

    client = docker_engine.connect()
    try:
        cluster = new_cluster(run_id=run_id("broken-off"), nodes=3, target=StandIn())
        run(break_off(cluster))
        assert not left_of(client, run_id("broken-off"))
        assert not loop_devices(label.prefix(run_id("broken-off")))
    finally:
        client.close()


def test_the_next_run_reaps_what_a_killed_one_left() -> None:
    dead = run_id("dead")
    client = docker_engine.connect()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "tests.container.crash", dead], stdout=subprocess.PIPE
        ) as harness:
            assert harness.stdout is not None
            assert harness.stdout.readline() == b"up\n"
            assert not [r for r in reap(client, agent_image(client)) if r.run_id == dead]
            harness.kill()
        assert len(loop_devices(label.prefix(dead))) == 3
        (reaped,) = [r for r in reap(client, agent_image(client)) if r.run_id == dead]
        assert not left_of(client, dead)
        assert not loop_devices(label.prefix(dead))
        assert '"up"' in (reaped.saved / "logs/node-1.log").read_text()
        assert (reaped.saved / "disks/node-3/meta.properties").exists()
    finally:
        client.close()


def test_a_kept_cluster_is_found_again_and_never_reaped() -> None:
    name = run_id("kept")
    client = docker_engine.connect()
    try:
        with cluster_of_stand_ins("kept", keep=True) as cluster:
            assert name in kept(client)
            assert not [r for r in reap(client, agent_image(client)) if r.run_id == name]
            run(cluster.cut([Link(ONE, TWO)]))
            found = attached_cluster(name, target=StandIn())
            assert isinstance(found, PoweredDockerCluster)
            assert (found.bootstrap, found.entries) == (cluster.bootstrap, cluster.entries)
            assert run(found.heal([Link(ONE, TWO)]))[Link(ONE, TWO)].bit
            run(found.power_off([TWO]))
            found.let_go()
            assert run(cluster.status(TWO)) is NodeStatus.OFF
            again = attached_cluster(name, target=StandIn())
            assert isinstance(again, PoweredDockerCluster)
            run(again.start(TWO))
            assert run(again.power_evidence(TWO)).bit
            twin = new_cluster(run_id=name, nodes=3, target=StandIn())
            with pytest.raises(ClusterError, match="already"):
                run(twin.create())
            twin.let_go()
            run(again.destroy())
            assert not left_of(client, name)
        with pytest.raises(UsageError, match="no cluster"):
            attached_cluster(name)
    finally:
        client.close()


def test_an_agent_says_what_it_could_not_do() -> None:
    with cluster_of_stand_ins("agent") as cluster:
        agent = cluster._parts.agent
        assert isinstance(agent, Agent)
        with pytest.raises(ClusterError, match="could not shutdown"):
            agent.call("shutdown", pid=1 << 22, path="/data", flag=2)
        with pytest.raises(ClusterError, match="could not no_such_thing"):
            agent.call("no_such_thing")


def test_without_loop_disks_links_are_cut_and_power_is_not() -> None:
    client = docker_engine.connect()
    labels = RunLabels(run_id=run_id("plain"), owner=Owner.RUN)
    cluster = DockerCluster(client, labels, 3, StandIn(), no_power="this test says so")
    try:
        run(cluster.create())
        assert not loop_devices(label.prefix(run_id("plain")))
        assert isinstance(cluster, Cuttable)
        assert not isinstance(cluster, PowerCuttable)
        run(cluster.cut([Link(ONE, TWO)]))
        evidence = run(cluster.heal([Link(ONE, TWO)]))[Link(ONE, TWO)]
        assert evidence.bit, evidence
        assert run(cluster.kill(ONE)).bit
        run(cluster.start(ONE))
    finally:
        run(cluster.destroy())
